// Options that several commands share, as text until a command asks for them: so that every bad value gets the same
// clear error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/cli/charge.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/release/question.h"
#include "noisefloor/summary/summary.h"

namespace CLI {
class App;
}

namespace noisefloor::cli {

// How a command hands its work to the program: parsing fills the options, then `run` is called.
struct Action {
  std::function<Result<Summary>()> run;
  bool json = false;
};

// The two ends of add_command, which need CLI11.
[[nodiscard]] CLI::App& begin_command(CLI::App& parent, const std::string& name, const char* description);
void end_command(const CLI::App& parent, CLI::App& command, Action& action, const char* example,
                 std::function<Result<Summary>()> run);

// Adds the command NAME below `parent`: `declare` binds its options, and `run` gets them once they are parsed.
template <class Options, class Declare, class Run>
void add_command(CLI::App& parent, Action& action, const std::string& name, const char* description,
                 const char* example, const Declare& declare, Run run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = begin_command(parent, name, description);
  declare(command, *options);
  end_command(parent, command, action, example, [options, run = std::move(run)] { return run(*options); });
}

// An option that takes text: one that may be left out, one that must be given, and one whose default help shows.
void add_text(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
              const char* group = nullptr);
void need_text(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
               const char* group = nullptr);
void add_default(CLI::App& command, const char* name, std::string& text, const char* help, const char* type,
                 const char* group = nullptr);

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

  // What was asked for, in the words of the options.
  [[nodiscard]] std::string guarantee() const;

  // The answer with noise from the system, or from --replay-seed. With --charge it is paid for first.
  [[nodiscard]] Result<Summary> answer(const Question& question) const;

 private:
  [[nodiscard]] Result<std::uint64_t> get_seed() const;
};

}  // namespace noisefloor::cli
