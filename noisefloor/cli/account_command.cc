#include "noisefloor/cli/account_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/account_report.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/quantity_option.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/cli/training_numbers.h"
#include "noisefloor/event/json.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

// --- Options, as text ------------------------------------------------------------------------------------------------

struct NeighbourOptions {
  std::string adjacency = "add-remove";
  std::string unit = "row";
};

// What `account` is asked for.
struct AnswerOptions {
  std::string epsilon;
  std::string delta;
  AnswerForm how;
};

// What `calibrate` is asked for.
struct TargetOptions {
  std::string epsilon;
  std::string delta;
  std::string solve = "noise-multiplier";
};

struct TrainingOptions {
  TrainingNumbers numbers;
  std::string noise_multiplier;
};

struct NoiseOptions {
  std::string noise_multiplier;
  std::string count = "1";
};

struct ResponseOptions {
  std::string local_epsilon;
  std::string categories = "2";
  std::string count = "1";
};

struct EventsOptions {
  std::string input;
};

template <class What>
struct AccountOptions {
  What what;
  NeighbourOptions neighbours;
  AnswerOptions answer;
};

template <class What>
struct CalibrateOptions {
  What what;
  NeighbourOptions neighbours;
  TargetOptions target;
};

Result<NoiseMultiplier> noise_of(const std::string& text) {
  return quantity<NoiseMultiplier>("--noise-multiplier", text);
}

// --- Questions -------------------------------------------------------------------------------------------------------

Result<Asked> training_asked(const NeighbourOptions& o, const PlannedRun& run, NoiseMultiplier noise) {
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(o.unit));
  return Asked{
      question_about(run, noise, unit),
      {{"sample_rate", run.law.rate().value()}, {"noise_multiplier", noise.value()}, {"steps", run.steps.value()}}};
}

Result<Asked> ask(const TrainingOptions& o, const NeighbourOptions& neighbours) {
  NF_TRY(const Adjacency adjacency, parse_adjacency(neighbours.adjacency));
  NF_TRY(const StatedTraining stated, o.numbers.read());
  NF_TRY(const PlannedRun run, stated.run(adjacency));
  NF_TRY(const NoiseMultiplier noise, noise_of(o.noise_multiplier));
  return training_asked(neighbours, run, noise);
}

template <QueryNoise kind>
struct RepeatedNoise : NoiseOptions {};

Result<Asked> queries_asked(QueryNoise kind, const NeighbourOptions& o, NoiseMultiplier noise, Steps count) {
  NF_TRY(const Adjacency adjacency, parse_adjacency(o.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(o.unit));
  return Asked{question_about(kind, noise, count, adjacency, unit),
               {{"noise_multiplier", noise.value()}, {"count", count.value()}}};
}

template <QueryNoise kind>
Result<Asked> ask(const RepeatedNoise<kind>& o, const NeighbourOptions& neighbours) {
  NF_TRY(const NoiseMultiplier noise, noise_of(o.noise_multiplier));
  NF_TRY(const Steps count, quantity<Steps>("--count", o.count));
  return queries_asked(kind, neighbours, noise, count);
}

Result<Asked> ask(const ResponseOptions& o, const NeighbourOptions& neighbours) {
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--local-epsilon", o.local_epsilon));
  NF_TRY(const Categories categories, quantity<Categories>("--categories", o.categories));
  NF_TRY(const Steps count, quantity<Steps>("--count", o.count));
  NF_TRY(const Adjacency adjacency, parse_adjacency(neighbours.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(neighbours.unit));
  return Asked{question_about(RandomizedResponseEvent{epsilon, categories}, count, adjacency, unit),
               {{"local_epsilon", epsilon.value()}, {"categories", categories.value()}, {"count", count.value()}}};
}

Result<Asked> ask(const EventsOptions& o, const NeighbourOptions& /*as the statement says*/) {
  NF_TRY(const std::string text, read_text(o.input));
  NF_TRY(DpStatement statement, parse_statement(text));
  return Asked{question_about(std::move(statement)), Json::object()};
}

// --- Commands --------------------------------------------------------------------------------------------------------

template <class What>
Result<Report> run_account(const AccountOptions<What>& o) {
  NF_TRY(const Asked asked, ask(o.what, o.neighbours));
  if (o.answer.delta.empty() == o.answer.epsilon.empty()) {
    return invalid_argument("give --delta to learn epsilon, or --epsilon to learn delta; one of them");
  }
  if (o.answer.delta.empty()) {
    NF_TRY(const PrivacyLoss epsilon, quantity<PrivacyLoss>("--epsilon", o.answer.epsilon));
    return delta_report(asked, epsilon, o.answer.how);
  }
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.answer.delta));
  return epsilon_report(asked, delta, o.answer.how);
}

// --- Calibration -----------------------------------------------------------------------------------------------------

// What was solved for, under its name in JSON.
struct Solution {
  const char* name;
  Json value;
  std::string text;
  Interval epsilon;
  Asked asked;
};

