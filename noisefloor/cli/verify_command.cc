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

std::string promise(const Certificate& certificate) {
  if (!std::isfinite(certificate.epsilon.upper))
    return "NOT PRIVATE: it was made for comparison, and must not leave the house";
  const char* change =
      certificate.statement.adjacency == Adjacency::kAddRemove ? "being there or not" : "being another one";
  return fmt::format("one {} {} makes nothing more than {:.4g} times as likely, but for a chance of {:g}",
                     name_of(certificate.statement.unit), change, std::exp(certificate.epsilon.upper),
                     certificate.delta.value());
}

Result<Report> run_verify(const VerifyOptions& o) {
  NF_TRY(const std::string bytes, read_file(o.file, kMaxModelBytes));
  NF_TRY(const VerifiedRelease release, verify_release(bytes));
  const Certificate& certificate = release.certificate.certificate;
  Report report(fmt::format("{}: what it says is true", o.file));
  report.set("file", o.file);
  report.set("verdict", "true");
  report.set("name", certificate.name);
  report.set("private", std::isfinite(certificate.epsilon.upper));
  report.set("epsilon", interval_json(certificate.epsilon.lower, certificate.epsilon.upper));
  report.set("delta", certificate.delta.value());
  report.line("promise", promise(certificate));
  if (std::isfinite(certificate.epsilon.upper)) {
    report.line("epsilon", fmt::format("{} at delta {:g}, recomputed from its {} steps",
                                       shown_interval(certificate.epsilon.lower, certificate.epsilon.upper),
                                       certificate.delta.value(), certificate.steps));
  }
  report.line(release.has_model ? "model" : "certificate",
              release.has_model ? "its weights are the ones that the certificate is about"
                                : "alone: verify the model to know that it is about that one");
  report.line("signature",
              release.certificate.key ? "by " + to_hex(*release.certificate.key) : "none: nothing was charged");
  bool in_ledger = false;
  if (certificate.spend) {
    const std::string location = location_of(o);
    if (!o.ledger.empty() || std::filesystem::exists(location)) {
      NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
      NF_TRY_VOID(verify_in_ledger(release, *ledger));
      in_ledger = true;
      report.line("ledger", fmt::format("{} has paid for it, from the budget {}{}", location,
                                        noisefloor::shown(certificate.spend->budget),
                                        release.has_model ? ", and has the digest of this file" : ""));
    } else {
      report.line("ledger", "not looked at: name it with --ledger");
    }
  }
  report.set("ledger_checked", in_ledger);
  report.remark("Not covered: see not_covered in the certificate.");
  return report;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, VerifyOptions& o) {
    command.add_option("FILE", o.file, "A model (safetensors) or its certificate (JSON)")->required();
    o.add_to(command, false, false);
  };
  add_command<VerifyOptions>(app, action, "verify", "Whether a model or a certificate is what it says",
                             "fashion/model.safetensors", declare, run_verify);
}

}  // namespace noisefloor::cli
