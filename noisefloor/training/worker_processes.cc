#include "noisefloor/training/worker_processes.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "noisefloor/base/file.h"
#include "noisefloor/base/process.h"

namespace noisefloor {
namespace {

constexpr std::chrono::milliseconds kToEnd(10'000);
constexpr std::chrono::milliseconds kToSpeak(500);
constexpr std::size_t kMostWords = std::size_t{1} << 20;
constexpr const char* kAnotherIsGone = "a worker is gone";  // torch/c10d_group.cc says so

}  // namespace

std::string WorkerProcesses::errors_of(std::size_t rank) const { return fmt::format("{}/{}.err", folder_, rank); }

Result<std::unique_ptr<WorkerProcesses>> WorkerProcesses::start(const std::string& program, std::size_t size,
                                                                const Arguments& arguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "noisefloor_workers_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return io_error("no folder for the workers could be made");
  std::unique_ptr<WorkerProcesses> workers(new WorkerProcesses());  // NOLINT: private constructor
  workers->folder_ = folder;
  for (std::size_t rank = 1; rank < size; ++rank) {
    const Result<int> process = start_process({.program = program,
                                               .arguments = arguments(rank, workers->meeting()),
                                               .folder = {},
                                               .output = "/dev/null",
                                               .errors = workers->errors_of(rank)});
    if (!process.has_value()) return io_error(fmt::format("worker {} could not be started", rank));
    workers->processes_.push_back(process.value());
  }
  return workers;
}

WorkerProcesses::~WorkerProcesses() {
  for (const int process : processes_) end_process(process, kToEnd);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::optional<std::string> WorkerProcesses::last_words() const {
  std::this_thread::sleep_for(processes_.empty() ? std::chrono::milliseconds(0) : kToSpeak);
  for (std::size_t rank = 1; rank <= processes_.size(); ++rank) {
    const Result<std::string> read = read_file(errors_of(rank), kMostWords);
    std::string why = read.has_value() ? read.value() : "";
    while (why.ends_with('\n')) why.pop_back();
    if (why.empty() || why.find(kAnotherIsGone) != std::string::npos) continue;
    return fmt::format("worker {}: {}", rank, why.substr(why.rfind('\n') + 1));
  }
  return std::nullopt;
}

}  // namespace noisefloor
