// `noisefloor plan` from numbers alone: its options, and what is said of the answer.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/report.h"

namespace noisefloor::cli {

struct PlanNumbers {
  std::string rows;
  std::string epochs;
  std::string epsilon;
  std::string delta;
  std::string noise_multiplier;
  std::string batch_size;
  std::string rounds;
  std::string sizes;
  std::string growth = "0";
  std::string sampler = "poisson";
  std::string curve;  // prefix of the files with the trade-off
  bool paper = false;
  bool explain = false;

  // Whether any of them is given.
  [[nodiscard]] bool any() const;
};

[[nodiscard]] Result<Report> plan_from_numbers(const PlanNumbers& numbers);

}  // namespace noisefloor::cli
