// Internal to engine/: the rows of a relation over tables in memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/engine/relation.h"

namespace noisefloor::engine {

using ValueRow = std::vector<Value>;
using ScanRows = std::function<Result<std::vector<ValueRow>>(const Scan&)>;

[[nodiscard]] Result<std::vector<ValueRow>> reference_rows(const Relation& relation, const ScanRows& scan);

// The value of the expression in a row with these columns.
[[nodiscard]] Value value_in(const Expression& e, const std::vector<NamedColumn>& columns, const ValueRow& row);

}  // namespace noisefloor::engine
