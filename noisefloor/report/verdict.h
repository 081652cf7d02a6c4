// The verdict on a release: whether its certificate is true of it, what that promises, and whether a ledger has paid.
//
//   NF_TRY(Verdict verdict, verify_file("visits/model.safetensors"));
//   NF_TRY_VOID(verify_payment(verdict, *ledger));
//   claim_of(verdict);   // "epsilon 1 (certified: at least 0.9999) at delta 2e-07, for one row added or removed"
//
// Guarantee:     a verdict exists only for a release that verifies (release/verify_release.h): ε was recomputed from
//                the recorded events, the content is what the certificate is about, and the signature holds. `payment`
//                is kPaid only after a ledger was seen to have paid for exactly this.
// Errors:        kVerificationFailed with the reason; kInputData for a file that is not a release.
// Thread safety: plain data; verify_payment as the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/verify_release.h"

namespace noisefloor {

// The largest file that is read for verification.
inline constexpr std::size_t kMaxReleaseBytes = std::size_t{1} << 30;

enum class Payment : std::uint8_t {
  kNotCharged,   // the certificate names no ledger: nothing private was drawn
  kNotLookedAt,  // it names a ledger, which was not asked
  kPaid,         // the ledger that it names has paid for it
};

struct Verdict {
  std::string file;
  VerifiedRelease release;
  Payment payment = Payment::kNotLookedAt;
  std::string accountant;                // in the words of the certificate
  std::vector<std::string> not_covered;  // one item each, in the words of the certificate

  [[nodiscard]] const Certificate& certificate() const { return release.certificate.certificate; }
  [[nodiscard]] bool is_private() const;  // ε is finite
};

// `path` is a model (safetensors), an answer or a certificate (JSON).
[[nodiscard]] Result<Verdict> verify_file(const std::string& path);

// Asks the ledger. A release that was never charged needs no payment and is left as it is.
[[nodiscard]] Result<void> verify_payment(Verdict& verdict, Ledger& ledger);
// Asks for all of them. The error of one among several names its file.
[[nodiscard]] Result<void> verify_payments(std::span<Verdict> verdicts, Ledger& ledger);

// Whether a ledger could say more: one of them was charged, and its ledger was not asked.
[[nodiscard]] bool awaits_ledger(std::span<const Verdict> verdicts);

// ε and δ with the neighbours that they are about. Requires a private release.
[[nodiscard]] std::string claim_of(const Verdict& verdict);

// The promise for people who know the law better than the mathematics.
[[nodiscard]] std::string meaning_of(const Verdict& verdict);

// What was compared with the certificate: the content, or only the certificate itself.
[[nodiscard]] std::string coverage_of(const Verdict& verdict);

}  // namespace noisefloor
