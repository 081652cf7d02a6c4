// Internal to engine/: a table that this program fills in an engine.
#pragma once

#include <span>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {

class TableWriter {
 public:
  TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  virtual ~TableWriter() = default;

  // Values of the columns' types, or NULL.
  [[nodiscard]] virtual Result<void> add(std::span<const Value> row) = 0;
  [[nodiscard]] virtual Result<void> finish() = 0;
};

}  // namespace noisefloor::engine
