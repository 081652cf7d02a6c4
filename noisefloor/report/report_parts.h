// The parts that reports on runs and on sweeps are assembled from. Not for users: see assembled_report.h.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/report/assembled_report.h"
#include "noisefloor/report/run_folder.h"

namespace noisefloor::internal {

// --- privacy_part.cc -------------------------------------------------------------------------------------------------

[[nodiscard]] HtmlReport::Promise promise_of(const DpStatement& statement, Interval epsilon, Delta delta);

// Adds ε at other δ, the trade-off curve and the odds of tests for one record; leaves out figures that no accountant
// can give.
void add_privacy(HtmlReport& page, const DpStatement& statement, Delta delta);

// --- budget_part.cc --------------------------------------------------------------------------------------------------

// Asks the ledger about each verdict and shows the share of these uses in the budget. kVerificationFailed if it has not
// paid.
[[nodiscard]] Result<void> add_budget(HtmlReport& page, std::vector<Verdict>& verdicts, const Trusted& trusted);

// Says whose signatures there are, as far as the reader knows. kVerificationFailed if one is none of those that are
// trusted. Comes after add_budget, by which a ledger's key is known.
[[nodiscard]] Result<void> add_signers(HtmlReport& page, std::vector<Verdict>& verdicts, const Trusted& trusted);

// --- settings_part.cc ------------------------------------------------------------------------------------------------

// Adds the tables of all that ε follows from.
void add_settings(HtmlReport& page, const RunFolder& folder);

// --- quality_part.cc -------------------------------------------------------------------------------------------------

// Adds the quality of the finished model, the curves of the training and the utility graph, from the notes.
void add_quality(HtmlReport& page, const RunFolder& folder);

// Says which of the above is not signed, if anything is not.
void add_unsigned_note(HtmlReport& page);

// --- answer_part.cc --------------------------------------------------------------------------------------------------

// Adds the tables of an answer, if the verdict is on one. kVerificationFailed if the answer says something other than
// its certificate.
[[nodiscard]] Result<void> add_answer(HtmlReport& page, const Verdict& verdict);

// --- sweep_report.cc -------------------------------------------------------------------------------------------------

[[nodiscard]] Result<AssembledReport> report_on_sweep(const std::string& path, const Trusted& trusted);

}  // namespace noisefloor::internal
