// Internal to engine/: the functions of evaluate.h, registered with SQLite.
//
// nf_CODE_TYPE(arguments…) for every function that SQLite itself does not compute alike; nf_number(cell), nf_text(cell)
// and nf_day(cell) for cells of any storage class; nf_double(bits) for constants; nf_sum(x) saturates at 64 bits, and
// nf_exact_sum(x) is a decimal text.
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/expression.h"

namespace noisefloor::engine {

[[nodiscard]] std::string sqlite_function(Function function, Type type);
// False if SQLite refuses.
[[nodiscard]] bool register_functions(sqlite3* database);
// Whether a statement of ours may call the function.
[[nodiscard]] bool is_our_function(std::string_view name);

}  // namespace noisefloor::engine
