#include "noisefloor/cli/workers.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/options.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/shell/command_words.h"

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

// This worker and those it meets, as the options have it.
Result<Meeting> meeting_of(const WorkerOptions& o) {
  Meeting meeting{o.rendezvous, false, 0, 1, std::chrono::seconds(kTimeout)};
  if (!o.workers.empty()) {
    NF_TRY(meeting.size, count_in("--workers", o.workers, 1, kMostWorkers));
  }
  if (o.rendezvous.empty() != o.rank.empty() || (!o.rank.empty() && o.workers.empty())) {
    return invalid_argument(
        "workers on several machines need all of --workers, --rendezvous and --rank; on this machine alone --workers");
  }
  if (!o.worker_timeout.empty()) {
    NF_TRY(const std::uint64_t seconds, count_in("--worker-timeout", o.worker_timeout, 1, 86'400));
    meeting.timeout = std::chrono::seconds(seconds);
  }
  if (!o.rank.empty()) {
    NF_TRY(meeting.rank, count_in("--rank", o.rank, 0, meeting.size - 1));
  }
  if (meeting.place.starts_with(kFilePrefix)) {
    meeting.place.erase(0, kFilePrefix.size());
    meeting.is_file = true;
  }
  return meeting;
}

// The same program with the same arguments and a rank.
std::vector<std::string> arguments_of(std::size_t rank, const std::string& meeting) {
  std::vector<std::string> arguments = own_arguments();
  for (const std::string& more :
       {std::string("--rendezvous"), std::string(kFilePrefix) + meeting, std::string("--rank"), std::to_string(rank)}) {
    arguments.push_back(more);
  }
  return arguments;
}

}  // namespace

void WorkerOptions::add_to(CLI::App& command) {
  const OptionGroup group(command, "Workers");
  group.optional("--workers", workers, "Processes that train together, each on its part of the rows (1)", "K");
  group.optional("--rendezvous", rendezvous, "Where workers on several machines meet: the first listens there",
                 "HOST:PORT");
  group.optional("--rank", rank, "Which of them this is, from 0; only 0 spends and writes", "R");
  group.optional("--worker-timeout", worker_timeout, "How long to wait for the others (300)", "SECONDS");
}

Result<std::unique_ptr<Workers>> Workers::meet(const WorkerOptions& options) {
  NF_TRY(Meeting meeting, meeting_of(options));
  auto workers = std::make_unique<Workers>();
  if (meeting.size == 1 && options.rendezvous.empty()) return workers;
  NF_TRY(const TorchBackend* backend, require_torch("a training with several workers"));
  if (options.rendezvous.empty()) {
    NF_TRY(workers->others_, WorkerProcesses::start("/proc/self/exe", meeting.size, arguments_of));
    meeting.place = workers->others_->meeting();
    meeting.is_file = true;
  }
  if (meeting.is_file) workers->here_ = meeting.size;
  Result<std::unique_ptr<WorkerGroup>> group = backend->meet(meeting);
  if (!group.has_value()) return workers->explained(std::move(group).error());
  workers->group_ = std::move(group).value();
  return workers;
}

Error Workers::explained(Error error) {
  if (error.code != ErrorCode::kProtocol || !others_) return error;
  group_.reset();
  if (const std::optional<std::string> words = others_->last_words()) error.message = *words;
  return error;
}

}  // namespace noisefloor::cli
