#include "noisefloor/cli/workers.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/torch_backend.h"

namespace noisefloor::cli {
namespace {

constexpr std::uint64_t kMostWorkers = 1024;
constexpr std::uint64_t kTimeout = 300;
constexpr std::string_view kFilePrefix = "file:";  // of a place that a worker was started with

Result<std::uint64_t> count_in(const char* name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  NF_TRY(const std::uint64_t count, parse_count(name, text));
  if (count < least || count > most) {
    return invalid_argument(fmt::format("{} must be {} to {}; got {}", name, least, most, count));
  }
  return count;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void WorkerOptions::add_to(CLI::App& command) {
  command.add_option("--workers", workers, "Processes that train together, each on its part of the rows (1)")
      ->type_name("K")
      ->group("Workers");
  command.add_option("--rendezvous", rendezvous, "Where workers on several machines meet: the first listens there")
      ->type_name("HOST:PORT")
      ->group("Workers");
  command.add_option("--rank", rank, "Which of them this is, from 0; only 0 spends and writes")
      ->type_name("R")
      ->group("Workers");
  command.add_option("--worker-timeout", worker_timeout, "How long to wait for the others (300)")
      ->type_name("SECONDS")
      ->group("Workers");
}

Result<std::unique_ptr<Workers>> Workers::meet(const WorkerOptions& options) {
  std::unique_ptr<Workers> workers(new Workers());  // NOLINT: private constructor
  std::uint64_t size = 1;
  if (!options.workers.empty()) {
    NF_TRY(size, count_in("--workers", options.workers, 1, kMostWorkers));
  }
  if (options.rendezvous.empty() != options.rank.empty() || (!options.rank.empty() && options.workers.empty())) {
    return invalid_argument(
        "workers on several machines need all of --workers, --rendezvous and --rank; on this machine alone --workers");
  }
  if (size == 1 && options.rendezvous.empty()) return workers;
  Meeting meeting{options.rendezvous, false, 0, size, std::chrono::seconds(kTimeout)};
  if (!options.worker_timeout.empty()) {
    NF_TRY(const std::uint64_t seconds, count_in("--worker-timeout", options.worker_timeout, 1, 86'400));
    meeting.timeout = std::chrono::seconds(seconds);
  }
  if (!options.rank.empty()) {
    NF_TRY(meeting.rank, count_in("--rank", options.rank, 0, size - 1));
  }
  NF_TRY(const TorchBackend* backend, require_torch("a training with several workers"));
  if (options.rendezvous.empty()) {
    NF_TRY_VOID(workers->start_others(size));
    meeting.place = workers->folder_ + "/meeting";
    meeting.is_file = true;
  } else if (meeting.place.starts_with(kFilePrefix)) {
    meeting.place.erase(0, kFilePrefix.size());
    meeting.is_file = true;
  }
  if (meeting.is_file) workers->here_ = size;
  Result<std::unique_ptr<WorkerGroup>> group = backend->meet(meeting);
  if (!group.has_value()) return workers->explained(std::move(group).error());
  workers->group_ = std::move(group).value();
  return workers;
}

// The same program with the same arguments and a rank. What it prints goes into files.
Result<void> Workers::start_others(std::size_t size) {
  std::string folder = (std::filesystem::temp_directory_path() / "noisefloor_workers_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return io_error("no folder for the workers could be made");
  folder_ = folder;
  for (std::size_t rank = 1; rank < size; ++rank) {
    std::vector<std::string> arguments = own_arguments();
    for (const std::string& more : {std::string("--rendezvous"), std::string(kFilePrefix) + folder_ + "/meeting",
                                    std::string("--rank"), std::to_string(rank)}) {
      arguments.push_back(more);
    }
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const std::string errors = fmt::format("{}/{}.err", folder_, rank);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT, 0600);
    pid_t process = 0;
    const int failed = ::posix_spawn(&process, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return io_error(fmt::format("worker {} could not be started", rank));
    processes_.push_back(process);
  }
  return success();
}

Workers::~Workers() {
  group_.reset();  // they end when they see it closed
  for (const int process : processes_) {
    int status = 0;
    for (int i = 0; i < 100 && ::waitpid(process, &status, WNOHANG) == 0; ++i) {
      if (i == 99) {
        ::kill(process, SIGKILL);
        ::waitpid(process, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Error Workers::explained(Error error) {
  if (error.code != ErrorCode::kProtocol) return error;
  group_.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(processes_.empty() ? 0 : 500));
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    std::string why = text_of(fmt::format("{}/{}.err", folder_, i + 1));
    if (why.empty() || why.find("a worker is gone") != std::string::npos) continue;
    while (why.ends_with('\n')) why.pop_back();
    return {error.code, fmt::format("worker {}: {}", i + 1, why.substr(why.rfind('\n') + 1))};
  }
  return error;
}

}  // namespace noisefloor::cli
