// The result of an audit beside a release: what canaries found, signed with the key that signed the certificate.
//
// Guarantee:     parse_audit() judges the findings anew, and returns an audit only if what it states follows from them
//                and nothing is refuted. expect_about() ties it to one certificate: an audit of another run, of an
//                earlier one, or with another signer is refused. One audit has one text.
// Privacy:       an audit says nothing of the rows (woven_canaries.h): it may be handed on with the release.
// Not covered:   whoever holds the key can sign findings that nobody made, as with any certificate.
// Format:        docs/formats/audit.md.
// Thread safety: plain data; pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/audit/woven_canaries.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/release/certificate.h"

namespace noisefloor::audit {

inline constexpr int kAuditVersion = 1;
inline constexpr const char* kAuditName = "audit.json";  // in the folder of a run

struct AuditDocument {
  std::string name;       // of the release
  Digest certificate{};   // of the certificate's text
  DpStatement statement;  // of the run that was audited
  Delta delta;
  double certified = 0;  // the upper bound of ε that the certificate states
  RunFindings findings;
  std::string program_version;
};

struct SignedAudit {
  AuditDocument audit;
  RunJudgement judgement;
  PublicKey key{};
};

// The audit of the release with this certificate.
[[nodiscard]] AuditDocument audit_of(const Certificate& certificate, std::string_view certificate_text,
                                     const DpEvent& event, const RunFindings& findings);

// As judge().
[[nodiscard]] Result<RunJudgement> judgement_of(const AuditDocument& audit);

// Requires the document's own judgement.
[[nodiscard]] std::string to_json(const AuditDocument& audit, const RunJudgement& judgement, const Sign& sign);

// kInputData if the text is no audit; kVerificationFailed, with the reason, if it was altered, or is refuted.
[[nodiscard]] Result<SignedAudit> parse_audit(std::string_view text);

// kVerificationFailed unless it is about the release with this certificate, and by the same signer.
[[nodiscard]] Result<void> expect_about(const SignedAudit& audit, const SignedCertificate& certificate,
                                        std::string_view certificate_text);

// "certified ≤ 3.000, measured ≥ 1.41": upper bounds are rounded up, lower ones down.
[[nodiscard]] std::string two_sided(double certified, double measured);
// How it was measured, in a sentence.
[[nodiscard]] std::string in_words(const RunFindings& findings, const RunJudgement& judgement);

}  // namespace noisefloor::audit
