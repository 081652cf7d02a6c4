// The pure question of Proactive DP: so many rows and epochs, this (ε, δ) or this noise. What are batch and rounds?
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

  // Whether any of them is given.
  [[nodiscard]] bool any() const;
};

[[nodiscard]] Result<Report> answer_plan_question(const PlanNumbers& numbers);

}  // namespace noisefloor::cli
