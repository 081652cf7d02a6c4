#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/audit/woven_canaries.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/attack.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/report/run_folder.h"
#include "noisefloor/summary/audit_summary.h"

namespace noisefloor::cli {
namespace {

struct AuditOptions : LedgerAccess {
  std::string path;
  std::string canaries;
  std::string shadow;
  std::string training;
  std::string threads;
  std::string output;
  bool quiet = false;
  CreateOption creating;
};

constexpr std::size_t kMostModelBytes = std::size_t{1} << 30;

// What other models of the same kind find out about this one.
Result<Summary> audit_by_shadows(const AuditOptions& o) {
  if (o.training.empty()) {
    return invalid_argument("--shadow trains models like this one: name its training file with --training");
  }
  MembershipWish wish;
  NF_TRY(wish.models, parse_count("--shadow", o.shadow));
  wish.targets = std::min<std::size_t>(wish.models, 8);
  wish.unknown = o.creating.unknown();
  const std::filesystem::path path = o.path;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  NF_TRY(wish.model, read_file((folder ? path / "model.safetensors" : path).string(), kMostModelBytes));
  NF_TRY(TrainingFile file, training_file_at(o.training));
  return attack_membership(std::move(file), std::move(wish), {o, o.creating, o.threads, o.output, o.quiet, o.training});
}

Result<Summary> audit_anew(const Verdict& verdict, const audit::WovenOptions& options) {
  const Certificate& certificate = verdict.certificate();
  const DpStatement& statement = certificate.statement;
  NF_TRY(SecureRandom random, SecureRandom::create());
  NF_TRY(const audit::RunFindings found, audit::audit_event(statement.event, statement.adjacency, options, random));
  NF_TRY(const audit::RunJudgement judged,
         audit::judge(found, statement.event, statement.adjacency, certificate.delta));
  NF_TRY_VOID(audit::expect_unrefuted(judged));
  return audit_summary(verdict, found, judged, AuditOf::kThisProgram);
}

Result<Summary> run_audit(const AuditOptions& o) {
  audit::WovenOptions options;
  if (!o.canaries.empty()) {
    NF_TRY(const std::uint64_t canaries, parse_count("--canaries", o.canaries));
    options.canaries = canaries;
  }
  NF_TRY(const std::vector<Verdict> verdicts, verify_path(o.path));
  if (verdicts.size() != 1) {
    return invalid_argument(fmt::format("{} holds {} models: name one of them", shown(o.path), verdicts.size()));
  }
  if (!o.shadow.empty()) return audit_by_shadows(o);
  const Verdict& verdict = verdicts.front();
  if (!verdict.is_private()) {
    return invalid_argument("this model is not private: there is no epsilon that an audit could refute");
  }
  if (o.canaries.empty() && verdict.audit) {
    return audit_summary(verdict, verdict.audit->audit.findings, verdict.audit->judgement, AuditOf::kTheRun);
  }
  return audit_anew(verdict, options);
}

}  // namespace

void add_audit_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, AuditOptions& o) {
    const OptionGroup options(command);
    options.required("MODEL", o.path, "The folder of a training, its model or its certificate");
    options.optional("--canaries", o.canaries,
                     "Make the certified steps anew with so many canaries, whatever lies beside the model (10000)",
                     "N");
    const OptionGroup shadows(command, "Attacks on the rows");
    shadows.optional("--shadow", o.shadow,
                     "Train so many models like this one, and let them find out who it was trained on", "N");
    shadows.optional("--training", o.training, "The training file of the model, for --shadow", "FILE");
    shadows.optional("--threads", o.threads, "Threads (all cores)", "N");
    shadows.optional("--output", o.output, "Folder for the page and the figures (NAME-attack)", "DIR");
    shadows.flag("--quiet", o.quiet, "No progress");
    o.creating.add_to(command);
    o.add_to(command, true, false);
  };
  add_command<AuditOptions>(
      app, action, "audit", "What an attacker measures beside what a certificate states",
      "fashion\n  noisefloor audit fashion/model.safetensors --canaries 100000\n  noisefloor audit fashion --shadow 64 "
      "--training examples/training/fashion.toml",
      declare, run_audit);
}

}  // namespace noisefloor::cli
