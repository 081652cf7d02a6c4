// Checks whether a pipeline keeps its budget, and reports what looks wrong. docs/formats/pipeline.md lists every
// finding.
//
// Guarantee:     without an error among the findings, the runs together keep the (ε, δ) of the budget for its
//                neighbours and unit, if each run does what its keys say: `composed` then has a value, and its upper
//                end is at most ε (up to 1e-12 of it, so that ten times 0.1 is 1).
// Requires:      the caller also looks at the findings of reading the text (pipeline.h).
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/config/finding.h"
#include "noisefloor/config/pipeline.h"
#include "noisefloor/config/run_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// The assessment of one run by itself.
struct RunAssessment {
  std::string name;
  Place place;
  Schedule schedule;
  std::optional<RunEvent> event;
  std::optional<Interval> epsilon;  // certified, at the δ of the budget
  bool charged = true;              // false: the run is not released, and not private
  std::string reason;               // why there is no event
};

struct Assessment {
  std::vector<Finding> findings;
  std::vector<RunAssessment> runs;
  // The ε of all runs together at the δ of the budget, if every run has a bound.
  std::optional<Interval> composed;
  std::optional<DpStatement> statement;
};

[[nodiscard]] Assessment assess(const Pipeline& pipeline);

// The findings alone.
[[nodiscard]] std::vector<Finding> check(const Pipeline& pipeline);

}  // namespace noisefloor