Result<SolveFor> unknown_of(const std::string& text, const char* known) {
  if (text == "noise-multiplier") return SolveFor::kNoise;
  if (text == "steps") return SolveFor::kSteps;
  if (text == "sample-rate") return SolveFor::kRate;
  return invalid_argument(fmt::format("--solve must be {}; got {}", known, noisefloor::shown(text)));
}

std::string shown_noise(NoiseMultiplier noise) {
  return fmt::format("{:.9g} (the least that keeps the budget)", noise.value());
}

Result<Solution> solve(const TrainingOptions& o, const NeighbourOptions& neighbours, const Target& target,
                       const std::string& wanted) {
  NF_TRY(const SolveFor unknown, unknown_of(wanted, "noise-multiplier, steps or sample-rate"));
  NF_TRY(const StatedTraining stated, o.numbers.read());
  std::optional<NoiseMultiplier> noise;
  if (unknown != SolveFor::kNoise) {
    NF_TRY(noise, noise_of(o.noise_multiplier));
  }
  NF_TRY(const SolvedTraining solved, solve_training(target, stated, noise, unknown));
  NF_TRY(Asked asked, training_asked(neighbours, solved.run, solved.noise));
  const std::uint64_t steps = solved.run.steps.value();
  const double rate = solved.run.law.rate().value();
  switch (unknown) {
    case SolveFor::kNoise:
      return Solution{"noise_multiplier", solved.noise.value(), shown_noise(solved.noise), solved.epsilon,
                      std::move(asked)};
    case SolveFor::kSteps:
      return Solution{"steps", steps, fmt::format("{} (the most within the budget)", steps), solved.epsilon,
                      std::move(asked)};
    default:
      return Solution{"sample_rate", rate, fmt::format("{:.9g} (the largest within the budget)", rate), solved.epsilon,
                      std::move(asked)};
  }
}

template <QueryNoise kind>
Result<Solution> solve(const RepeatedNoise<kind>& o, const NeighbourOptions& neighbours, const Target& target,
                       const std::string& wanted) {
  NF_TRY(const SolveFor unknown, unknown_of(wanted == "count" ? "steps" : wanted, "noise-multiplier or count"));
  if (unknown == SolveFor::kRate) return invalid_argument("--solve must be noise-multiplier or count; got sample-rate");
  const auto solved = [&]() -> Result<SolvedQueries> {
    if (unknown == SolveFor::kSteps) {
      NF_TRY(const NoiseMultiplier noise, noise_of(o.noise_multiplier));
      return solve_count(target, kind, noise);
    }
    NF_TRY(const Steps count, quantity<Steps>("--count", o.count));
    return solve_noise(target, kind, count);
  };
  NF_TRY(const SolvedQueries found, solved());
  NF_TRY(Asked asked, queries_asked(kind, neighbours, found.noise, found.count));
  asked.question.remarks.clear();
  const std::uint64_t count = found.count.value();
  if (unknown == SolveFor::kNoise) {
    return Solution{"noise_multiplier", found.noise.value(), shown_noise(found.noise), found.epsilon, std::move(asked)};
  }
  return Solution{"count", count, fmt::format("{} (the most queries within the budget)", count), found.epsilon,
                  std::move(asked)};
}

template <class What>
Result<Report> run_calibrate(const CalibrateOptions<What>& o) {
  const auto start = std::chrono::steady_clock::now();
  NF_TRY(const Adjacency adjacency, parse_adjacency(o.neighbours.adjacency));
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--epsilon", o.target.epsilon));
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.target.delta));
  NF_TRY(const Solution found, solve(o.what, o.neighbours, Target{adjacency, epsilon, delta}, o.target.solve));
  Report report("Calibration: the best parameter for a budget");
  report.set(found.name, found.value);
  report.set("epsilon", interval_json(found.epsilon.lower, found.epsilon.upper));
  report.set("delta", delta.value());
  report.set("target_epsilon", epsilon.value());
  report.set("accountant", "pld");
  report.line(found.name, found.text);
  report.line("epsilon", shown_interval(found.epsilon.lower, found.epsilon.upper));
  report.line("delta", o.target.delta);
  if (found.asked.question.sampling != "none") report.line("sampling", found.asked.question.sampling);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return finished_report(std::move(report), found.asked, found.epsilon.upper, seconds, {});
}

// --- Declarations ----------------------------------------------------------------------------------------------------

void declare(CLI::App& command, TrainingOptions& o) {
  o.numbers.add_to(command, "Training");
  command.add_option("--noise-multiplier", o.noise_multiplier, "Sigma divided by the clip norm, for every --sampling")
      ->type_name("S")
      ->group("Training");
}

void declare(CLI::App& command, NoiseOptions& o) {
  command.add_option("--noise-multiplier", o.noise_multiplier, "Noise scale divided by the sensitivity")
      ->type_name("S");
  command.add_option("--count", o.count, "How many releases")->type_name("K")->capture_default_str();
}

