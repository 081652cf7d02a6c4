// An engine that is opened when it is needed: a question that was answered before needs none.
//
// Internal to query/.
#pragma once

#include <memory>
#include <utility>

#include "noisefloor/engine/source.h"

namespace noisefloor::query {

// Internal to query/.
class LazyEngine final : public engine::Engine {
 public:
  explicit LazyEngine(engine::Source source) : source_(std::move(source)) {}

  // Opens it now, so that what is wrong is found before anything is spent.
  [[nodiscard]] Result<void> open() {
    if (engine_ == nullptr) {
      NF_TRY(engine_, engine::open_engine(source_));
    }
    return success();
  }

  [[nodiscard]] std::string name() const override { return engine_ == nullptr ? "" : engine_->name(); }
  [[nodiscard]] Result<std::vector<engine::CatalogueTable>> catalogue() override {
    NF_TRY_VOID(open());
    return engine_->catalogue();
  }
  [[nodiscard]] Result<engine::Measured> measure(const engine::Measurement& measurement) override {
    NF_TRY_VOID(open());
    return engine_->measure(measurement);
  }
  [[nodiscard]] Result<std::vector<std::string>> explain(const engine::Measurement& measurement) override {
    NF_TRY_VOID(open());
    return engine_->explain(measurement);
  }
  [[nodiscard]] Result<void> read_rows(const std::string& table, const engine::TakeRow& take) override {
    NF_TRY_VOID(open());
    return engine_->read_rows(table, take);
  }

 private:
  engine::Source source_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace noisefloor::query
