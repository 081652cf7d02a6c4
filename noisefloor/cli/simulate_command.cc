#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "noisefloor/cli/console.h"
#include "noisefloor/report/simulation_report.h"
#include "noisefloor/summary/simulation_summary.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

constexpr std::uint64_t kLinesOfARun = 10;  // in the live table

struct SimulateOptions {
  std::string file;
  std::string output;
  std::string threads;
  bool quiet = false;
  bool dry_run = false;
  bool no_files = false;
};

Result<Summary> run_simulation(const SimulateOptions& o) {
  NF_TRY(const Machine machine, machine_with(o.threads));
  NF_TRY(SimulationJob job, SimulationJob::prepare(o.file, {o.output, !o.no_files}, machine));
  if (o.dry_run) return outline_of(job);
  Console console(o.quiet);
  std::optional<std::pair<std::size_t, std::uint64_t>> shown;
  const auto observe = [&](std::size_t method, std::uint64_t seed, const federated::SimulatedRound& round) {
    if (shown != std::pair{method, seed}) {
      shown = {method, seed};
      console.note(run_heading(job, method, seed));
      console.note(round_heading());
    }
    const std::uint64_t rounds = job.file().methods[method].options.rounds;
    const std::uint64_t each = std::max<std::uint64_t>(1, rounds / kLinesOfARun);
    if (round.quality && (round.round % each == 0 || round.round >= rounds)) console.note(round_line(round));
  };
  NF_TRY(const std::vector<SimulatedRun> runs, job.run(console.control(), observe));
  if (!o.no_files) NF_TRY_VOID(draw_simulation(job, runs, std::string("noisefloor ") + NOISEFLOOR_VERSION));
  return summary_of(job, runs);
}

}  // namespace

void add_simulate_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, SimulateOptions& o) {
    const OptionGroup options(command);
    const OptionGroup output(command, "Output");
    options.required("FILE", o.file, "The simulation as TOML (docs/formats/simulation.md)");
    output.optional("--output", o.output, "Folder for table, picture and report (NAME-simulation)", "DIR");
    output.flag("--no-files", o.no_files, "Write no files");
    output.flag("--quiet", o.quiet, "No live table");
    options.flag("--dry-run", o.dry_run, "Say who has how many rows; simulate and write nothing");
    options.optional("--threads", o.threads, "Threads (all cores); the results do not depend on it", "N");
  };
  add_command<SimulateOptions>(app, action, "simulate", "Compare federated strategies on simulated sites",
                               "examples/hospitals/hospitals.toml", declare, run_simulation);
}

}  // namespace noisefloor::cli
