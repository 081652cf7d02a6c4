// The verdict on a release: whether its certificate is true of it, what that promises, and whether a ledger has paid.
//
//   NF_TRY(Verdict verdict, verify_file("visits/model.safetensors"));
//   NF_TRY_VOID(verify_signer(verdict, trusted));
//   NF_TRY_VOID(verify_payment(verdict, *ledger, LedgerIs::kNamed));
//   claim_of(verdict);   // "epsilon 1 (certified: at least 0.9999) at delta 2e-07, for one row added or removed"
//
// Guarantee:     a verdict exists only for a release that verifies (release/verify_release.h): ε was recomputed from
//                the recorded events, the content is what the certificate is about, and the signature holds: a claim
//                of privacy that nobody signed has no verdict. Whose signature it is, is unknown until the reader says
//                whom to believe, by a list of keys or by naming a ledger. `payment` is kPaid only after a ledger was
//                seen to have paid for exactly this.
// Errors:        kVerificationFailed with the reason; kInputData for a file that is not a release.
// Thread safety: plain data; verify_payment as the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/audit/audit_document.h"
#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/signers.h"
#include "noisefloor/release/verify_release.h"

namespace noisefloor {

// The largest file that is read for verification.
inline constexpr std::size_t kMaxReleaseBytes = std::size_t{1} << 30;

enum class Payment : std::uint8_t {
  kNotCharged,   // the certificate names no ledger: nothing private was drawn
  kNotLookedAt,  // it names a ledger, which was not asked
  kPaid,         // the ledger that it names has paid for it
};

// How the reader came by a ledger: one that lay beside the release may have come with it.
enum class LedgerIs : std::uint8_t { kFound, kNamed };

struct Verdict {
  std::string file;
  VerifiedRelease release;
  Payment payment = Payment::kNotLookedAt;
  std::optional<std::string> signer = {};  // who signed, in the reader's words; nothing if the reader does not know
  std::string accountant;                  // in the words of the certificate
  std::optional<audit::SignedAudit> audit = {};  // beside it, in the folder of a run
  std::vector<std::string> not_covered;          // one item each, in the words of the certificate

  [[nodiscard]] const Certificate& certificate() const { return release.certificate.certificate; }
  [[nodiscard]] bool is_private() const;  // ε is finite
};

// `path` is a model (safetensors), an answer or a certificate (JSON).
[[nodiscard]] Result<Verdict> verify_file(const std::string& path);

// Checks that one of `trusted` has signed. A release that nobody signed claims no privacy and is left as it is, and so
// is everything if the list is empty.
[[nodiscard]] Result<void> verify_signer(Verdict& verdict, std::span<const Signer> trusted);
[[nodiscard]] Result<void> verify_signers(std::span<Verdict> verdicts, std::span<const Signer> trusted);

// Asks the ledger. The key of a ledger that the reader named is known from then on. A release that was never charged
// needs no payment and is left as it is.
[[nodiscard]] Result<void> verify_payment(Verdict& verdict, Ledger& ledger, LedgerIs ledger_is);
// Asks for all of them. The error of one among several names its file.
[[nodiscard]] Result<void> verify_payments(std::span<Verdict> verdicts, Ledger& ledger, LedgerIs ledger_is);

// Whether a ledger could say more: one of them was charged, and its ledger was not asked.
[[nodiscard]] bool awaits_ledger(std::span<const Verdict> verdicts);

// ε and δ with the neighbours that they are about. Requires a private release.
[[nodiscard]] std::string claim_of(const Verdict& verdict);

// The promise for people who know the law better than the mathematics.
[[nodiscard]] std::string meaning_of(const Verdict& verdict);

// "valid, by Cancer registry (3b6a…)", or that the key is unknown. `remedy` says how to name it; it may be empty.
[[nodiscard]] std::string signature_of(const Verdict& verdict, const std::string& remedy);

// What the training started from and whether that is counted; empty if it started from nothing.
[[nodiscard]] std::string start_of(const Verdict& verdict);

// What had looked at the rows without noise before the release was sealed, in words; empty if nothing had.
[[nodiscard]] std::string exposures_of(const Verdict& verdict);

// What was compared with the certificate: the content, or only the certificate itself.
[[nodiscard]] std::string coverage_of(const Verdict& verdict);

}  // namespace noisefloor
