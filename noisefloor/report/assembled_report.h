// The report on a run or a sweep, assembled from its folder: the page's content for html_report.h, and what it rests on.
//
// Guarantee:     everything in it that is signed was verified, ε and all figures of privacy were computed anew from the recorded
//                events, and the budget is that of a ledger that has paid. What comes from notes is marked as not signed.
// Errors:        kVerificationFailed if anything that is signed does not hold, or the ledger has not paid for it.
// Thread safety: as the ledger.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/report/html_report.h"
#include "noisefloor/report/verdict.h"

namespace noisefloor {

// The ledger to ask, if there is one.
struct LedgerToAsk {
  Ledger* ledger = nullptr;
  bool must_have_paid = false;  // else one that happens to be another ledger is not asked
};

struct AssembledReport {
  HtmlReport page;                // without `commands` and `program`, which the front end knows
  std::vector<Verdict> verdicts;  // on each model, in order; at least one
  bool is_sweep = false;
  std::string command;  // how it was trained, from the notes; may be empty
};

// `path` is a run's folder, a sweep's folder, a model or a certificate.
[[nodiscard]] Result<AssembledReport> report_on(const std::string& path, const LedgerToAsk& to_ask);

// report.html in the folder of `path`.
[[nodiscard]] std::string report_file_of(const std::string& path);

}  // namespace noisefloor
