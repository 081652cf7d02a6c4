#include "noisefloor/cli/charge.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/answer_report.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/release/quote.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

constexpr const char* kAnsweredBefore = "Answered before: nothing was spent";

AnswerRequest request_of(const ChargeOptions& options) { return {options.budget, options.key, {NOISEFLOOR_VERSION}}; }

}  // namespace

void ChargeOptions::add_to(CLI::App& command) {
  command.add_option("--charge", budget, "Pay from this budget of the ledger, and certify the answer")
      ->type_name("BUDGET")
      ->group("Ledger");
  command.add_option("--key", key, "Of this question in the ledger: the same key gets the same answer, paid for once")
      ->type_name("KEY")
      ->group("Ledger");
  command.add_flag("--dry-run", dry_run, "Show what --charge would spend and whether it fits; draw and spend nothing")
      ->group("Ledger");
  command.add_option("--output", output, "Write the answer here, and its certificate beside it; with --charge")
      ->type_name("FILE")
      ->group("Output");
  LedgerAccess::add_to(command, true, false);
}

Result<bool> ChargeOptions::stated() const {
  if (budget.empty()) {
    if (dry_run) return invalid_argument("--dry-run shows what would be charged: name the budget with --charge");
    if (key.empty() && output.empty() && ledger.empty()) return false;
    return invalid_argument(
        "--key, --output and --ledger are for an answer that is paid for: name its budget with --charge");
  }
  if (key.empty()) {
    return invalid_argument("--charge needs --key, a name for this question: whoever asks again gets the same answer");
  }
  return true;
}

Result<Report> charge(const ChargeOptions& options, const Question& question, const std::string& guarantee) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(options));
  LedgerOutlet ledger_alone;
  std::optional<FileOutlet> file;
  if (!options.output.empty()) file.emplace(options.output, certificate_beside(options.output));
  Outlet& outlet = file ? static_cast<Outlet&>(*file) : ledger_alone;
  NF_TRY(const ReleasedAnswer released, release_answer(request_of(options), question, *ledger, outlet));
  auto whole = nlohmann::ordered_json::parse(released.release.bytes);
  // Version 0.1 wrote fields, and no typed answer.
  Report report = released.answer ? report_of(*released.answer, guarantee) : report_of_fields(kAnsweredBefore, whole);
  if (released.again) report.retitle(kAnsweredBefore);
  replace_json(report, std::move(whole));
  const CertifiedSpend& spend = *released.release.certificate.spend;
  report.line("charged", fmt::format("reservation {} of the budget {}", spend.reservations.back(),
                                     noisefloor::shown(spend.budget)));
  if (!options.output.empty()) {
    report.line("written", fmt::format("{}, and {}", options.output, certificate_beside(options.output)));
  }
  return report;
}

Result<Report> dry_run(const ChargeOptions& options, const Question& question) {
  const AnswerRequest request = request_of(options);
  NF_TRY_VOID(rehearse(question, request.provenance));
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(options));
  NF_TRY(const Quote quoted, quote(spend_of(request, question), *ledger));
  Report report("Dry run: nothing was drawn and nothing was spent");
  report.set("dry_run", true);
  report.set("mechanism", question.mechanism);
  report.set("budget", options.budget);
  report.set("key", options.key);
  report.set("cost", interval_json(quoted.epsilon.lower, quoted.epsilon.upper));
  report.set("delta", question.delta.value());
  report.set("left", quoted.left);
  report.set("fits", quoted.fits);
  report.set("answered_before", quoted.reservation.has_value());
  report.line("would cost",
              fmt::format("epsilon {} at delta {:g}", shown_interval(quoted.epsilon.lower, quoted.epsilon.upper),
                          question.delta.value()));
  report.line("budget", fmt::format("{}, with {} left", noisefloor::shown(options.budget), quoted.left));
  if (quoted.fits) {
    report.line("fits", quoted.reservation ? fmt::format("yes: reservation {} has paid for it, and the same answer "
                                                         "would be given again",
                                                         *quoted.reservation)
                                           : "yes");
  } else {
    std::string why = "NO: " + quoted.why_not;
    for (std::size_t i = 0; i < quoted.what_fits.size(); ++i) {
      why += (i == 0 ? ". It would fit with " : ", or ") + quoted.what_fits[i];
    }
    report.set("why_not", why.substr(4));
    report.line("fits", why);
    report.exit_with(exit_code(ErrorCode::kBudgetExhausted));
  }
  report.state(question.statement);
  return report;
}

}  // namespace noisefloor::cli
