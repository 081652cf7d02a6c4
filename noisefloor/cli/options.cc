#include "noisefloor/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "noisefloor/base/text.h"
#include "noisefloor/summary/answer_summary.h"
#include "version.h"

namespace noisefloor::cli {

CLI::App& begin_command(CLI::App& parent, const std::string& name, const char* description) {
  return *parent.add_subcommand(name, description);
}

void end_command(const CLI::App& parent, CLI::App& command, Action& action, const char* example,
                 std::function<Result<Summary>()> run) {
  command.add_flag("--json", action.json, "Print one JSON object")->group("Output");
  const std::string path = parent.get_parent() == nullptr ? "" : parent.get_name() + " ";
  command.footer("Example:\n  noisefloor " + path + command.get_name() + " " + example);
  command.callback([&action, run = std::move(run)] { action.run = run; });
}

namespace {

CLI::Option* text_option(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
                         const char* group) {
  CLI::Option* option = command.add_option(name, text, help)->type_name(type);
  if (group != nullptr) option->group(group);
  return option;
}

}  // namespace

void add_text(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
              const char* group) {
  (void)text_option(command, name, text, help, type, group);
}

void need_text(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
               const char* group) {
  text_option(command, name, text, help, type, group)->required();
}

void add_default(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
                 const char* group) {
  text_option(command, name, text, help, type, group)->capture_default_str();
}

void add_adjacency_option(CLI::App& command, std::string& adjacency) {
  add_default(command, "--adjacency", adjacency, "Neighbours differ by: add-remove or replace-one", "A", "Privacy");
}

void add_unit_option(CLI::App& command, std::string& unit) {
  add_default(command, "--unit", unit, "Whose data is protected: row or person", "U", "Privacy");
}

void PrivacyOptions::add_to(CLI::App& command, Wants wants, Neighbouring neighbouring) {
  need_text(command, "--epsilon", epsilon, "Privacy parameter, above 0", "E", "Privacy");
  if (wants == Wants::kEpsilonDelta) {
    need_text(command, "--delta", delta, "Failure probability, above 0 and below 1", "D", "Privacy");
  } else if (wants == Wants::kEpsilonOptionalDelta) {
    add_text(command, "--delta", delta, "0 for Laplace noise (pure DP), above 0 for Gaussian", "D", "Privacy");
  }
  add_unit_option(command, unit);
  if (neighbouring == Neighbouring::kAny) {
    add_adjacency_option(command, adjacency);
    add_default(command, "--rows-per-unit", rows_per_unit, "Rows that one person contributes at most", "N", "Privacy");
  }
  add_default(command, "--confidence", confidence, "Probability that the interval covers the true answer", "P",
              "Output");
  add_text(command, "--replay-seed", replay_seed, "Repeatable noise for tests and talks: NOT PRIVATE", "SEED",
           "Output");
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