void declare(CLI::App& command, ResponseOptions& o) {
  command.add_option("--local-epsilon", o.local_epsilon, "Epsilon of one answer")->required()->type_name("E");
  command.add_option("--categories", o.categories, "Number of possible answers")->type_name("K")->capture_default_str();
  command.add_option("--count", o.count, "Answers that one person gives")->type_name("N")->capture_default_str();
}

void declare(CLI::App& command, EventsOptions& o) {
  command.add_option("--input", o.input, "A statement as JSON (docs/formats/event.md); - is standard input")
      ->required()
      ->type_name("FILE");
}

void declare(CLI::App& command, NeighbourOptions& o) {
  add_adjacency_option(command, o.adjacency);
  add_unit_option(command, o.unit);
}

void declare(CLI::App& command, AnswerOptions& o) {
  command.add_option("--delta", o.delta, "Failure probability: asks for epsilon")->type_name("D")->group("Question");
  command.add_option("--epsilon", o.epsilon, "Privacy loss: asks for delta")->type_name("E")->group("Question");
  command
      .add_option("--accountant", o.how.accountant,
                  "pld (certified), rdp, zcdp, gdp, basic, advanced, or all to compare")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Question");
  command.add_option("--curve", o.how.curve, "Write a curve as CSV and SVG: epsilon (over delta) or tradeoff")
      ->type_name("KIND")
      ->group("Output");
  command.add_option("--output", o.how.output, "Where the curve goes: PREFIX.csv and PREFIX.svg")
      ->type_name("PREFIX")
      ->group("Output");
}

void declare(CLI::App& command, TargetOptions& o) {
  command.add_option("--epsilon", o.epsilon, "The budget")->required()->type_name("E")->group("Target");
  command.add_option("--delta", o.delta, "Failure probability")->required()->type_name("D")->group("Target");
  command.add_option("--solve", o.solve, "What to find: noise-multiplier, steps (or count), sample-rate")
      ->type_name("WHAT")
      ->capture_default_str()
      ->group("Target");
}

template <class What>
void add_account(CLI::App& account, Action& action, const char* name, const char* description, const char* example) {
  const auto declare_all = [](CLI::App& command, AccountOptions<What>& o) {
    declare(command, o.what);
    // A statement has its own neighbours.
    if constexpr (!std::is_same_v<What, EventsOptions>) declare(command, o.neighbours);
    declare(command, o.answer);
  };
  add_command<AccountOptions<What>>(account, action, name, description, example, declare_all, run_account<What>);
}

template <class What>
void add_calibrate(CLI::App& calibrate, Action& action, const char* name, const char* description,
                   const char* example) {
  const auto declare_all = [](CLI::App& command, CalibrateOptions<What>& o) {
    declare(command, o.what);
    declare(command, o.neighbours);
    declare(command, o.target);
  };
  add_command<CalibrateOptions<What>>(calibrate, action, name, description, example, declare_all, run_calibrate<What>);
}

using Gaussians = RepeatedNoise<QueryNoise::kGaussian>;
using Laplaces = RepeatedNoise<QueryNoise::kLaplace>;

}  // namespace

void add_account_command(CLI::App& app, Action& action) {
  CLI::App* account =
      app.add_subcommand("account", "What a plan costs: certified epsilon at delta, or delta at epsilon");
  account->require_subcommand(1);
  add_account<TrainingOptions>(*account, action, "dpsgd", "Private training: noisy gradient sums over sampled batches",
                               "--sample-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-5 --accountant all");
  add_account<Gaussians>(*account, action, "gaussian", "Gaussian noise, once or many times",
                         "--noise-multiplier 1 --count 1000 --delta 1e-5");
  add_account<Laplaces>(*account, action, "laplace", "Laplace noise, once or many times",
                        "--noise-multiplier 10 --count 100 --delta 1e-6");
  add_account<ResponseOptions>(*account, action, "randomized-response", "Randomized answers of one person",
                               "--local-epsilon 0.1 --count 100 --delta 1e-6");
  add_account<EventsOptions>(*account, action, "events", "Any composition, as a statement in JSON",
                             "--input run.json --delta 1e-6");
}

void add_calibrate_command(CLI::App& app, Action& action) {
  CLI::App* calibrate = app.add_subcommand("calibrate", "Which noise, steps or sampling rate fit a budget");
  calibrate->require_subcommand(1);
  add_calibrate<TrainingOptions>(*calibrate, action, "dpsgd", "Private training",
                                 "--sample-rate 0.01 --steps 10000 --epsilon 8 --delta 1e-5");
  add_calibrate<Gaussians>(*calibrate, action, "gaussian", "Gaussian noise", "--count 10 --epsilon 1 --delta 1e-6");
  add_calibrate<Laplaces>(*calibrate, action, "laplace", "Laplace noise", "--count 10 --epsilon 1 --delta 1e-6");
}

}  // namespace noisefloor::cli
