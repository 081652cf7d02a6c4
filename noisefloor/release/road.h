// The one road to a release, which every capability travels: authorise, reserve, run, seal, commit, publish.
//
// Guarantee:     (1) Nothing is run, and so no noise is drawn, before the whole statement is reserved, durably; if the budget
//                does not allow for it, nothing is spent. (2) What was run is sealed under a signed certificate, kept where a
//                rerun finds it, committed by its digest, and only then published: what is public is in the ledger. (3) A run
//                that fails, is stopped or is killed counts as spent. (4) One key is one release. Asking again runs nothing: what
//                was sealed is committed and published, if it was not yet, and is the same, byte for byte; if it was lost before it
//                was sealed, that is said.
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

// Where a release goes.
class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // Asked before anything is spent: whether it could be written.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  // What an earlier run put here, public or not yet; nothing if there is none.
  [[nodiscard]] virtual Result<std::optional<std::string>> kept() = 0;
  // Durable when it returns, and not public.
  [[nodiscard]] virtual Result<void> keep(const std::string& bytes) = 0;
  // Puts it where people find it. Harmless if it is there.
  [[nodiscard]] virtual Result<void> publish(const Sealed& release) = 0;
};

// A file, and beside it its certificate. Until it is public it is FILE.sealed.
class FileOutlet final : public Outlet {
 public:
  FileOutlet(std::string path, std::string certificate_path);
  [[nodiscard]] std::string name() const override { return path_; }
  [[nodiscard]] Result<void> prepare() override;
  [[nodiscard]] Result<std::optional<std::string>> kept() override;
  [[nodiscard]] Result<void> keep(const std::string& bytes) override;
  [[nodiscard]] Result<void> publish(const Sealed& release) override;

 private:
  std::string path_;
  std::string sealed_path_;
  std::string certificate_path_;
};

struct ReleaseRequest {
  ReserveRequest spend;
  std::vector<std::uint64_t> earlier = {};  // reservations that paid for what it goes on from
  bool in_ledger = false;                   // the ledger keeps the bytes, for whoever asks again with the same key
};

// Is paid for when it is called. The head of the ledger is not in `paid` yet.
using PaidRun = std::function<Result<Draft>(const CertifiedSpend& paid)>;

struct Released {
  Sealed release;
  bool again = false;  // made before, under the same key: nothing was run and nothing spent
};

[[nodiscard]] Result<Released> release_by(const ReleaseRequest& request, Ledger& ledger, Outlet& outlet,
                                          const PaidRun& run);

}  // namespace noisefloor
