// The place that a release is written to, in the procedure of road.h.
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

  // The name of the place, for messages.
  [[nodiscard]] virtual std::string name() const = 0;
  // Called before anything is spent. Fails if the outlet could not be written.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  // The bytes that an earlier run put here, published or not; nothing if there are none.
  [[nodiscard]] virtual Result<std::optional<std::string>> kept() = 0;
  // Stores the bytes without publishing them. They are durable when this returns.
  [[nodiscard]] virtual Result<void> keep(const std::string& bytes) = 0;
  // Puts the release where people find it. Harmless if it is already there.
  [[nodiscard]] virtual Result<void> publish(const Sealed& release) = 0;
};

// A file, with its certificate beside it. Until it is published, it is named FILE.sealed.
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

// Writes nowhere: for an answer that the caller shows. Requires a request whose bytes the ledger keeps, because a rerun
// finds them only there.
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
