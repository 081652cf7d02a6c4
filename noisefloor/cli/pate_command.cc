#include <fmt/format.h>

#include <string>
#include <utility>

#include "noisefloor/base/input.h"
#include "noisefloor/base/process.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/report_page.h"
#include "noisefloor/pate/pate_job.h"
#include "noisefloor/report/run_folder.h"
#include "noisefloor/summary/page_summary.h"
#include "noisefloor/summary/pate_summary.h"

namespace noisefloor::cli {
namespace {

struct PateOptions : LedgerAccess {
  std::string file;
  std::string output;
  std::string key;
  std::string threads;
  std::string compare;
  bool quiet = false;
  bool no_report = false;
  bool plan = false;
  bool dry_run = false;
  bool wipe = false;
  bool own_figures = false;
  CreateOption creating;
};

Result<PateFile> pate_file_at(const std::string& path) {
  if (path != "-") return read_pate_file(path);
  NF_TRY(std::string text, read_text(path));
  return parse_pate_file(std::move(text), path);
}

Result<void> expect_one_mode(const PateOptions& o) {
  const int modes = (o.plan ? 1 : 0) + (o.dry_run ? 1 : 0) + (o.wipe ? 1 : 0) + (o.own_figures ? 1 : 0);
  if (modes <= 1) return success();
  return invalid_argument("--plan, --dry-run, --wipe and --own-figures are different things: give one of them");
}

Result<Summary> wipe(const PateFiles& files) {
  NF_TRY(const bool ballots, wipe_ballots(files.ballots()));
  std::error_code ignored;
  const bool figures = std::filesystem::remove(files.own_figures(), ignored);
  Summary summary(ballots || figures ? "Wiped what teachers have left behind" : "There was nothing to wipe");
  summary.set("wiped", ballots || figures);
  if (ballots) summary.line("ballots", files.ballots());
  if (figures) summary.line("own figures", files.own_figures());
  summary.remark("Copies that a file system, a disk or a backup has kept are not reached.");
  return summary;
}

std::string command_of(const PateOptions& o) {
  std::string command = "noisefloor pate " + shell_word(o.file);
  const bool is_address = o.ledger.find("://") != std::string::npos;
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"--key", o.key},
                                    {"--output", o.output},
                                    {"--ledger", is_address ? "" : without_password(o.ledger)}}) {
    if (!value.empty()) command += fmt::format(" {} {}", name, shell_word(value));
  }
  return command;
}

// The figures of another run, from its verified certificate and its notes.
Result<std::optional<ComparedModel>> compared_with(const std::string& folder) {
  if (folder.empty()) return std::optional<ComparedModel>{};
  NF_TRY(const RunFolder run, read_run_folder(folder));
  for (const NotedQuality& quality : run.notes.quality) {
    if (quality.data != "test" || !quality.accuracy) continue;
    const Certificate& certificate = run.verdict.certificate();
    return std::optional(ComparedModel{certificate.name, certificate.epsilon.upper, *quality.accuracy});
  }
  return invalid_argument(fmt::format("{} has no accuracy on test rows to compare with", shown(folder)));
}

Result<Summary> run_job(const PateOptions& o, PateJob& job, Ledger& ledger) {
  Console console(o.quiet);
  Result<PateOutcome> made =
      job.run(ledger, console.control(),
              {.teaching =
                   [&](const TeachingProgress& progress) {
                     console.show(progress_line(progress), progress.seconds, progress.taught == progress.teachers);
                   }},
              command_of(o));
  if (!made.has_value()) return console.explained(std::move(made).error(), o.file);
  Summary summary = summary_of(job, made.value());
  if (!o.no_report) {
    add_report_page(summary, try_to_write_report(job.files().student.folder.string(), &ledger, location_of(o)));
  }
  summary.remark(fmt::format("Keep the private file inside your organisation, or wipe it: {} --wipe", command_of(o)));
  return summary;
}

Result<Summary> run_pate(const PateOptions& o) {
  NF_TRY_VOID(expect_one_mode(o));
  NF_TRY(PateFile file, pate_file_at(o.file));
  if (o.plan) return votes_plan_summary(file);
  if (o.wipe) return wipe(files_of(file.pate, o.output));
  NF_TRY(const std::optional<ComparedModel> compare, compared_with(o.compare));
  NF_TRY(const Machine machine, machine_with(o.threads));
  NF_TRY(PateJob job, PateJob::prepare(std::move(file), {o.output, o.key, o.creating.unknown(), compare}, machine));
  NF_TRY(const PateCost cost, job.cost());
  if (o.dry_run) {
    Summary summary = cost_summary(job, cost);
    NF_TRY_VOID(report_outlook(summary, o, cost.spend.budget, [&](Ledger* ledger) { return job.outlook(ledger); }));
    return summary;
  }
  NF_TRY(const OpenedLedger opened, open_ledger_of(o, o.creating, job.file().teachers, true, true,
                                                   [&](Ledger* ledger) { return job.outlook(ledger); }));
  if (o.own_figures) {
    NF_TRY(const OwnFigures figures, job.own_figures(*opened.ledger));
    Summary summary(fmt::format("How the teachers of {} vote", job.pate().teachers.name));
    add_own_figures(summary, figures, job.files().own_figures());
    return summary;
  }
  return run_job(o, job, *opened.ledger);
}

}  // namespace

void add_pate_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, PateOptions& o) {
    const OptionGroup options(command);
    const OptionGroup output(command, "Output");
    const OptionGroup teachers(command, "Teachers");
    options.required("FILE", o.file, "Private data, teachers, votes and student as TOML (docs/formats/pate.md)");
    options.flag("--plan", o.plan, "Say how many answers fit, with more noise and with less; read no rows");
    options.flag("--dry-run", o.dry_run, kDryRunHelp);
    output.optional("--output", o.output, "Folder for labels, student and ballots (its name)", "DIR");
    output.optional("--compare", o.compare, "A run of `train` on the same data, whose figures stand beside these",
                    "DIR");
    output.flag("--quiet", o.quiet, "No progress");
    output.flag("--no-report", o.no_report, "Write no report.html");
    o.creating.add_to(command);
    OptionGroup(command, "Ledger")
        .optional("--key", o.key, "Of the votes in the ledger; one key votes once (its name)", "KEY");
    options.optional("--threads", o.threads, "Threads (all cores)", "N");
    teachers.flag("--wipe", o.wipe, "Overwrite and remove the private file with the teachers' votes");
    teachers.flag("--own-figures", o.own_figures,
                  "For the custodian alone: how teachers agree, without noise; the ledger records it");
    o.add_to(command, true, true);
  };
  add_command<PateOptions>(app, action, "pate", "Teachers on private shards vote on public examples; a student learns",
                           "examples/pate/fashion.toml --create", declare, run_pate);
}

}  // namespace noisefloor::cli
