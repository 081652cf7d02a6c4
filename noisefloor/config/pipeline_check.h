// Whether a pipeline keeps its budget, and what looks wrong with it. docs/formats/pipeline.md lists every finding.
//
// Guarantee:     without an error among the findings, the runs together keep (ε, δ) of the budget for its neighbours and unit,
//                if each does what its keys say: `composed` is then there, and its upper end is at most ε (but for
//                1e-12 of it, so that ten times 0.1 is 1).
// Requires:      the findings of reading the text are looked at as well (pipeline.h).
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

// One run by itself.
struct RunAssessment {
  std::string name;
  Place place;
  Schedule schedule;
  std::optional<RunEvent> event;
  std::optional<Interval> epsilon;  // certified, at the δ of the budget
  bool charged = true;              // false: it is not released, and not private
  std::string reason;               // why there is no event
};

struct Assessment {
  std::vector<Finding> findings;
  std::vector<RunAssessment> runs;
  // All runs together at the δ of the budget, if every run has a bound.
  std::optional<Interval> composed;
  std::optional<DpStatement> statement;
};

[[nodiscard]] Assessment assess(const Pipeline& pipeline);

// The findings alone.
[[nodiscard]] std::vector<Finding> check(const Pipeline& pipeline);

}  // namespace noisefloor
