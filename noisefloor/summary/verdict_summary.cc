#include "noisefloor/summary/verdict_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/terms.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

std::string payment_in_words(const Verdict& verdict, const VerifiedPath& where) {
  switch (verdict.payment) {
    case Payment::kNotCharged:
      return "none: nothing was charged for it";
    case Payment::kNotLookedAt:
      return where.remedy.empty() ? "NOT LOOKED AT" : "NOT LOOKED AT: " + where.remedy;
    case Payment::kPaid:
      break;
  }
  return fmt::format("{} has paid for it, from the budget {}{}", without_password(where.ledger),
                     shown(verdict.certificate().spend->budget),
                     verdict.release.has_content ? ", and has the digest of this file" : "");
}

Json signer_json(const Verdict& verdict) {
  const std::optional<PublicKey>& key = verdict.release.certificate.key;
  if (!key) return nullptr;
  return {{"key", to_hex(*key)}, {"known", verdict.signer.has_value()}, {"name", verdict.signer.value_or("")}};
}

Json exposures_json(const Certificate& certificate) {
  Json list = Json::array();
  for (const CertifiedExposure& one : certificate.exposures) {
    list.push_back({{"entry", one.entry}, {"kind", name_of(one.kind)}, {"time", show_time(one.time)}});
  }
  return list;
}

Json verdict_json(const Verdict& verdict) {
  const Certificate& certificate = verdict.certificate();
  Json json{{"file", verdict.file},
            {"verdict", "true"},
            {"what", name_of(certificate.kind)},
            {"name", certificate.name},
            {"private", verdict.is_private()},
            {"epsilon", interval_json(certificate.epsilon.lower, certificate.epsilon.upper)},
            {"delta", certificate.delta.value()},
            {"signer", signer_json(verdict)},
            {"ledger_checked", verdict.payment == Payment::kPaid},
            {"not_covered", verdict.not_covered}};
  if (verdict.audit) {
    json["audit"] = {{"certified", certificate.epsilon.upper},
                     {"measured", verdict.audit->judgement.measured},
                     {"confidence", audit::kAuditConfidence}};
  }
  if (!certificate.exposures.empty()) json["exposures"] = exposures_json(certificate);
  if (certificate.spend && !certificate.spend->blocks.empty()) json["blocks"] = certificate.spend->blocks;
  return json;
}

void add_lines(Summary& summary, const Verdict& verdict, const VerifiedPath& where) {
  if (verdict.is_private()) summary.line("claim", claim_of(verdict));
  summary.line("in words", meaning_of(verdict));
  if (verdict.is_private()) summary.line("epsilon", "recomputed here from the recorded events, with the same result");
  summary.line(std::string(name_of(verdict.certificate().kind)), coverage_of(verdict));
  summary.line("signature", signature_of(verdict, where.signer_remedy));
  summary.line("ledger", payment_in_words(verdict, where));
  if (const auto& spend = verdict.certificate().spend; spend && !spend->blocks.empty()) {
    summary.line("blocks",
                 fmt::format("{}: it is about their rows alone, and they have paid", fmt::join(spend->blocks, ", ")));
  }
  if (verdict.audit) {
    summary.line("audit",
                 fmt::format("epsilon {}, with the same key; judged anew here from what its canaries found",
                             audit::two_sided(verdict.certificate().epsilon.upper, verdict.audit->judgement.measured)));
  }
  if (const std::string start = start_of(verdict); !start.empty()) summary.line("started from", start);
  if (const std::string seen = exposures_of(verdict); !seen.empty()) summary.line("seen before", seen);
}

// Adds what the guarantee rests on and what it leaves out: each sentence once.
void add_limits(Summary& summary, const std::vector<Verdict>& verdicts) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Verdict& verdict : verdicts) lines.emplace_back("data", verdict.certificate().data);
  for (const Verdict& verdict : verdicts) {
    for (const std::string& item : verdict.not_covered) lines.emplace_back("not covered", item);
  }
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (std::find(lines.begin(), line, *line) == line) summary.line(line->first, line->second);
  }
}

}  // namespace

Summary summary_of(const std::vector<Verdict>& verdicts, const VerifiedPath& where) {
  NF_CHECK(!verdicts.empty(), "what was verified has a verdict");
  if (verdicts.size() == 1) {
    Summary summary(fmt::format("{}: what its certificate says is true", verdicts.front().file));
    replace_json(summary, verdict_json(verdicts.front()));
    add_lines(summary, verdicts.front(), where);
    add_limits(summary, verdicts);
    return summary;
  }
  Summary summary(fmt::format("{}: what the certificates of its {} models say is true", where.path, verdicts.size()));
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    list.push_back(verdict_json(verdict));
    summary.line("file", verdict.file);
    add_lines(summary, verdict, where);
    summary.line("", "");
  }
  add_limits(summary, verdicts);
  summary.set("folder", where.path);
  summary.set("verdict", "true");
  summary.set("verdicts", list);
  return summary;
}

}  // namespace noisefloor
