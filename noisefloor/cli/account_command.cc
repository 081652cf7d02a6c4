#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/input.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/training_numbers.h"
#include "noisefloor/event/json.h"
#include "noisefloor/summary/accounting_summary.h"

namespace noisefloor::cli {
namespace {

// --- Options, as text ------------------------------------------------------------------------------------------------

struct NeighbourOptions {
  std::string adjacency = "add-remove";
  std::string unit = "row";
};

// What `account` is asked for.
struct AnswerOptions {
  std::string epsilon;
  std::string delta;
  std::string accountant = "pld";
  std::string curve;   // "epsilon", "tradeoff", or none
  std::string output;  // PREFIX.csv and PREFIX.svg; KIND-curve if empty
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

struct RepeatedResponse {
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

Result<AccountQuestion> ask(const TrainingOptions& o, const NeighbourOptions& neighbours) {
  NF_TRY(const Adjacency adjacency, parse_adjacency(neighbours.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(neighbours.unit));
  NF_TRY(const StatedTraining stated, o.numbers.read());
  NF_TRY(const PlannedRun run, stated.run(adjacency));
  NF_TRY(const NoiseMultiplier noise, noise_of(o.noise_multiplier));
  return question_about(run, noise, unit);
}

template <QueryNoise kind>
struct RepeatedNoise : NoiseOptions {};

template <QueryNoise kind>
Result<AccountQuestion> ask(const RepeatedNoise<kind>& o, const NeighbourOptions& neighbours) {
  NF_TRY(const NoiseMultiplier noise, noise_of(o.noise_multiplier));
  NF_TRY(const Steps count, quantity<Steps>("--count", o.count));
  NF_TRY(const Adjacency adjacency, parse_adjacency(neighbours.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(neighbours.unit));
  return question_about(kind, noise, count, adjacency, unit);
}

Result<AccountQuestion> ask(const RepeatedResponse& o, const NeighbourOptions& neighbours) {
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--local-epsilon", o.local_epsilon));
  NF_TRY(const Categories categories, quantity<Categories>("--categories", o.categories));
  NF_TRY(const Steps count, quantity<Steps>("--count", o.count));
  NF_TRY(const Adjacency adjacency, parse_adjacency(neighbours.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(neighbours.unit));
  return question_about(RandomizedResponseEvent{epsilon, categories}, count, adjacency, unit);
}

Result<AccountQuestion> ask(const EventsOptions& o, const NeighbourOptions& /*as the statement says*/) {
  NF_TRY(const std::string text, read_text(o.input));
  NF_TRY(DpStatement statement, parse_statement(text));
  return question_about(std::move(statement));
}

// --- Commands --------------------------------------------------------------------------------------------------------

Result<Summary> answer(const AccountQuestion& question, const AnswerOptions& o) {
  if (o.delta.empty() == o.epsilon.empty()) {
    return invalid_argument("give --delta to learn epsilon, or --epsilon to learn delta; one of them");
  }
  if (o.delta.empty()) {
    NF_TRY(const PrivacyLoss epsilon, quantity<PrivacyLoss>("--epsilon", o.epsilon));
    if (o.accountant != "pld") return invalid_argument("delta at an epsilon is computed by --accountant pld only");
    return delta_summary(question, epsilon);
  }
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.delta));
  if (o.accountant == "all") return epsilon_summary(question, delta, std::nullopt);
  NF_TRY(const Accountant accountant, parse_accountant(o.accountant));
  return epsilon_summary(question, delta, accountant);
}

template <class What>
Result<Summary> run_account(const AccountOptions<What>& o) {
  NF_TRY(const AccountQuestion question, ask(o.what, o.neighbours));
  NF_TRY(Summary summary, answer(question, o.answer));
  if (o.answer.curve.empty()) return summary;
  for (const CurveKind kind : {CurveKind::kEpsilon, CurveKind::kTradeoff}) {
    if (o.answer.curve != name_of(kind)) continue;
    const std::string prefix = o.answer.output.empty() ? o.answer.curve + "-curve" : o.answer.output;
    NF_TRY_VOID(write_curve(summary, kind, question.statement, prefix));
    return summary;
  }
  return invalid_argument(fmt::format("--curve must be epsilon or tradeoff; got {}", shown(o.answer.curve)));
}

Result<SolveFor> unknown_of(const std::string& text, const char* known) {
  if (text == "noise-multiplier") return SolveFor::kNoise;
  if (text == "steps") return SolveFor::kSteps;
  if (text == "sample-rate") return SolveFor::kRate;
  if (text == "batch-size") return SolveFor::kBatch;
  return invalid_argument(fmt::format("--solve must be {}; got {}", known, shown(text)));
}

Result<Summary> solve(const TrainingOptions& o, PrivacyUnit unit, const Target& target, const std::string& wanted) {
  NF_TRY(const SolveFor unknown, unknown_of(wanted, "noise-multiplier, steps, sample-rate or batch-size"));
  NF_TRY(const StatedTraining stated, o.numbers.read());
  std::optional<NoiseMultiplier> noise;
  if (unknown != SolveFor::kNoise) {
    NF_TRY(noise, noise_of(o.noise_multiplier));
  }
  return solution_summary(target, stated, noise, unknown, unit);
}

template <QueryNoise kind>
Result<Summary> solve(const RepeatedNoise<kind>& o, PrivacyUnit unit, const Target& target, const std::string& wanted) {
  NF_TRY(const SolveFor unknown, unknown_of(wanted == "count" ? "steps" : wanted, "noise-multiplier or count"));
  if (unknown == SolveFor::kRate || unknown == SolveFor::kBatch) {
    return invalid_argument(fmt::format("--solve must be noise-multiplier or count; got {}", wanted));
  }
  if (unknown == SolveFor::kSteps) {
    NF_TRY(const NoiseMultiplier noise, noise_of(o.noise_multiplier));
    return solution_summary(target, kind, std::nullopt, noise, unit);
  }
  NF_TRY(const Steps count, quantity<Steps>("--count", o.count));
  return solution_summary(target, kind, count, std::nullopt, unit);
}

template <class What>
Result<Summary> run_calibrate(const CalibrateOptions<What>& o) {
  NF_TRY(const Adjacency adjacency, parse_adjacency(o.neighbours.adjacency));
  NF_TRY(const PrivacyUnit unit, parse_privacy_unit(o.neighbours.unit));
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>("--epsilon", o.target.epsilon));
  NF_TRY(const Delta delta, quantity<Delta>("--delta", o.target.delta));
  return solve(o.what, unit, Target{adjacency, epsilon, delta}, o.target.solve);
}

// --- Declarations ----------------------------------------------------------------------------------------------------

void declare(CLI::App& command, TrainingOptions& o) {
  const OptionGroup training(command, "Training");
  o.numbers.add_to(training);
  training.optional("--noise-multiplier", o.noise_multiplier, "Sigma divided by the clip norm, for every --sampling",
                    "S");
}

void declare(CLI::App& command, NoiseOptions& o) {
  const OptionGroup options(command);
  options.optional("--noise-multiplier", o.noise_multiplier, "Noise scale divided by the sensitivity", "S");
  options.with_default("--count", o.count, "How many releases", "K");
}

void declare(CLI::App& command, RepeatedResponse& o) {
  const OptionGroup options(command);
  options.required("--local-epsilon", o.local_epsilon, "Epsilon of one answer", "E");
  options.with_default("--categories", o.categories, "Number of possible answers", "K");
  options.with_default("--count", o.count, "Answers that one person gives", "N");
}

void declare(CLI::App& command, EventsOptions& o) {
  OptionGroup(command).required("--input", o.input, "A statement as JSON (docs/formats/event.md); - is standard input",
                                "FILE");
}

void declare(CLI::App& command, NeighbourOptions& o) {
  add_adjacency_option(command, o.adjacency);
  add_unit_option(command, o.unit);
}

void declare(CLI::App& command, AnswerOptions& o) {
  const OptionGroup question(command, "Question");
  question.optional("--delta", o.delta, "Failure probability: asks for epsilon", "D");
  question.optional("--epsilon", o.epsilon, "Privacy loss: asks for delta", "E");
  question.with_default("--accountant", o.accountant,
                        "pld (certified), rdp, zcdp, gdp, basic, advanced, or all to compare", "NAME");
  const OptionGroup output(command, "Output");
  output.optional("--curve", o.curve, "Write a curve as CSV and SVG: epsilon (over delta) or tradeoff", "KIND");
  output.optional("--output", o.output, "Where the curve goes: PREFIX.csv and PREFIX.svg", "PREFIX");
}

void declare(CLI::App& command, TargetOptions& o) {
  const OptionGroup target(command, "Target");
  target.required("--epsilon", o.epsilon, "The budget", "E");
  target.required("--delta", o.delta, "Failure probability", "D");
  target.with_default("--solve", o.solve, "What to find: noise-multiplier, steps (or count), sample-rate, batch-size",
                      "WHAT");
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
  CLI::App& account =
      add_command_group(app, "account", "What a plan costs: certified epsilon at delta, or delta at epsilon");
  add_account<TrainingOptions>(account, action, "dpsgd", "Private training: noisy gradient sums over sampled batches",
                               "--sample-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-5 --accountant all");
  add_account<Gaussians>(account, action, "gaussian", "Gaussian noise, once or many times",
                         "--noise-multiplier 1 --count 1000 --delta 1e-5");
  add_account<Laplaces>(account, action, "laplace", "Laplace noise, once or many times",
                        "--noise-multiplier 10 --count 100 --delta 1e-6");
  add_account<RepeatedResponse>(account, action, "randomized-response", "Randomized answers of one person",
                                "--local-epsilon 0.1 --count 100 --delta 1e-6");
  add_account<EventsOptions>(account, action, "events", "Any composition, as a statement in JSON",
                             "--input run.json --delta 1e-6");
}

void add_calibrate_command(CLI::App& app, Action& action) {
  CLI::App& calibrate = add_command_group(app, "calibrate", "Which noise, steps or sampling rate fit a budget");
  add_calibrate<TrainingOptions>(calibrate, action, "dpsgd", "Private training",
                                 "--sample-rate 0.01 --steps 10000 --epsilon 8 --delta 1e-5");
  add_calibrate<Gaussians>(calibrate, action, "gaussian", "Gaussian noise", "--count 10 --epsilon 1 --delta 1e-6");
  add_calibrate<Laplaces>(calibrate, action, "laplace", "Laplace noise", "--count 10 --epsilon 1 --delta 1e-6");
}

}  // namespace noisefloor::cli
