#include "noisefloor/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/answer_report.h"
#include "version.h"

namespace noisefloor::cli {

CLI::App& begin_command(CLI::App& parent, const std::string& name, const char* description) {
  return *parent.add_subcommand(name, description);
}

void end_command(const CLI::App& parent, CLI::App& command, Action& action, const char* example,
                 std::function<Result<Report>()> run) {
  command.add_flag("--json", action.json, "Print one JSON object")->group("Output");
  const std::string path = parent.get_parent() == nullptr ? "" : parent.get_name() + " ";
  command.footer("Example:\n  noisefloor " + path + command.get_name() + " " + example);
  command.callback([&action, run = std::move(run)] { action.run = run; });
}

void add_adjacency_option(CLI::App& command, std::string& adjacency) {
  command.add_option("--adjacency", adjacency, "Neighbours differ by: add-remove or replace-one")
      ->type_name("A")
      ->capture_default_str()
      ->group("Privacy");
}

void add_unit_option(CLI::App& command, std::string& unit) {
  command.add_option("--unit", unit, "Whose data is protected: row or person")
      ->type_name("U")
      ->capture_default_str()
      ->group("Privacy");
}

void PrivacyOptions::add_to(CLI::App& command, Wants wants, Neighbouring neighbouring) {
  command.add_option("--epsilon", epsilon, "Privacy parameter, above 0")->required()->type_name("E")->group("Privacy");
  if (wants != Wants::kEpsilon) {
    auto* option =
        command.add_option("--delta", delta,
                           wants == Wants::kEpsilonDelta ? "Failure probability, above 0 and below 1"
                                                         : "0 for Laplace noise (pure DP), above 0 for Gaussian");
    option->type_name("D")->group("Privacy");
    if (wants == Wants::kEpsilonDelta) option->required();
  }
  add_unit_option(command, unit);
  if (neighbouring == Neighbouring::kAny) {
    add_adjacency_option(command, adjacency);
    command.add_option("--rows-per-unit", rows_per_unit, "Rows that one person contributes at most")
        ->type_name("N")
        ->capture_default_str()
        ->group("Privacy");
  }
  command.add_option("--confidence", confidence, "Probability that the interval covers the true answer")
      ->type_name("P")
      ->capture_default_str()
      ->group("Output");
  command.add_option("--replay-seed", replay_seed, "Repeatable noise for tests and talks: NOT PRIVATE")
      ->type_name("SEED")
      ->group("Output");
  charging.add_to(command);
}

Result<Epsilon> PrivacyOptions::get_epsilon() const {
  NF_TRY(const double value, parse_number("--epsilon", epsilon));
  return Epsilon::make(value);
}

Result<Delta> PrivacyOptions::get_delta() const {
  NF_TRY(const double value, parse_number("--delta", delta));
  return Delta::make(value);
}

Result<Neighbours> PrivacyOptions::get_neighbours() const {
  NF_TRY(const Adjacency a, parse_adjacency(adjacency));
  NF_TRY(const PrivacyUnit u, get_unit());
  NF_TRY(const std::uint64_t count, parse_count("--rows-per-unit", rows_per_unit));
  NF_TRY(const Rows rows, Rows::make(count));
  return Neighbours{a, u, rows};
}

Result<Confidence> PrivacyOptions::get_confidence() const {
  NF_TRY(const double value, parse_number("--confidence", confidence));
  return Confidence::make(value);
}

Result<std::uint64_t> PrivacyOptions::get_seed() const { return parse_count("--replay-seed", replay_seed); }

Result<Report> PrivacyOptions::answer(const Question& question) const {
  NF_TRY(const bool charged, charging.stated());
  const Provenance provenance{NOISEFLOOR_VERSION};
  const std::string guarantee = fmt::format("epsilon {}, delta {}", epsilon, delta);
  if (!replay_seed.empty()) {
    if (charged) return invalid_argument("noise from --replay-seed is not private: it cannot be charged");
    NF_TRY(const std::uint64_t seed, get_seed());
    NF_TRY(ReplayRandom replay, ReplayRandom::create(seed));
    NF_TRY(const Answer repeated, answer_of(question, provenance, replay));
    return report_of(repeated, guarantee);
  }
  if (charged) return charging.dry_run ? dry_run(charging, question) : charge(charging, question, guarantee);
  NF_TRY(SecureRandom secure, SecureRandom::create());
  NF_TRY(const Answer made, answer_of(question, provenance, secure));
  Report report = report_of(made, guarantee);
  report.remark("Not charged to a ledger (--charge): whoever composes this with other releases needs the event.");
  return report;
}

Result<double> parse_private_number(std::string_view what, const std::string& text) {
  const std::optional<double> value = parse_finite(text);
  if (!value)
    return invalid_argument(fmt::format("{} must be a finite number (it is private and not shown here)", what));
  return *value;
}

Result<std::int64_t> parse_private_integer(std::string_view what, const std::string& text) {
  Result<std::int64_t> value = parse_integer(what, text);
  if (!value.has_value()) {
    return invalid_argument(
        fmt::format("{} must be a whole number of at most 64 bits (it is private and not shown here)", what));
  }
  return value;
}

Result<NamedNumbers> parse_named_numbers(std::string_view what, const std::string& text) {
  NamedNumbers parsed;
  for (const std::string_view part : split_list(text)) {
    const std::size_t equals = part.rfind('=');
    const std::string_view number = equals == std::string_view::npos ? part : part.substr(equals + 1);
    const std::optional<double> value = parse_finite(number);
    if (!value) {
      return invalid_argument(fmt::format("part {} of {} is not a number; write it as 12,7 or as a=12,b=7",
                                          parsed.numbers.size() + 1, what));
    }
    parsed.numbers.push_back(*value);
    parsed.names.push_back(equals == std::string_view::npos ? std::to_string(parsed.numbers.size() - 1)
                                                            : std::string(part.substr(0, equals)));
  }
  return parsed;
}

}  // namespace noisefloor::cli
