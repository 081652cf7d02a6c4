#include "noisefloor/cli/plan_command.h"

#include <CLI/CLI.hpp>
#include "noisefloor/cli/plan_numbers.h"

#include "noisefloor/cli/console.h"
#include "noisefloor/cli/training_plan.h"

namespace noisefloor::cli {
namespace {

struct PlanOptions {
  PlanNumbers numbers;
  PlanTrainingOptions training;
};

// --noise-multiplier is of either.
Result<Report> run_plan(PlanOptions o) {
  if (o.training.file.empty()) return plan_from_numbers(o.numbers);
  std::swap(o.training.noise_multiplier, o.numbers.noise_multiplier);
  if (o.numbers.any()) {
    return invalid_argument(
        "with a training file the numbers come from it: leave out --rows, --epochs, --epsilon and the like");
  }
  return plan_training(o.training);
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, PlanOptions& o) {
    PlanNumbers& n = o.numbers;
    command.add_option("FILE", o.training.file,
                       "A training with a [plan] (docs/formats/training.md); or numbers alone");
    const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
      command.add_option(name, value, text)->type_name(type)->group("Numbers");
    };
    add("--rows", n.rows, "Rows of the data, N", "N");
    add("--epochs", n.epochs, "Gradients in all, in epochs: K = epochs times rows", "K");
    add("--epsilon", n.epsilon, "The epsilon to keep", "E");
    add("--delta", n.delta, "At this delta (1/rows)", "D");
    add("--noise-multiplier", n.noise_multiplier, "This noise; in the place of --epsilon, which then follows from it",
        "S");
    add("--batch-size", n.batch_size, "This batch: the least noise for it", "B");
    add("--rounds", n.rounds, "So many rounds: the least noise for them", "T");
    add("--sizes", n.sizes, "Batches one after the other, as SIZExROUNDS,…; in the place of --epochs", "LIST");
    add("--growth", n.growth, "Batches grow with this power of the round", "P");
    add("--sampler", n.sampler, "poisson, which the theorems assume, or fixed-size, at twice the sensitivity", "NAME");
    command.add_flag("--paper", n.paper, "As printed in the paper: one update of gamma, for comparison only")
        ->group("Numbers");
    command.add_flag("--explain", n.explain, "Show the paper's theorems, condition by condition")->group("Numbers");
    command.add_option("--curve", n.curve, "Write noise by batch size to PREFIX.csv and PREFIX.svg")
        ->type_name("PREFIX")
        ->group("Numbers");
    command.add_flag("--reserve", o.training.reserve, "Set the plan's cost aside in the ledger")
        ->group("Training file");
    command.add_option("--after", o.training.after, "Plan the next phase, after the one trained into this folder")
        ->type_name("DIR")
        ->group("Training file");
    command.add_option("--output", o.training.output, "Folder for the plan and the utility graph (NAME-plan)")
        ->type_name("DIR")
        ->group("Training file");
    command.add_option("--threads", o.training.threads, "Threads (all cores)")->type_name("N")->group("Training file");
    command.add_flag("--quiet", o.training.quiet, "No progress")->group("Training file");
    command.add_flag("--dry-run", o.training.dry_run, kDryRunHelp)->group("Training file");
    o.training.creating.add_to(command);
    o.training.add_to(command, true, true);
  };
  add_command<PlanOptions>(
      app, action, "plan", "Choose noise, batch and rounds before anything is spent",
      "--rows 60000 --epochs 6 --epsilon 0.15\n  noisefloor plan examples/training/fashion-plan.toml", declare,
      run_plan);
}

}  // namespace noisefloor::cli
