#include "noisefloor/cli/plan_command.h"

#include "noisefloor/cli/plan_question.h"

namespace noisefloor::cli {

void add_plan_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, PlanNumbers& o) {
    const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
      command.add_option(name, value, text)->type_name(type)->group("Question");
    };
    add("--rows", o.rows, "Rows of the data, N", "N");
    add("--epochs", o.epochs, "Gradients in all, in epochs: K = epochs times rows", "K");
    add("--epsilon", o.epsilon, "The epsilon to keep", "E");
    add("--delta", o.delta, "At this delta (1/rows)", "D");
    add("--noise-multiplier", o.noise_multiplier, "This noise; in the place of --epsilon, which then follows from it",
        "S");
    add("--batch-size", o.batch_size, "This batch: the least noise for it", "B");
    add("--rounds", o.rounds, "So many rounds: the least noise for them", "T");
    add("--growth", o.growth, "Batches grow with this power of the round", "P");
    add("--sampler", o.sampler, "poisson, which the theorems assume, or fixed-size, at twice the sensitivity", "NAME");
    command.add_flag("--paper", o.paper, "As printed in the paper: one update of gamma, for comparison only")
        ->group("Question");
    command.add_option("--curve", o.curve, "Write noise by batch size to PREFIX.csv and PREFIX.svg")
        ->type_name("PREFIX")
        ->group("Output");
  };
  add_command<PlanNumbers>(app, action, "plan", "Choose noise, batch and rounds before anything is spent",
                           "--rows 60000 --epochs 6 --epsilon 0.15", declare, answer_plan_question);
}

}  // namespace noisefloor::cli
