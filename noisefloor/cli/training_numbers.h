// The options that state a training in numbers: how its batches are drawn, and how many there are.
#pragma once

#include <string>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/result.h"

namespace noisefloor::cli {

class OptionGroup;

struct TrainingNumbers {
  std::string sample_rate;
  std::string batch_size;
  std::string rows;
  std::string steps;
  std::string epochs;
  std::string sampling = "poisson";

  void add_to(const OptionGroup& group);
  [[nodiscard]] Result<StatedTraining> read() const;
};

}  // namespace noisefloor::cli
