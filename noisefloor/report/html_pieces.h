// Pieces of a report's page as HTML. Not for users: see html_report.h.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/report/html_report.h"

namespace noisefloor::internal {

// --- Numbers and words for people ------------------------------------------------------------------------------------

// Rounded up to three digits: "20.1", "22,100".
[[nodiscard]] std::string factor(double value);
// Shares in percent, rounded up or to the nearest.
[[nodiscard]] std::string percent_at_least(double share);
[[nodiscard]] std::string percent(double share);
// A chance of at most δ: "1 in 100,000".
[[nodiscard]] std::string one_in(double delta);

[[nodiscard]] bool is_private(const HtmlReport& report);
// "this model", "these 3 models".
[[nodiscard]] std::string this_noun(const HtmlReport& report);

// --- Elements --------------------------------------------------------------------------------------------------------

// A paragraph of this class; nothing for an empty text.
[[nodiscard]] std::string paragraph(const char* kind, const std::string& text);
[[nodiscard]] std::string table_html(const HtmlReport::Table& table, const char* kind);
// A table that scrolls sideways if it is too wide.
[[nodiscard]] std::string scrolled(const HtmlReport::Table& table);
// A table that opens on demand.
[[nodiscard]] std::string folded(const HtmlReport::Table& table);
[[nodiscard]] std::string figures_html(const std::vector<HtmlReport::Figure>& figures);

// The meaning of ε: where it stands on the scale, and what it leaves to an attacker (html_reading.cc).
[[nodiscard]] std::string reading_html(const HtmlReport& report);

}  // namespace noisefloor::internal
