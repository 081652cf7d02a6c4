// What had looked at the rows of a release without noise before it was sealed, from the record of the ledger that paid.
//
// Guarantee:     the list holds every exposure that the ledger recorded before `head`, of all datasets whose uses the
//                same budget pays for in the end: the dataset itself, those that share its rows, and parts of one
//                whole. It depends on entries before `head` alone, so that whoever verifies finds the same list.
// Errors:        kVerificationFailed if the ledger has no such budget.
// Thread safety: as the ledger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/certificate.h"

namespace noisefloor {

// `head`: how many entries the ledger had.
[[nodiscard]] Result<std::vector<CertifiedExposure>> exposures_before(Ledger& ledger, const std::string& budget,
                                                                      std::uint64_t head);

// kVerificationFailed unless the certificate names exactly these exposures. Requires a certificate that names a ledger.
[[nodiscard]] Result<void> expect_exposures(const Certificate& certificate, Ledger& ledger);

}  // namespace noisefloor
