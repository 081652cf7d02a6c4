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

// Adds a command that only holds others. Without a footer of its own, it has that of `parent`.
[[nodiscard]] CLI::App& add_command_group(CLI::App& parent, const char* name, const char* description,
                                          const char* footer = nullptr);

// The two ends of add_command, which need CLI11. The footer shows the example, unless that is null.
[[nodiscard]] CLI::App& begin_command(CLI::App& parent, const std::string& name, const char* description);
void end_command(const CLI::App& parent, CLI::App& command, Action& action, const char* example,
                 std::function<Result<Summary>()> run);

// Adds the command NAME below `parent`: `declare` binds its options, and `run` gets them once they are parsed. Where
// there is no example, `declare` sets the footer.
template <class Options, class Declare, class Run>
void add_command(CLI::App& parent, Action& action, const std::string& name, const char* description,
                 const char* example, const Declare& declare, Run run) {
  auto options = std::make_shared<Options>();
  CLI::App& command = begin_command(parent, name, description);
  declare(command, *options);
  end_command(parent, command, action, example, [options, run = std::move(run)] { return run(*options); });
}

void set_footer(CLI::App& command, const char* footer);

// Declares options of a command below one heading of its help; without a heading, below the usual one. In the help,
// `type` stands for the value; without a type that is TEXT.
class OptionGroup {
 public:
  explicit OptionGroup(CLI::App& command, const char* heading = nullptr) : command_(command), heading_(heading) {}

  // An option that may be left out, and one that must be given.
  void optional(const char* name, std::string& value, const char* help, const char* type = nullptr) const;
  void required(const char* name, std::string& value, const char* help, const char* type = nullptr) const;
  // An option that may be left out, and whose default the help shows.
  void with_default(const char* name, std::string& value, const char* help, const char* type = nullptr) const;
  // An option that may be given several times.
  void repeatable(const char* name, std::vector<std::string>& values, const char* help,
                  const char* type = nullptr) const;
  void flag(const char* name, bool& value, const char* help) const;

 private:
  CLI::App& command_;
  const char* heading_;
};

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
