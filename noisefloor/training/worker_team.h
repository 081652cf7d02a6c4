// The workers that train one model, as one of them sees the others: agreement before the start, the start signal, and
// votes to stop.
//
// Guarantee:     no worker draws noise before the first one has given the start signal, which it does once the budget
//                is reserved; all of them stop after the same step, whichever asks for it.
// Requires:      every worker makes the same calls in the same order.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/worker_group.h"

namespace noisefloor {

class WorkerTeam {
 public:
  // One worker alone.
  WorkerTeam() = default;
  // The workers of a group, which must outlive the team; `here` of them share this machine. A null group means one
  // worker alone.
  explicit WorkerTeam(WorkerGroup* group, std::size_t here = 1) : group_(group), here_(here) {}

  [[nodiscard]] WorkerGroup* group() const { return group_; }  // null for one worker alone
  [[nodiscard]] bool alone() const { return size() == 1; }
  [[nodiscard]] std::size_t rank() const { return group_ != nullptr ? group_->rank() : 0; }
  [[nodiscard]] std::size_t size() const { return group_ != nullptr ? group_->size() : 1; }
  [[nodiscard]] std::size_t on_this_machine() const { return here_; }
  // Only the first worker touches the ledger and writes files.
  [[nodiscard]] bool leads() const { return rank() == 0; }

  // Fails on every worker unless all were started for the same training on the same data.
  [[nodiscard]] Result<void> expect_same(std::string_view statement) const;
  // The first worker lets the others begin; the others wait for that.
  [[nodiscard]] Result<void> begin() const;
  // Whether any worker wants to stop. All workers call this after each step.
  [[nodiscard]] bool stop(bool wanted) const;
  // The part of any worker except the first: makes `steps` steps, or fewer if stopped.
  template <class Random>
  [[nodiscard]] Result<void> follow(DpSgd& sgd, Random& random, std::uint64_t steps,
                                    const std::function<bool()>& wants_to_stop) const {
    NF_TRY_VOID(begin());
    while (sgd.steps() < steps) {
      NF_TRY_VOID(sgd.step(random));
      if (stop(wants_to_stop && wants_to_stop())) break;
    }
    return success();
  }

 private:
  WorkerGroup* group_ = nullptr;
  std::size_t here_ = 1;
};

}  // namespace noisefloor
