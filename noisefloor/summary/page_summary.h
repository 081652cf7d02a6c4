// What was written for people to look at: reports, and the commands of a demonstration.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "noisefloor/base/command_walk.h"
#include "noisefloor/report/html_report.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// A report that was written to this file.
[[nodiscard]] Summary summary_of(const HtmlReport& page, const std::string& file, std::size_t bytes);

// Adds the report that was written beside a job's files. Nothing if the path is empty.
void add_report_page(Summary& summary, const std::string& path);

// Adds the commands as the field "steps".
void add_steps(Summary& summary, std::span<const RanCommand> commands);

}  // namespace noisefloor
