// The one road to a release, which every capability travels: authorise, reserve, run, seal, commit, publish.
//
// Guarantee:     (1) Nothing is run, and so no noise is drawn, before the whole statement is reserved, durably; if the budget
//                does not allow for it, nothing is spent. (2) What was run is sealed under a signed certificate, kept where a
//                rerun finds it, committed by its digest, and only then published: what is public is in the ledger. (3) A run
//                that fails, is stopped or is killed counts as spent. (4) One key is one release. Asking again runs nothing
//                and returns the same bytes, which are committed and published first if they were not yet; an error says so
//                if they were lost before they were sealed.
// Requires:      draws noise only inside `run`.
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

// What was made, before it is sealed.
struct Draft {
  Certificate certificate;  // without a spend
  // The bytes to release, which hold the text of the certificate.
  std::function<std::string(const std::string& certificate)> with_certificate;
};

struct Sealed {
  std::string bytes;
  Certificate certificate;
  std::string signed_certificate;  // as the bytes hold it
};

[[nodiscard]] Sealed seal(Draft draft, std::optional<CertifiedSpend> spend, const Sign& sign);

struct ReleaseRequest {
  ReserveRequest spend;
  std::vector<std::uint64_t> earlier = {};  // reservations that paid for what it goes on from
  bool in_ledger = false;                   // the ledger keeps the bytes, for whoever asks again with the same key
  ReleaseReader reader = {};                // of the released file, unless it is a document
};

// The caller has already paid when this runs. The head of the ledger is not in `paid` yet.
using PaidRun = std::function<Result<Draft>(const CertifiedSpend& paid)>;

struct Released {
  Sealed release;
  bool again = false;  // made before, under the same key: nothing was run and nothing spent
};

[[nodiscard]] Result<Released> release_by(const ReleaseRequest& request, Ledger& ledger, Outlet& outlet,
                                          const PaidRun& run);

}  // namespace noisefloor
