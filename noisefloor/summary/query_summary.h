// What a query answered, would cost, or means, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/query/ask.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// Tables with intervals, what they cost, and what is left. `statements` are those that were asked, in order.
[[nodiscard]] Result<Summary> summary_of(const query::Asked& asked, Ledger& ledger, const std::string& dataset);
// The tables alone, as CSV; several are separated by an empty line.
[[nodiscard]] Summary csv_of(const query::Asked& asked);
[[nodiscard]] Result<Summary> summary_of(const query::Forecast& forecast);
[[nodiscard]] Summary summary_of_explanation(const std::string& text);

// For a conversation: the tables and columns that queries may name.
[[nodiscard]] std::string tables_in_words(const TablesFormat& tables);
[[nodiscard]] std::vector<std::string> names_in(const TablesFormat& tables);

}  // namespace noisefloor
