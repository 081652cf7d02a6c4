#include "noisefloor/cli/verify_command.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/training_task.h"
#include "noisefloor/release/verify_release.h"

namespace noisefloor::cli {
namespace {

struct VerifyOptions : LedgerAccess {
  std::string file;
};

// For people who know the law better than the mathematics.
std::string in_words(const Certificate& certificate) {
  if (!std::isfinite(certificate.epsilon.upper)) {
    return "NOT PRIVATE: it was made for comparison, without noise or with noise that can be repeated, and promises "
           "nothing to anyone";
  }
  const bool add_remove = certificate.statement.adjacency == Adjacency::kAddRemove;
  return fmt::format(
      "no conclusion drawn from this {} becomes more than {:.4g} times as likely because any one {} {}, except with "
      "probability {:g}",
      name_of(certificate.kind), std::exp(certificate.epsilon.upper), name_of(certificate.statement.unit),
      add_remove ? "was in the data or was not" : "was what it is and not another", certificate.delta.value());
}

std::string claim_of(const Certificate& certificate) {
  return fmt::format("epsilon {} at delta {:g}, for one {} {}",
                     shown_interval(certificate.epsilon.lower, certificate.epsilon.upper), certificate.delta.value(),
                     name_of(certificate.statement.unit),
                     certificate.statement.adjacency == Adjacency::kAddRemove ? "added or removed" : "exchanged");
}

// Whether a ledger was looked at.
Result<bool> report_ledger(Report& report, const VerifyOptions& o, const VerifiedRelease& release) {
  const Certificate& certificate = release.certificate.certificate;
  if (!certificate.spend) {
    report.line("ledger", "none: nothing was charged for it");
    return false;
  }
  const std::string location = location_of(o);
  if (o.ledger.empty() && !std::filesystem::exists(location)) {
    report.line("ledger", "NOT LOOKED AT: name it with --ledger to know that it has paid");
    return false;
  }
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  NF_TRY_VOID(verify_in_ledger(release, *ledger));
  report.line("ledger", fmt::format("{} has paid for it, from the budget {}{}", location,
                                    noisefloor::shown(certificate.spend->budget),
                                    release.has_content ? ", and has the digest of this file" : ""));
  return true;
}

Result<Report> run_verify(const VerifyOptions& o) {
  NF_TRY(const std::string bytes, read_file(o.file, kMaxModelBytes));
  NF_TRY(const VerifiedRelease release, verify_release(bytes));
  const Certificate& certificate = release.certificate.certificate;
  const bool is_private = std::isfinite(certificate.epsilon.upper);
  Report report(fmt::format("{}: what its certificate says is true", o.file));
  report.set("file", o.file);
  report.set("verdict", "true");
  report.set("what", name_of(certificate.kind));
  report.set("name", certificate.name);
  report.set("private", is_private);
  report.set("epsilon", interval_json(certificate.epsilon.lower, certificate.epsilon.upper));
  report.set("delta", certificate.delta.value());
  if (is_private) report.line("claim", claim_of(certificate));
  report.line("in words", in_words(certificate));
  if (is_private) report.line("epsilon", "recomputed here from the recorded events, with the same result");
  report.line(std::string(name_of(certificate.kind)),
              release.has_content
                  ? fmt::format("{}: the file holds what the certificate is about, unaltered",
                                noisefloor::shown(certificate.name))
                  : fmt::format("{}: this is its certificate alone. Verify the {} to know that it is the one",
                                noisefloor::shown(certificate.name), name_of(certificate.kind)));
  report.line("signature", release.certificate.key ? "valid, by the key " + to_hex(*release.certificate.key) : "none");
  NF_TRY(const bool in_ledger, report_ledger(report, o, release));
  report.set("ledger_checked", in_ledger);
  report.line("data", certificate.data);
  const nlohmann::ordered_json text = nlohmann::ordered_json::parse(release.certificate_text);
  report.set("not_covered", text.at("not_covered"));
  for (const auto& item : text.at("not_covered")) report.line("not covered", item.get<std::string>());
  return report;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, VerifyOptions& o) {
    command.add_option("FILE", o.file, "A model (safetensors), an answer or a certificate (JSON)")->required();
    o.add_to(command, false, false);
  };
  add_command<VerifyOptions>(app, action, "verify", "Whether a model, an answer or a certificate is what it says",
                             "fashion/model.safetensors", declare, run_verify);
}

}  // namespace noisefloor::cli
