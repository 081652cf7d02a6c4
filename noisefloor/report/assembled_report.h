// The report on a run or a sweep, assembled from its folder: the page's content for html_report.h, and the verdicts it
// rests on.
//
// Guarantee:     everything signed in it was verified, ε and all figures of privacy were recomputed from the recorded
//                events, and the budget is that of a ledger that has paid. Content from notes is marked as not signed.
// Errors:        kVerificationFailed if anything signed does not hold, or if the ledger has not paid for it.
// Thread safety: as the ledger.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/report/html_report.h"
#include "noisefloor/report/verdict.h"

namespace noisefloor {

// Whom the reader believes.
struct Trusted {
  Ledger* ledger = nullptr;  // the ledger to ask, if there is one
  // The reader named the ledger, so it must have paid, and its key is known. Otherwise a ledger that happens to be
  // another one is not asked.
  bool must_have_paid = false;
  std::vector<Signer> signers = {};  // whose signatures count; empty: any, and they are shown as unknown
};

struct AssembledReport {
  HtmlReport page;                // without `commands` and `program`, which the front end knows
  std::vector<Verdict> verdicts;  // one for each model, in order; at least one
  bool is_sweep = false;
  std::string command;  // the command that trained it, from the notes; may be empty
};

// `path` is a run's folder, a sweep's folder, a model or a certificate.
[[nodiscard]] Result<AssembledReport> report_on(const std::string& path, const Trusted& trusted);

// report.html in the folder of `path`.
[[nodiscard]] std::string report_file_of(const std::string& path);

}  // namespace noisefloor
