// The other workers of a training that runs on this machine alone: processes of a program with a rank each, which find
// each other through a file in a folder of theirs.
//
// Guarantee:     no process outlives this object: each has ten seconds to end by itself, and is then killed. The folder
//                goes with them.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

class WorkerProcesses {
 public:
  // The arguments of the worker with this rank, its name first. `meeting` is the file where all of them meet.
  using Arguments = std::function<std::vector<std::string>(std::size_t rank, const std::string& meeting)>;

  // Starts the ranks 1 to size - 1.
  [[nodiscard]] static Result<std::unique_ptr<WorkerProcesses>> start(const std::string& program, std::size_t size,
                                                                      const Arguments& arguments);
  ~WorkerProcesses();
  WorkerProcesses(const WorkerProcesses&) = delete;
  WorkerProcesses& operator=(const WorkerProcesses&) = delete;

  [[nodiscard]] std::string meeting() const { return folder_ + "/meeting"; }

  // "worker 2: " and the last line that it wrote to standard error, of the first worker that says more than that
  // another one is gone. Waits half a second, as they end at about the same time.
  [[nodiscard]] std::optional<std::string> last_words() const;

 private:
  WorkerProcesses() = default;
  [[nodiscard]] std::string errors_of(std::size_t rank) const;

  std::string folder_;
  std::vector<int> processes_ = {};  // their ids, from rank 1
};

}  // namespace noisefloor
