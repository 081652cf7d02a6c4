#include "noisefloor/cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include "noisefloor/base/input.h"
#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/described.h"
#include "noisefloor/cli/options.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/summary/training_summary.h"
#include "noisefloor/training/payer.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

std::atomic<bool> stop_asked = false;

void ask_to_stop(int signal) {
  stop_asked = true;
  (void)std::signal(signal, SIG_DFL);
}

}  // namespace

Console::Console(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

JobControl Console::control() {
  (void)std::signal(SIGINT, ask_to_stop);
  (void)std::signal(SIGTERM, ask_to_stop);
  return {this, [] { return stop_asked.load(); }};
}

void Console::begin(const std::string& title) {
  title_ = title;
  next_ = 0;
}

void Console::progress(const TrainingProgress& p, const std::optional<PublicQuality>& quality) {
  show(title_ + progress_line(p, quality), p.seconds, p.steps == p.planned);
}

void Console::show(const std::string& line, double seconds, bool last) {
  if (quiet_) return;
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{}", printable(line), last ? "\n" : "");
  } else if (last || seconds >= next_) {
    fmt::print(stderr, "{}\n", printable(line));
    next_ = seconds + 10;
  }
}

void Console::note(const std::string& text) {
  if (!quiet_) fmt::print(stderr, "{}\n", printable(text));
}

void Console::warning(const std::string& text) { fmt::print(stderr, "warning: {}\n", printable(text)); }

Error Console::explained(Error error, const std::string& file) const {
  error = with_remedy(std::move(error), conflict_, file);
  if (checkpoint_.empty()) return error;
  error.message +=
      fmt::format(". A run that was cut short left a checkpoint: go on from it with --resume {}", shown(checkpoint_));
  return error;
}

Result<TrainingFile> training_file_at(const std::string& path) {
  if (path != "-") return read_training_file(path);
  NF_TRY(std::string text, read_text(path));
  return parse_training_file(std::move(text), path);
}

Result<std::uint64_t> parse_seed(const std::string& text) { return parse_count("--replay-seed", text); }

Result<Machine> machine_with(const std::string& threads) {
  Machine machine{std::max<std::size_t>(1, std::thread::hardware_concurrency()), require_torch, NOISEFLOOR_VERSION};
  if (threads.empty()) return machine;
  NF_TRY(const std::uint64_t count, parse_count("--threads", threads));
  if (count < 1 || count > 1024) return invalid_argument(fmt::format("--threads must be 1 to 1024; got {}", count));
  machine.threads = static_cast<std::size_t>(count);
  return machine;
}

void CreateOption::add_to(CLI::App& command) {
  OptionGroup(command, "Ledger")
      .flag("--create", create, "Add the dataset, its budget and the ledger where they are missing");
}

Result<OpenedLedger> open_ledger_of(const LedgerAccess& access, const CreateOption& option, const TrainingFile& file,
                                    bool charged, bool needed, const AskOutlook& outlook) {
  if (!charged && !(needed && option.create)) {
    return ledger_is_there(access) ? open_or_create(access) : Result<OpenedLedger>(OpenedLedger{});
  }
  return open_to_pay(access, option.create, budget_of(file.training.privacy), file.location, outlook);
}

Result<void> report_outlook(Summary& summary, const LedgerAccess& access, const std::string& budget,
                            const AskOutlook& outlook) {
  NF_TRY(const Outlook found, outlook_at(access, outlook));
  add_outlook(summary, found, budget, location_of(access));
  return success();
}

}  // namespace noisefloor::cli
