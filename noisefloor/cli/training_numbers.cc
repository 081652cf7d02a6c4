#include "noisefloor/cli/training_numbers.h"

#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

void TrainingNumbers::add_to(const OptionGroup& group) {
  group.optional("--sample-rate", sample_rate, "Probability that a record joins a batch", "Q");
  group.optional("--batch-size", batch_size, "Instead of a rate: (expected) records in a batch", "B");
  group.optional("--rows", rows, "Instead of a rate: records in the data set", "N");
  group.optional("--steps", steps, "Number of batches", "T");
  group.optional("--epochs", epochs, "Instead of steps: passes over the data", "K");
  group.with_default("--sampling", sampling,
                     "poisson, or fixed-size: uniform subsets, under replace-one, whose event has half the multiplier",
                     "HOW");
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
