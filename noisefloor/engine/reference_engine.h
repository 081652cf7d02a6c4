// Tables in memory, read by the plainest code: what the engines must equal, and an engine for tests.
//
// Guarantee:     relations and measurements mean what relation.h, evaluate.h and measurement.h say, computed row by
//                row. It is slow, and shares no code with the engines but the definitions of functions and of keyed
//                order.
// Thread safety: an engine is used by one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/engine/engine.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {

struct ReferenceTable {
  std::string name;
  std::vector<NamedColumn> columns;
  std::vector<std::vector<Value>> rows;  // cells that do not fit their column are NULL when they are read
};

class ReferenceEngine final : public Engine {
 public:
  explicit ReferenceEngine(std::vector<ReferenceTable> tables) : tables_(std::move(tables)) {}

  [[nodiscard]] std::string name() const override { return "reference"; }
  [[nodiscard]] Result<std::vector<CatalogueTable>> catalogue() override;
  [[nodiscard]] Result<Measured> measure(const Measurement& measurement) override;
  [[nodiscard]] Result<std::vector<std::string>> explain(const Measurement& measurement) override;
  [[nodiscard]] Result<void> read_rows(const std::string& table, const TakeRow& take) override;

  // The rows that the relation gives.
  [[nodiscard]] Result<std::vector<std::vector<Value>>> rows_of(const Relation& relation) const;

  // To change tables between measurements.
  [[nodiscard]] std::vector<ReferenceTable>& tables() { return tables_; }

 private:
  std::vector<ReferenceTable> tables_;
};

}  // namespace noisefloor::engine
