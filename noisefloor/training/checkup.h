// What can be found out about a file before anything is spent: what is wrong with it, whether the data beside it fit,
// and what a training would cost.
//
// Guarantee:     nothing is spent or written. Of the private rows nothing is said but that a record cannot be read,
//                with its line; categories and bounds are judged by public test rows alone (table/fit.h).
// Thread safety: as the job's.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/config/any_file.h"
#include "noisefloor/training/job.h"

namespace noisefloor {

struct Checkup {
  CheckedFile file;                  // with what was found in the data
  std::optional<TrainingCost> cost;  // of a training without errors whose data are here
  std::string not_looked_at = {};    // why the data were not: they are not here, or there are errors
};

// Checks a text that was found at `location`, whose paths are relative to the folder of `location`.
[[nodiscard]] Checkup check_up(const std::string& text, const std::string& location, const Machine& machine);

}  // namespace noisefloor
