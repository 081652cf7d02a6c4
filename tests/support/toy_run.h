// Runs of a training with three weights into folders, against a ledger of their own: what tests of reports and verdicts
// read.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/road.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/training/training_run.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::testing {

// Gradients that pull each weight towards 1.
class ToyGradients final : public GradientSource {
 public:
  [[nodiscard]] std::size_t examples() const override { return 100; }
  [[nodiscard]] std::size_t parameters() const override { return 3; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> rows, const ClipRule*,
                                        BitStream&, std::span<float> sum) override {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<float>(rows.size()) * (at[i] - 1) * 0.1F;
    return rows.size();
  }
};

class ToyRuns {
 public:
  ToyRuns() : ledger_(value_of(Ledger::create(path("ledger"), SigningKey::generate(), {}))) {
    expect_good(ledger_->create_budget(terms("trial", 5, 1e-3, Rule::kBasic)));
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] Ledger& ledger() { return *ledger_; }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Changes the last byte, which in a model is part of a weight.
  void damage(const std::string& name) const {
    std::string bytes = read(name);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write(name, bytes);
  }

  // Trains into a folder of this name, charged under the same key, and returns what was released. Without noise nothing
  // is charged. Batches hold all rows, so that ε is a closed formula and quick.
  Sealed train(const std::string& name, std::optional<double> noise = 20.0) {
    std::filesystem::create_directories(path(name));
    FileOutlet outlet(path(name) + "/model.safetensors", path(name) + "/certificate.json");
    DpSgd sgd = descent(noise);
    const RunTerms terms{"toy",
                         Steps::of(20),
                         Delta::of(1e-5),
                         "trial",
                         name,
                         R"({"batch_size":100,"clip":{"norm":1}})",
                         "1.2.3",
                         {},
                         {},
                         "that there are 100 rows"};
    if (noise) {
      SecureRandom random = value_of(SecureRandom::create());
      return value_of(train_privately(terms, sgd, random, *ledger_, named, {}, outlet)).release;
    }
    ReplayRandom random = value_of(ReplayRandom::create(1));
    return value_of(train_without_privacy(terms, sgd, random, named, {}, outlet)).release;
  }

 private:
  DpSgd descent(std::optional<double> noise) {
    DpSgd::Options options;
    if (noise) options.noise = NoiseMultiplier::make(*noise).value();
    options.clip = value_of(ClipRule::create(FlatClip{ClipNorm::of(1.0)}));
    options.learning_rate = {.initial = 0.5};
    return value_of(DpSgd::create(options,
                                  value_of(BatchSampler::poisson(Rows::of(100), Rows::of(100), Adjacency::kAddRemove)),
                                  source_, {0, 0, 0}));
  }
  static std::vector<NamedTensor> named(std::span<const float> weights) {
    return {{"weight", {weights.size()}, {weights.begin(), weights.end()}}};
  }

  TemporaryFolder folder_;
  ToyGradients source_;
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace noisefloor::testing
