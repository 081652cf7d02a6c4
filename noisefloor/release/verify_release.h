// Verifies that a release is what its certificate says, and that a ledger has paid for it.
//
// Guarantee:     a file that passes holds what its certificate is about, an ε that follows from its events, and the
//                signature that it names; with a ledger, the member who made its reservations or an owner signed it,
//                its history holds the reservations and the head that the certificate names, they were made for this
//                kind of release (or nobody said what they were for), the certificate states exactly what was reserved
//                (paid_statement.h) and names every earlier exposure of the same rows (exposures.h), and the file that
//                was committed there is this one, byte for byte.
// Thread safety: as the ledger.
#pragma once

#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/release/release_reader.h"

namespace noisefloor {

struct VerifiedRelease {
  SignedCertificate certificate;
  std::string certificate_text;
  bool has_content = false;  // false for a certificate alone
  Digest digest{};           // digest of all bytes
};

// Takes a document or a certificate (JSON), or a file of the kind that `reader` reads. kInputData if the bytes are none
// of them, or have no certificate; kVerificationFailed with the reason.
[[nodiscard]] Result<VerifiedRelease> verify_release(std::string_view bytes, const ReleaseReader& reader = {});

// Requires a certificate that names a ledger (refused otherwise).
[[nodiscard]] Result<void> verify_in_ledger(const VerifiedRelease& release, Ledger& ledger);

// "the analyst 'ann' of", for a release that verify_in_ledger() accepts; empty on a ledger that has no roles.
[[nodiscard]] Result<std::string> signer_in_ledger(const VerifiedRelease& release, Ledger& ledger);

}  // namespace noisefloor
