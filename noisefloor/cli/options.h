// Options that several commands share, as text until a command asks for them: so that every bad value gets the same
// clear error.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/cli/charge.h"
#include "noisefloor/cli/report.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::cli {

// How a command hands its work to the program: parsing fills the options, then `run` is called.
struct Action {
  std::function<Result<Report>()> run;
  bool json = false;
};

// Adds the command NAME below `parent`: `declare` binds its options, and `run` gets them once they are parsed.
template <class Options, class Declare, class Run>
void add_command(CLI::App& parent, Action& action, const std::string& name, const char* description,
                 const char* example, const Declare& declare, Run run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = parent.add_subcommand(name, description);
  declare(*command, *options);
  command->add_flag("--json", action.json, "Print one JSON object")->group("Output");
  const std::string path = parent.get_parent() == nullptr ? "" : parent.get_name() + " ";
  command->footer("Example:\n  noisefloor " + path + name + " " + example);
  command->callback(
      [&action, options, run = std::move(run)] { action.run = [options, run] { return run(*options); }; });
}

void add_adjacency_option(CLI::App& command, std::string& adjacency);
void add_unit_option(CLI::App& command, std::string& unit);

struct PrivacyOptions {
  std::string epsilon;
  std::string delta = "0";
  std::string adjacency = "add-remove";
  std::string unit = "row";
  std::string rows_per_unit = "1";
  std::string confidence = "0.95";
  std::string replay_seed;
  ChargeOptions charging;

  enum class Wants : std::uint8_t { kEpsilon, kEpsilonDelta, kEpsilonOptionalDelta };
  enum class Neighbouring : std::uint8_t { kAny, kFixed };  // fixed: the mechanism implies adjacency and rows per unit
  void add_to(CLI::App& command, Wants wants, Neighbouring neighbouring = Neighbouring::kAny);

  [[nodiscard]] Result<Epsilon> get_epsilon() const;
  [[nodiscard]] Result<Delta> get_delta() const;
  [[nodiscard]] Result<Neighbours> get_neighbours() const;
  [[nodiscard]] Result<PrivacyUnit> get_unit() const { return parse_privacy_unit(unit); }
  [[nodiscard]] Result<Confidence> get_confidence() const;

  // The report of use(source), with a SecureRandom, or with a ReplayRandom if --replay-seed was given. With --charge it is paid
  // for first: `statement` is what use(source) will state.
  template <class Use>
  [[nodiscard]] Result<Report> release(const std::string& mechanism, const DpStatement& statement,
                                       const Use& use) const {
    NF_TRY(const bool charged, charging.stated());
    if (!replay_seed.empty()) {
      if (charged) return invalid_argument("noise from --replay-seed is not private: it cannot be charged");
      NF_TRY(const std::uint64_t seed, get_seed());
      NF_TRY(ReplayRandom replay, ReplayRandom::create(seed));
      return use(replay);
    }
    if (!charged) {
      NF_TRY(SecureRandom secure, SecureRandom::create());
      NF_TRY(Report report, use(secure));
      report.remark("Not charged to a ledger (--charge): whoever composes this with other releases needs the event.");
      return report;
    }
    // What is wrong with the question is found before anything is spent. This noise is known, and nothing of it is kept.
    NF_TRY(ReplayRandom rehearsal, ReplayRandom::create(0));
    NF_TRY_VOID(use(rehearsal));
    NF_TRY(const Delta at, get_delta());
    return charge(charging, mechanism, statement, at, [&](SecureRandom& random) { return use(random); });
  }

 private:
  [[nodiscard]] Result<std::uint64_t> get_seed() const;
};

// A private number that was given as an argument: errors do not show it.
[[nodiscard]] Result<double> parse_private_number(std::string_view what, const std::string& text);
[[nodiscard]] Result<std::int64_t> parse_private_integer(std::string_view what, const std::string& text);

// "low=12000,high=35" or "12000,35": names are optional. `what` names the option in errors. Values are private and not
// shown.
struct NamedNumbers {
  std::vector<std::string> names;
  std::vector<double> numbers;
};
[[nodiscard]] Result<NamedNumbers> parse_named_numbers(std::string_view what, const std::string& text);

}  // namespace noisefloor::cli
