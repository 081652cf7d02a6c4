// The page beside what `train` and `sweep` made, with the commands that check and repeat it (report_command.cc).
#pragma once

#include <string>

#include "noisefloor/ledger/ledger.h"

namespace noisefloor::cli {

// Writes report.html into the folder and returns its path. The result of a job stands whether or not there is a report:
// an error becomes a warning, and the path empty. `ledger`, which is at `place`, may be null.
[[nodiscard]] std::string try_to_write_report(const std::string& folder, Ledger* ledger, const std::string& place);

}  // namespace noisefloor::cli
