// The report of a run or of a sweep, from its folder (report/html_report.h): everything in it that is signed was verified.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/report/html_report.h"

namespace noisefloor::cli {

// The ledger to look into, if there is one.
struct LedgerAtHand {
  Ledger* ledger = nullptr;
  std::string place = {};
  bool named = false;  // by the user: then it must be the one that paid
};

// Of a run's folder, a sweep's folder, a model or a certificate. kVerificationFailed if anything that is signed does not hold, or is not in
// the ledger.
[[nodiscard]] Result<HtmlReport> report_on(const std::string& path, const LedgerAtHand& at_hand);

// report.html in the folder.
[[nodiscard]] std::string report_file_of(const std::string& path);

// Writes it there, and says where.
[[nodiscard]] Result<std::string> write_report(const std::string& folder, const LedgerAtHand& at_hand);

// For `train` and `sweep`, whose result stands whether or not there is a report: an error becomes a warning, and the path empty.
[[nodiscard]] std::string try_to_write_report(const std::string& folder, const LedgerAtHand& at_hand);

// Words as a shell takes them.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace noisefloor::cli
