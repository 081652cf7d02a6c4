#include "noisefloor/cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/torch_backend.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

std::atomic<bool> stop_asked = false;

void ask_to_stop(int signal) {
  stop_asked = true;
  (void)std::signal(signal, SIG_DFL);
}

std::string shown_time(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string as_text(const TrainingProgress& p, const std::optional<PublicQuality>& quality) {
  const std::string epsilon = std::isfinite(p.epsilon) ? fmt::format("epsilon {:.4f}", p.epsilon) : "not private";
  return fmt::format("step {}/{} ({} %), {}{}, {:.0f} examples/s, {} left", p.steps, p.planned,
                     100 * p.steps / p.planned,
                     quality ? fmt::format("{} loss {:.4f}, ", quality->examples, quality->quality.loss) : "", epsilon,
                     p.examples_per_second, shown_time(p.seconds_left));
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
  if (quiet_) return;
  const bool last = p.steps == p.planned;
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{}{}", title_, as_text(p, quality), last ? "\n" : "");
  } else if (last || p.seconds >= next_) {
    fmt::print(stderr, "{}{}\n", title_, as_text(p, quality));
    next_ = p.seconds + 10;
  }
}

void Console::note(const std::string& text) {
  if (!quiet_) fmt::print(stderr, "{}\n", text);
}

void Console::warning(const std::string& text) { fmt::print(stderr, "warning: {}\n", text); }

Error Console::explained(Error error, const std::string& file) const {
  if (conflict_ && conflict_->kind == DatasetConflict::Kind::kOtherDataset) {
    error.message += fmt::format(". To let it spend from the budget of {0}: noisefloor dataset add {1} --same-as {0}",
                                 noisefloor::shown(conflict_->owner), noisefloor::shown(file));
  }
  if (checkpoint_.empty()) return error;
  error.message += fmt::format(". A run that was cut short left a checkpoint: go on from it with --resume {}",
                               noisefloor::shown(checkpoint_));
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
  command.add_flag("--create", create, "Add the dataset, its budget and the ledger where they are missing")
      ->group("Ledger");
}

Result<OpenedLedger> open_to_pay(const LedgerAccess& access, const CreateOption& option, const TrainingFile& file,
                                 const AskOutlook& outlook) {
  const TrainingPrivacy& privacy = file.training.privacy;
  const auto refusal = [&](const char* what) {
    return invalid_argument(fmt::format(
        "there is no {}; this would make the budget {} with epsilon {:g}, delta {:g}. Run `noisefloor dataset add {}` "
        "first, or give --create. Nothing was spent",
        what, noisefloor::shown(privacy.budget), privacy.epsilon.value(), privacy.delta.value(), file.location));
  };
  if (!ledger_is_there(access)) {
    NF_TRY(const Outlook anew, outlook(nullptr));
    NF_TRY_VOID(expect_fits(anew));
    if (!option.create) return refusal("ledger");
    return open_or_create(access);
  }
  NF_TRY(OpenedLedger opened, open_or_create(access));
  NF_TRY(const Outlook there, outlook(opened.ledger.get()));
  if (there.makes_budget && !option.create) return refusal("such budget");
  return opened;
}

Result<void> report_outlook(Report& report, const LedgerAccess& access, const std::string& budget,
                            const AskOutlook& outlook) {
  std::unique_ptr<Ledger> ledger;
  if (ledger_is_there(access)) {
    NF_TRY(ledger, open_to_read(access));
  }
  NF_TRY(const Outlook found, outlook(ledger.get()));
  report.set("budget", budget);
  report.set("budget_exists", found.budget_is_there);
  report.set("left", found.left);
  report.set("asked_before", found.asked_before);
  report.set("fits", found.fits);
  report.line("budget", found.budget_is_there
                            ? fmt::format("{} in {}", budget, location_of(access))
                            : fmt::format("{}, which would be made in {}", budget, location_of(access)));
  report.line("left", found.left);
  if (found.asked_before) report.line("charge", "none: this was asked for before");
  report.line("fits", found.fits ? "yes" : "NO: " + found.refusal);
  if (!found.fits) report.exit_with(exit_code(ErrorCode::kBudgetExhausted));
  return success();
}

void add_report_page(Report& report, const std::string& folder, const LedgerAtHand& at_hand) {
  const std::string page = try_to_write_report(folder, at_hand);
  if (page.empty()) return;
  report.set("report", page);
  report.line("report", page);
}

}  // namespace noisefloor::cli
