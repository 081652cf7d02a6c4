// One form for all ways to write an expression or a relation, and its text.
//
// Guarantee:     two expressions, relations or measurements have equal texts if, and only if, they are equal: texts can
//                be keys of a store of answers. Normal forms have the value of what they were made from, for every row.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/engine/expression.h"
#include "noisefloor/engine/measurement.h"
#include "noisefloor/engine/relation.h"

namespace noisefloor::query {

[[nodiscard]] std::string canonical_text(const engine::Expression& expression);
[[nodiscard]] std::string canonical_text(const engine::Relation& relation);
// All but the order key.
[[nodiscard]] std::string canonical_text(const engine::Measurement& measurement);

// The call in its normal form: constants folded, operands of commutative functions sorted, AND and OR flattened, a
// constant on the right of a comparison. Requires engine::takes(function, type, arguments) (checked).
[[nodiscard]] engine::Expression normal_call(engine::Function function, engine::Type type,
                                             std::vector<engine::Expression> arguments);

[[nodiscard]] bool is_constant(const engine::Expression& expression);
[[nodiscard]] bool is_null(const engine::Expression& expression);
// Parts of an expression: what its evaluation costs.
[[nodiscard]] std::size_t size_of(const engine::Expression& expression);
void add_columns(const engine::Expression& expression, std::set<std::string>& names);
// The conditions that must all hold for the expression to be true.
[[nodiscard]] std::vector<engine::Expression> conjuncts_of(engine::Expression condition);
// All of them hold. True if there are none.
[[nodiscard]] engine::Expression conjunction(std::vector<engine::Expression> conditions);
// The expression with other expressions in the place of columns, in normal form.
[[nodiscard]] engine::Expression substituted(const engine::Expression& expression,
                                             const std::map<std::string, engine::Expression>& columns);

[[nodiscard]] std::string_view name_of(engine::Function function);

}  // namespace noisefloor::query
