// Where a release goes, on the road of road.h.
//
// Thread safety: an outlet is used by one thread at a time.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct Sealed;

class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;

  // For messages.
  [[nodiscard]] virtual std::string name() const = 0;
  // Asked before anything is spent: whether it could be written.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  // What an earlier run put here, public or not yet; nothing if there is none.
  [[nodiscard]] virtual Result<std::optional<std::string>> kept() = 0;
  // Durable when it returns, and not public.
  [[nodiscard]] virtual Result<void> keep(const std::string& bytes) = 0;
  // Puts the release where people find it. Harmless if it is already there.
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

// Nowhere but the ledger: for an answer that its caller shows. Requires a request whose bytes the ledger keeps, since a rerun
// finds them there alone.
class LedgerOutlet final : public Outlet {
 public:
  [[nodiscard]] std::string name() const override { return "the ledger"; }
  [[nodiscard]] Result<void> prepare() override { return success(); }
  [[nodiscard]] Result<std::optional<std::string>> kept() override { return std::optional<std::string>{}; }
  [[nodiscard]] Result<void> keep(const std::string& /*bytes*/) override { return success(); }
  [[nodiscard]] Result<void> publish(const Sealed& /*release*/) override { return success(); }
};

// The usual place of the certificate of a document: "mean.certificate.json" for "mean.json".
[[nodiscard]] std::string certificate_beside(const std::string& path);

}  // namespace noisefloor
