// Reports as the program writes them: the page of a run or a sweep, with the commands that check and repeat it.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/report/html_report.h"

namespace noisefloor::cli {

// The ledger to ask, if there is one.
struct LedgerAtHand {
  Ledger* ledger = nullptr;
  std::string place = {};
  bool named = false;  // by the user: then it must be the one that paid
};

// The page on a run's folder, a sweep's folder, a model or a certificate (report/assembled_report.h).
[[nodiscard]] Result<HtmlReport> page_on(const std::string& path, const LedgerAtHand& at_hand);

// Writes report.html into the folder and returns its path.
[[nodiscard]] Result<std::string> write_report(const std::string& folder, const LedgerAtHand& at_hand);

// For `train` and `sweep`, whose result stands whether or not there is a report: an error becomes a warning, and the path empty.
[[nodiscard]] std::string try_to_write_report(const std::string& folder, const LedgerAtHand& at_hand);

// A text as one word of a shell's command line, in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace noisefloor::cli
