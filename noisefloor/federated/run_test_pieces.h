// A run of a few sites with known keys, for tests.
//
// Internal to federated/'s tests.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "noisefloor/federated/coordinator.h"
#include "noisefloor/federated/site.h"

namespace noisefloor::federated::internal {

inline SigningKey test_key(std::uint8_t number) {
  std::array<std::uint8_t, 32> seed{};
  seed[0] = number;
  return SigningKey::from_seed(seed);
}

// A run of `sites` sites; the key of site i is test_key(i), and that of the coordinator test_key(255).
inline RunSpec test_spec(std::uint8_t sites, std::size_t parameters, StrategyKind strategy = StrategyKind::kFedAvg) {
  RunSpec spec;
  spec.run[0] = 42;
  spec.coordinator = test_key(255).public_key();
  for (std::uint8_t site = 0; site < sites; ++site) spec.sites.push_back(test_key(site).public_key());
  spec.strategy.kind = strategy;
  spec.upload.strategy = strategy;
  spec.upload.parameters = parameters;
  spec.upload.total_weight = sites;
  spec.rounds = 2;
  spec.minimum_cohort = 1;
  return spec;
}

class TestBudget final : public RoundBudget {
 public:
  [[nodiscard]] Result<BudgetAnswer> reserve(const std::string& key, const DpStatement& /*statement*/) override {
    asked.push_back(key);
    if (failing) return io_error("the ledger's disk is full: make room");
    if (granted.count(key) > 0) return BudgetAnswer::kBegunBefore;
    if (granted.size() >= limit) return BudgetAnswer::kExhausted;
    granted.insert(key);
    return BudgetAnswer::kGranted;
  }
  std::set<std::string> granted;
  std::vector<std::string> asked;
  std::size_t limit = 1000;
  bool failing = false;
};

// Sends the same lanes each time, and counts its calls.
class TestWork final : public LocalWork {
 public:
  explicit TestWork(std::vector<float> lanes) : lanes_(std::move(lanes)) {}
  [[nodiscard]] Result<Contribution> contribute(const RoundTask& task, BitStream& /*stream*/) override {
    ++calls;
    owns.emplace_back(task.own.begin(), task.own.end());
    if (failing) return internal_error("the descent failed");
    return Contribution{lanes_, {static_cast<std::uint8_t>(task.round)}};
  }
  int calls = 0;
  bool failing = false;
  std::vector<std::vector<std::uint8_t>> owns;  // that it was given

 private:
  std::vector<float> lanes_;
};

inline void apply(const Effects& effects, Stored& disk) {
  for (const Write& write : effects.writes) {
    if (write.value) {
      disk[write.key] = *write.value;
    } else {
      disk.erase(write.key);
    }
  }
}

}  // namespace noisefloor::federated::internal
