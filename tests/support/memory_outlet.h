// Where tests release to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/release/road.h"

namespace noisefloor::testing {

class MemoryOutlet final : public Outlet {
 public:
  [[nodiscard]] std::string name() const override { return "memory"; }
  [[nodiscard]] Result<void> prepare() override { return success(); }
  [[nodiscard]] Result<std::optional<std::string>> kept() override { return std::optional<std::string>{}; }
  [[nodiscard]] Result<void> keep(const std::string&) override { return success(); }
  [[nodiscard]] Result<void> publish(const Sealed& release) override {
    if (no_room) return io_error("no room");
    published.push_back(release.bytes);
    return success();
  }

  std::vector<std::string> published;
  bool no_room = false;
};

}  // namespace noisefloor::testing
