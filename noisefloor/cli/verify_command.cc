#include "noisefloor/cli/commands.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/report/run_folder.h"
#include "noisefloor/report/verdict.h"
#include "noisefloor/summary/verdict_summary.h"

namespace noisefloor::cli {
namespace {

struct VerifyPathOptions : LedgerAccess {
  std::string path;
  std::vector<std::string> signers;
};

Result<Summary> run_verify(const VerifyPathOptions& o) {
  NF_TRY(const std::vector<Signer> trusted, signers_named(o.signers));
  NF_TRY(std::vector<Verdict> verdicts, verify_path(o.path));
  NF_TRY_VOID(verify_signers(verdicts, trusted));
  const std::string place = location_of(o);
  // A ledger that nobody named is asked if there is one at hand.
  if (awaits_ledger(verdicts) && (!o.ledger.empty() || std::filesystem::exists(place))) {
    NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
    NF_TRY_VOID(verify_payments(verdicts, *ledger, o.ledger.empty() ? LedgerIs::kFound : LedgerIs::kNamed));
  }
  return summary_of(verdicts, {o.path, place, "name it with --ledger to know that it has paid",
                               "Once you know whose it is, name it with --signer"});
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, VerifyPathOptions& o) {
    OptionGroup(command).required("PATH", o.path,
                                  "A model, an answer, a certificate, or the folder of a training or a sweep");
    OptionGroup(command, "Trust").repeatable("--signer", o.signers, kSignerHelp, "KEY|FILE");
    o.add_to(command, false, false);
  };
  add_command<VerifyPathOptions>(app, action, "verify", "Whether a model, an answer or a certificate is what it says",
                                 "fashion\n  noisefloor verify fashion/model.safetensors --ledger noisefloor.ledger\n"
                                 "  noisefloor verify fashion --signer registry.signers\n"
                                 "  noisefloor verify streamrec-sweep",
                                 declare, run_verify);
}

}  // namespace noisefloor::cli
