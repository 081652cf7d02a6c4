#include "noisefloor/cli/verify_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/report/run_folder.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyOptions : LedgerAccess {
  std::string path;
};

// Asks the ledger about what was charged, if there is one at hand.
Result<void> ask_ledger(std::vector<Verdict>& verdicts, const VerifyOptions& o) {
  const auto is_open = [](const Verdict& verdict) { return verdict.payment == Payment::kNotLookedAt; };
  if (std::none_of(verdicts.begin(), verdicts.end(), is_open)) return success();
  if (o.ledger.empty() && !std::filesystem::exists(location_of(o))) return success();
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  for (Verdict& verdict : verdicts) {
    Result<void> paid = verify_payment(verdict, *ledger);
    if (paid.has_value()) continue;
    Error error = std::move(paid).error();
    if (verdicts.size() > 1) error.message = fmt::format("{}: {}", verdict.file, error.message);
    return error;
  }
  return success();
}

std::string payment_in_words(const Verdict& verdict, const std::string& place) {
  switch (verdict.payment) {
    case Payment::kNotCharged:
      return "none: nothing was charged for it";
    case Payment::kNotLookedAt:
      return "NOT LOOKED AT: name it with --ledger to know that it has paid";
    case Payment::kPaid:
      break;
  }
  return fmt::format("{} has paid for it, from the budget {}{}", place,
                     noisefloor::shown(verdict.certificate().spend->budget),
                     verdict.release.has_content ? ", and has the digest of this file" : "");
}

Json as_json(const Verdict& verdict) {
  const Certificate& certificate = verdict.certificate();
  return {{"file", verdict.file},
          {"verdict", "true"},
          {"what", name_of(certificate.kind)},
          {"name", certificate.name},
          {"private", verdict.is_private()},
          {"epsilon", interval_json(certificate.epsilon.lower, certificate.epsilon.upper)},
          {"delta", certificate.delta.value()},
          {"ledger_checked", verdict.payment == Payment::kPaid},
          {"not_covered", verdict.not_covered}};
}

void add_lines(Report& report, const Verdict& verdict, const std::string& place) {
  const std::optional<PublicKey>& key = verdict.release.certificate.key;
  if (verdict.is_private()) report.line("claim", claim_of(verdict));
  report.line("in words", meaning_of(verdict));
  if (verdict.is_private()) report.line("epsilon", "recomputed here from the recorded events, with the same result");
  report.line(std::string(name_of(verdict.certificate().kind)), coverage_of(verdict));
  report.line("signature", key ? "valid, by the key " + to_hex(*key) : "none");
  report.line("ledger", payment_in_words(verdict, place));
}

// What the guarantee rests on and what it leaves out: each sentence once.
void add_limits(Report& report, const std::vector<Verdict>& verdicts) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const Verdict& verdict : verdicts) lines.emplace_back("data", verdict.certificate().data);
  for (const Verdict& verdict : verdicts) {
    for (const std::string& item : verdict.not_covered) lines.emplace_back("not covered", item);
  }
  for (auto line = lines.begin(); line != lines.end(); ++line) {
    if (std::find(lines.begin(), line, *line) == line) report.line(line->first, line->second);
  }
}

Result<Report> run_verify(const VerifyOptions& o) {
  NF_TRY(std::vector<Verdict> verdicts, verify_path(o.path));
  NF_TRY_VOID(ask_ledger(verdicts, o));
  const std::string place = location_of(o);
  if (verdicts.size() == 1) {
    Report report(fmt::format("{}: what its certificate says is true", verdicts.front().file));
    replace_json(report, as_json(verdicts.front()));
    add_lines(report, verdicts.front(), place);
    add_limits(report, verdicts);
    return report;
  }
  Report report(fmt::format("{}: what the certificates of its {} models say is true", o.path, verdicts.size()));
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    list.push_back(as_json(verdict));
    report.line("file", verdict.file);
    add_lines(report, verdict, place);
    report.line("", "");
  }
  add_limits(report, verdicts);
  report.set("folder", o.path);
  report.set("verdict", "true");
  report.set("verdicts", list);
  return report;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, VerifyOptions& o) {
    command.add_option("PATH", o.path, "A model, an answer, a certificate, or the folder of a training or a sweep")
        ->required();
    o.add_to(command, false, false);
  };
  add_command<VerifyOptions>(app, action, "verify", "Whether a model, an answer or a certificate is what it says",
                             "fashion\n  noisefloor verify fashion/model.safetensors --ledger noisefloor.ledger\n"
                             "  noisefloor verify streamrec-sweep",
                             declare, run_verify);
}

}  // namespace noisefloor::cli
