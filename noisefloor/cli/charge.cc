#include "noisefloor/cli/charge.h"

#include <fmt/format.h>

#include <memory>

#include "noisefloor/cli/options.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/summary/answer_summary.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

AnswerRequest request_of(const ChargeOptions& options) { return {options.budget, options.key, {NOISEFLOOR_VERSION}}; }

}  // namespace

void ChargeOptions::add_to(CLI::App& command) {
  const OptionGroup group(command, "Ledger");
  group.optional("--charge", budget, "Pay from this budget of the ledger, and certify the answer", "BUDGET");
  group.optional("--key", key, "Of this question in the ledger: the same key gets the same answer, paid for once",
                 "KEY");
  group.flag("--dry-run", dry_run, "Show what --charge would spend and whether it fits; draw and spend nothing");
  OptionGroup(command, "Output")
      .optional("--output", output, "Write the answer here, and its certificate beside it; with --charge", "FILE");
  LedgerAccess::add_to(command, true, true);
}

Result<bool> ChargeOptions::stated() const {
  if (budget.empty()) {
    if (dry_run) return invalid_argument("--dry-run shows what would be charged: name the budget with --charge");
    if (key.empty() && output.empty() && ledger.empty() && witnesses.empty()) return false;
    return invalid_argument(
        "--key, --output, --ledger and --witness are for an answer that is paid for: name its budget with --charge");
  }
  if (key.empty()) {
    return invalid_argument("--charge needs --key, a name for this question: whoever asks again gets the same answer");
  }
  return true;
}

ChosenOutlet::ChosenOutlet(const ChargeOptions& options) : path_(options.output) {
  if (!path_.empty()) file_.emplace(path_, certificate_beside(path_));
}

void ChosenOutlet::name_files(Summary& summary) const {
  if (file_) summary.line("written", fmt::format("{}, and {}", path_, certificate_beside(path_)));
}

Result<Summary> charge(const ChargeOptions& options, const Question& question, const std::string& guarantee) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(options));
  ChosenOutlet chosen(options);
  NF_TRY(const ReleasedAnswer released, release_answer(request_of(options), question, *ledger, chosen.outlet()));
  Summary summary = summary_of(released, guarantee);
  chosen.name_files(summary);
  return summary;
}

Result<Summary> dry_run(const ChargeOptions& options, const Question& question) {
  const AnswerRequest request = request_of(options);
  NF_TRY_VOID(rehearse(question, request.provenance));
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_look_ahead(options));
  NF_TRY(const LedgerState::Budget budget, ledger->budget(request.budget));
  NF_TRY(const ReserveRequest spend, spend_of(request, question, ledger.get()));
  NF_TRY(const Outlook outlook, ledger->outlook({&spend, 1}, *budget.terms, Repeats::kMustBeAnswered));
  return outlook_summary(question, request, outlook);
}

}  // namespace noisefloor::cli
