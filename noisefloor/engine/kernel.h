// Internal to engine/: a measurement over a stream of rows. Rows go into buckets by their unit; then the rows of one
// unit after the other are bounded and added.
//
// Guarantee:     what a unit adds is bounded as measurement.h says, whatever the order of rows and batches.
// Memory:        16 bytes and 8 for each argument, a row.
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/measurement.h"
#include "noisefloor/engine/row_batch.h"

namespace noisefloor::engine {

class Kernel {
 public:
  // Requires that check_measurement(m) succeeded, and that the measurement outlives the kernel. `types` are those of
  // its columns that a batch has: the unit if there is one, the keys, and the arguments of aggregates that have one.
  Kernel(const Measurement& m, std::vector<Type> types);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  void add(const Batch& batch);
  [[nodiscard]] Measured finish();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace noisefloor::engine
