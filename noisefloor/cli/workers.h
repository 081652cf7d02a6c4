// Several processes that train one model: `--workers K` starts the others on this machine, `--rendezvous HOST:PORT
// --rank R` joins those on other machines.
//
// What they say to each other is in training/worker_team.h, and training/worker_processes.h starts and ends them.
// Thread safety: none.
#pragma once

#include <memory>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/training/worker_processes.h"
#include "noisefloor/training/worker_team.h"

namespace CLI {
class App;
}

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
  // Starts the others if they are to run here, and meets them. One worker alone if the options say nothing of others.
  // May begin the program anew (torch_backend.h).
  [[nodiscard]] static Result<std::unique_ptr<Workers>> meet(const WorkerOptions& options);

  // All of them, as this one sees them; they must outlive it.
  [[nodiscard]] WorkerTeam team() { return WorkerTeam(group_.get(), here_); }

  // The error with the reason of a worker that this process started, where that says more.
  [[nodiscard]] Error explained(Error error);

 private:
  // In this order: the others end when they see the group closed.
  std::unique_ptr<WorkerProcesses> others_;  // null unless they were started here
  std::unique_ptr<WorkerGroup> group_;
  std::size_t here_ = 1;
};

}  // namespace noisefloor::cli
