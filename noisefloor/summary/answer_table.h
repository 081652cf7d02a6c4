// A table of an answer as text: for people, and as CSV for programs. Numbers have their intervals beside them.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "noisefloor/release/answer.h"

namespace noisefloor {

// Aligned columns below their names. An empty cell is NULL. Names and texts are shown as they are (Summary makes them
// printable).
[[nodiscard]] std::string table_text(const AnswerTable& table);

// A line of names, then one for each row. A column with intervals has two more after it: NAME_lower and NAME_upper.
[[nodiscard]] std::string table_csv(const AnswerTable& table);

}  // namespace noisefloor
