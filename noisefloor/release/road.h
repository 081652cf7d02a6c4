// The one procedure for releases, which every capability follows: authorise, reserve, run, seal, commit, publish.
//
// Guarantee:     (1) Nothing is run, and so no noise is drawn, before the whole statement is reserved, durably; if the
//                budget does not allow for it, nothing is spent. (2) The result of the run is sealed under a signed
//                certificate, kept where a rerun finds it, committed by its digest, and only then published: everything
//                public is in the ledger. (3) A run that fails, is stopped or is killed counts as spent. (4) One key is
//                one release. Asking again runs nothing and returns the same bytes, which are first committed and
//                published if they were not yet; if they were lost before they were sealed, an error says so.
// Requires:      the caller draws noise only inside `run`.
// Thread safety: as the ledger's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/release/outlet.h"
#include "noisefloor/release/release_reader.h"

namespace noisefloor {

// A result before it is sealed.
struct Draft {
  Certificate certificate;  // has no spend yet
  // Returns the bytes to release, with the text of the certificate inside.
  std::function<std::string(const std::string& certificate)> with_certificate;
};

struct Sealed {
  std::string bytes;
  Certificate certificate;
  std::string signed_certificate;  // the same text as in the bytes
};

// Signs with the key that the ledger was opened with, as long as it is open. kInvalidArgument if it is open for reading
// only.
[[nodiscard]] Result<Sign> sign_by(Ledger& ledger);

[[nodiscard]] Sealed seal(Draft draft, std::optional<CertifiedSpend> spend, const Sign& sign);

struct ReleaseRequest {
  ReserveRequest spend;
  std::vector<std::uint64_t> earlier = {};  // reservations that paid for the state it continues from
  bool in_ledger = false;                   // the ledger keeps the bytes, for callers who ask again with the same key
  ReleaseReader reader = {};                // reader of the released file, unless it is a document
};

// The caller has already paid when this runs. The head of the ledger is not in `paid` yet.
using PaidRun = std::function<Result<Draft>(const CertifiedSpend& paid)>;

struct Released {
  Sealed release;
  bool again = false;  // made before, under the same key: nothing was run or spent
};

[[nodiscard]] Result<Released> release_by(const ReleaseRequest& request, Ledger& ledger, Outlet& outlet,
                                          const PaidRun& run);

}  // namespace noisefloor
