#include "noisefloor/cli/charge.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/release/document.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAnswerData =
    "bounds, bins, candidates and sensitivities are those of the command, stated without looking at the data";

// An answer that goes to standard output alone: the ledger keeps it.
class NoFile final : public Outlet {
 public:
  [[nodiscard]] std::string name() const override { return "standard output"; }
  [[nodiscard]] Result<void> prepare() override { return success(); }
  [[nodiscard]] Result<std::optional<std::string>> kept() override { return std::optional<std::string>{}; }
  [[nodiscard]] Result<void> keep(const std::string& /*bytes*/) override { return success(); }
  [[nodiscard]] Result<void> publish(const Sealed& /*release*/) override { return success(); }
};

std::string certificate_beside(const std::string& path) {
  const std::size_t dot = path.rfind(".json");
  return (dot != std::string::npos && dot + 5 == path.size() ? path.substr(0, dot) : path) + ".certificate.json";
}

}  // namespace

void ChargeOptions::add_to(CLI::App& command) {
  command.add_option("--charge", budget, "Pay from this budget of the ledger, and certify the answer")
      ->type_name("BUDGET")
      ->group("Ledger");
  command.add_option("--key", key, "Of this question in the ledger: the same key gets the same answer, paid for once")
      ->type_name("KEY")
      ->group("Ledger");
  command.add_option("--output", output, "Write the answer here, and its certificate beside it; with --charge")
      ->type_name("FILE")
      ->group("Output");
  LedgerAccess::add_to(command, true, false);
}

Result<bool> ChargeOptions::stated() const {
  if (budget.empty()) {
    if (key.empty() && output.empty() && ledger.empty()) return false;
    return invalid_argument(
        "--key, --output and --ledger are for an answer that is paid for: name its budget with --charge");
  }
  if (key.empty()) {
    return invalid_argument("--charge needs --key, a name for this question: whoever asks again gets the same answer");
  }
  return true;
}

Result<Report> charge(const ChargeOptions& options, const std::string& mechanism, const DpStatement& statement,
                      Delta delta, const std::function<Result<Report>(SecureRandom&)>& answer) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(options));
  const std::string configuration = Json{{"mechanism", mechanism}}.dump();
  ReleaseRequest request{{options.budget, options.key, statement}};
  if (delta.value() > 0) request.spend.delta = delta;
  request.spend.note = {options.key, "answer", {mechanism}, configuration};
  request.in_ledger = true;
  NoFile no_file;
  std::optional<FileOutlet> file;
  if (!options.output.empty()) file.emplace(options.output, certificate_beside(options.output));
  std::optional<Report> made;
  const auto run = [&](const CertifiedSpend&) -> Result<Draft> {
    NF_TRY(SecureRandom random, SecureRandom::create());
    NF_TRY(made, answer(random));
    if (made->json().at("statement") != Json::parse(to_json(statement))) {
      return internal_error("the answer states something else than what was reserved");
    }
    return document_draft(ReleaseKind::kAnswer, options.key, made->as_json(), statement, delta, configuration,
                          kAnswerData, NOISEFLOOR_VERSION);
  };
  NF_TRY(const Released released, release_by(request, *ledger, file ? static_cast<Outlet&>(*file) : no_file, run));
  const CertifiedSpend& spend = *released.release.certificate.spend;
  Json whole = Json::parse(released.release.bytes);
  Report report = made ? *std::move(made) : Report::of_fields("Answered before: nothing was spent", whole);
  report.replace_json(std::move(whole));
  report.line("charged", fmt::format("reservation {} of the budget {}", spend.reservations.back(),
                                     noisefloor::shown(spend.budget)));
  if (!options.output.empty()) {
    report.line("written", fmt::format("{}, and {}", options.output, certificate_beside(options.output)));
  }
  return report;
}

}  // namespace noisefloor::cli
