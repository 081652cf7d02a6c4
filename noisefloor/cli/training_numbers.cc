#include "noisefloor/cli/training_numbers.h"

#include <CLI/CLI.hpp>

#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"

namespace noisefloor::cli {
void TrainingNumbers::add_to(CLI::App& command, const char* group) {
  const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
    return command.add_option(name, value, text)->type_name(type)->group(group);
  };
  add("--sample-rate", sample_rate, "Probability that a record joins a batch", "Q");
  add("--batch-size", batch_size, "Instead of a rate: (expected) records in a batch", "B");
  add("--rows", rows, "Instead of a rate: records in the data set", "N");
  add("--steps", steps, "Number of batches", "T");
  add("--epochs", epochs, "Instead of steps: passes over the data", "K");
  add("--sampling", sampling,
      "poisson, or fixed-size: uniform subsets, under replace-one, whose event has half the multiplier", "HOW")
      ->capture_default_str();
}

Result<StatedTraining> TrainingNumbers::read() const {
  StatedTraining stated;
  NF_TRY(stated.draw, parse_draw(sampling));
  NF_TRY(stated.rate, optional_quantity<SamplingRate>("--sample-rate", sample_rate));
  NF_TRY(stated.batch, optional_quantity<Rows>("--batch-size", batch_size));
  NF_TRY(stated.rows, optional_quantity<Rows>("--rows", rows));
  NF_TRY(stated.steps, optional_quantity<Steps>("--steps", steps));
  if (!epochs.empty()) {
    NF_TRY(stated.epochs, parse_number("--epochs", epochs));
  }
  return stated;
}

}  // namespace noisefloor::cli
