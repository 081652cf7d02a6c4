// Several processes that train one model: `--workers K` starts the others on this machine, `--rendezvous HOST:PORT --rank R` joins
// those on other machines.
//
// Only the first touches the ledger and writes files. The others wait for its go, which it gives when the budget is
// reserved, and follow it step by step; whoever is asked to stop stops all of them after the same step.
// Thread safety: none.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/worker_group.h"

namespace noisefloor::cli {

struct WorkerOptions {
  std::string workers;
  std::string rendezvous;
  std::string rank;
  std::string worker_timeout;

  void add_to(CLI::App& command);
  [[nodiscard]] bool stated() const { return !workers.empty() || !rendezvous.empty() || !rank.empty(); }
};

class Workers {
 public:
  // Starts the others if they are to run here, and meets them. One worker alone if the options say nothing of others. May
  // begin the program anew (torch_backend.h).
  [[nodiscard]] static Result<std::unique_ptr<Workers>> meet(const WorkerOptions& options);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] WorkerGroup* group() { return group_.get(); }  // null for one alone
  [[nodiscard]] std::size_t rank() const { return group_ ? group_->rank() : 0; }
  [[nodiscard]] std::size_t size() const { return group_ ? group_->size() : 1; }
  [[nodiscard]] std::size_t on_this_machine() const { return here_; }
  [[nodiscard]] bool leads() const { return rank() == 0; }

  // Refuses, everywhere, unless all were started for the same training on the same data.
  [[nodiscard]] Result<void> expect_same(std::string_view statement);
  // Of the first: lets the others begin. Of the others: waits for that.
  [[nodiscard]] Result<void> begin();
  // Whether anyone wants to stop; asked by all after each step.
  [[nodiscard]] bool stop(bool wanted);
  // What another than the first does: `steps` of them, or until stopped.
  template <class Random>
  [[nodiscard]] Result<void> follow(DpSgd& sgd, Random& random, std::uint64_t steps,
                                    const std::function<bool()>& wants_to_stop) {
    NF_TRY_VOID(begin());
    while (sgd.steps() < steps) {
      NF_TRY_VOID(sgd.step(random));
      if (stop(wants_to_stop())) break;
    }
    return success();
  }

  // The error with the reason of a worker that this process started, where that says more.
  [[nodiscard]] Error explained(Error error);

 private:
  Workers() = default;
  [[nodiscard]] Result<void> start_others(std::size_t size);

  std::unique_ptr<WorkerGroup> group_;
  std::size_t here_ = 1;
  std::string folder_;               // of workers that were started here
  std::vector<int> processes_ = {};  // their ids
};

}  // namespace noisefloor::cli
