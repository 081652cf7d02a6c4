// The page about the dialect, as Markdown: docs/reference/sql.md. Its tables are made of the lists that the parser and
// the binder go by, so that the page cannot promise what they refuse.
//
// Thread safety: pure functions.
#pragma once

#include <string>

namespace noisefloor::query {

[[nodiscard]] std::string dialect_page();

}  // namespace noisefloor::query
