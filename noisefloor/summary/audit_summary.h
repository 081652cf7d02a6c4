// What audits and attacks have found, for programs and for people.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "noisefloor/audit/audit_document.h"
#include "noisefloor/report/verdict.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/inversion_job.h"
#include "noisefloor/training/membership_job.h"

namespace noisefloor {

// Adds the two sides of ε, and how the lower one was measured, to the summary of the release that was audited.
void add_audit(Summary& summary, const audit::SignedAudit& audit);

// An audit of the release that this verdict is about: in its own run, or of the same descent carried out anew by this
// program, on canaries alone.
enum class AuditOf : std::uint8_t { kTheRun, kThisProgram };
[[nodiscard]] Summary audit_summary(const Verdict& verdict, const audit::RunFindings& findings,
                                    const audit::RunJudgement& judgement, AuditOf what);

// `page` and `figures` are the files that were written.
[[nodiscard]] Summary summary_of(const MembershipOutcome& outcome, const std::string& page, const std::string& figures);
// The same as JSON, for a file.
[[nodiscard]] std::string to_json(const MembershipOutcome& outcome);

[[nodiscard]] Summary summary_of(const InversionOutcome& outcome, const std::string& page);

}  // namespace noisefloor
