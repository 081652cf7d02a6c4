#include "noisefloor/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "noisefloor/base/text.h"
#include "noisefloor/summary/answer_summary.h"
#include "version.h"

namespace noisefloor::cli {

namespace {

// Puts an option that was declared below its heading, and names its type.
CLI::Option* placed(CLI::Option* option, const char* heading, const char* type) {
  if (type != nullptr) option->type_name(type);
  return heading == nullptr ? option : option->group(heading);
}

}  // namespace

CLI::App& add_command_group(CLI::App& parent, const char* name, const char* description, const char* footer) {
  CLI::App& group = *parent.add_subcommand(name, description)->require_subcommand(1);
  if (footer != nullptr) group.footer(footer);
  return group;
}

CLI::App& begin_command(CLI::App& parent, const std::string& name, const char* description) {
  return *parent.add_subcommand(name, description);
}

void end_command(const CLI::App& parent, CLI::App& command, Action& action, const char* example,
                 std::function<Result<Summary>()> run) {
  OptionGroup(command, "Output").flag("--json", action.json, "Print one JSON object");
  const std::string path = parent.get_parent() == nullptr ? "" : parent.get_name() + " ";
  if (example != nullptr) command.footer("Example:\n  noisefloor " + path + command.get_name() + " " + example);
  command.callback([&action, run = std::move(run)] { action.run = run; });
}

void set_footer(CLI::App& command, const char* footer) { command.footer(footer); }

void OptionGroup::optional(const char* name, std::string& value, const char* help, const char* type) const {
  (void)placed(command_.add_option(name, value, help), heading_, type);
}

void OptionGroup::required(const char* name, std::string& value, const char* help, const char* type) const {
  placed(command_.add_option(name, value, help), heading_, type)->required();
}

void OptionGroup::with_default(const char* name, std::string& value, const char* help, const char* type) const {
  placed(command_.add_option(name, value, help), heading_, type)->capture_default_str();
}

void OptionGroup::repeatable(const char* name, std::vector<std::string>& values, const char* help,
                             const char* type) const {
  (void)placed(command_.add_option(name, values, help), heading_, type);
}

void OptionGroup::flag(const char* name, bool& value, const char* help) const {
  (void)placed(command_.add_flag(name, value, help), heading_, nullptr);
}

void add_adjacency_option(CLI::App& command, std::string& adjacency) {
  OptionGroup(command, "Privacy")
      .with_default("--adjacency", adjacency, "Neighbours differ by: add-remove or replace-one", "A");
}

void add_unit_option(CLI::App& command, std::string& unit) {
  OptionGroup(command, "Privacy").with_default("--unit", unit, "Whose data is protected: row or person", "U");
}

void PrivacyOptions::add_to(CLI::App& command, Wants wants, Neighbouring neighbouring) {
  const OptionGroup privacy(command, "Privacy");
  const OptionGroup result(command, "Output");
  privacy.required("--epsilon", epsilon, "Privacy parameter, above 0", "E");
  if (wants == Wants::kEpsilonDelta) {
    privacy.required("--delta", delta, "Failure probability, above 0 and below 1", "D");
  } else if (wants == Wants::kEpsilonOptionalDelta) {
    privacy.optional("--delta", delta, "0 for Laplace noise (pure DP), above 0 for Gaussian", "D");
  }
  add_unit_option(command, unit);
  if (neighbouring == Neighbouring::kAny) {
    add_adjacency_option(command, adjacency);
    privacy.with_default("--rows-per-unit", rows_per_unit, "Rows that one person contributes at most", "N");
  }
  result.with_default("--confidence", confidence, "Probability that the interval covers the true answer", "P");
  result.optional("--replay-seed", replay_seed, "Repeatable noise for tests and talks: NOT PRIVATE", "SEED");
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

std::string PrivacyOptions::guarantee() const { return fmt::format("epsilon {}, delta {}", epsilon, delta); }

Result<Summary> PrivacyOptions::answer(const Question& question) const {
  NF_TRY(const bool charged, charging.stated());
  const Provenance provenance{NOISEFLOOR_VERSION};
  if (!replay_seed.empty()) {
    if (charged) return invalid_argument("noise from --replay-seed is not private: it cannot be charged");
    NF_TRY(const std::uint64_t seed, get_seed());
    NF_TRY(ReplayRandom replay, ReplayRandom::create(seed));
    NF_TRY(const Answer repeated, answer_of(question, provenance, replay));
    return summary_of(repeated, guarantee());
  }
  if (charged) return charging.dry_run ? dry_run(charging, question) : charge(charging, question, guarantee());
  NF_TRY(SecureRandom secure, SecureRandom::create());
  NF_TRY(const Answer made, answer_of(question, provenance, secure));
  Summary summary = summary_of(made, guarantee());
  summary.remark("Not charged to a ledger (--charge): whoever composes this with other releases needs the event.");
  return summary;
}

}  // namespace noisefloor::cli
