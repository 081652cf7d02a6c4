#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/report/job_charts.h"
#include "noisefloor/summary/plan_summary.h"

namespace noisefloor::cli {
namespace {

// --- From numbers alone ----------------------------------------------------------------------------------------------

struct PlanNumbers {
  std::string rows;
  std::string epochs;
  std::string epsilon;
  std::string delta;
  std::string noise_multiplier;
  std::string batch_size;
  std::string rounds;
  std::string sizes;
  std::string growth = "0";
  std::string sampler = "poisson";
  std::string curve;  // prefix of the files with the trade-off
  bool paper = false;
  bool explain = false;

  // Whether any of them is given.
  [[nodiscard]] bool any() const {
    return !rows.empty() || !epochs.empty() || !epsilon.empty() || !delta.empty() || !noise_multiplier.empty() ||
           !batch_size.empty() || !rounds.empty() || !sizes.empty() || growth != "0" || sampler != "poisson" ||
           !curve.empty() || paper || explain;
  }
};

Result<void> read_epochs(const PlanNumbers& n, PlanQuestion& question) {
  if (n.sizes.empty()) {
    NF_TRY(question.epochs, parse_number("--epochs", n.epochs));
    return success();
  }
  if (!n.epochs.empty() || !n.batch_size.empty() || !n.rounds.empty() || n.growth != "0") {
    return invalid_argument(
        "--sizes says how many gradients there are: leave out --epochs, --batch-size, --rounds and --growth");
  }
  NF_TRY(question.sizes, parse_sample_sizes(n.sizes));
  question.epochs = epochs_of(*question.sizes, question.rows);
  return success();
}

Result<PlanQuestion> question_of(const PlanNumbers& n) {
  if (n.rows.empty() || (n.epochs.empty() && n.sizes.empty()) || (n.epsilon.empty() && n.noise_multiplier.empty())) {
    return invalid_argument(
        "give a training file, or --rows, --epochs (or --sizes) and --epsilon (or --noise-multiplier in the place of "
        "--epsilon)");
  }
  NF_TRY(const Rows rows, quantity<Rows>("--rows", n.rows));
  NF_TRY(const Delta usual, usual_delta(rows));
  NF_TRY(const std::optional<Delta> delta, optional_quantity<Delta>("--delta", n.delta));
  PlanQuestion question{.rows = rows, .epochs = 0, .delta = delta.value_or(usual)};
  NF_TRY_VOID(read_epochs(n, question));
  NF_TRY(question.epsilon, optional_quantity<Epsilon>("--epsilon", n.epsilon));
  NF_TRY(question.noise, optional_quantity<NoiseMultiplier>("--noise-multiplier", n.noise_multiplier));
  NF_TRY(question.batch, optional_quantity<Rows>("--batch-size", n.batch_size));
  NF_TRY(question.rounds, optional_quantity<Steps>("--rounds", n.rounds));
  NF_TRY(question.growth, parse_number("--growth", n.growth));
  NF_TRY(question.draw, parse_draw(n.sampler));
  question.mode = n.paper ? GammaMode::kPaper : GammaMode::kRoot;
  return question;
}

// A refusal that begins with the name of a number names its option; and without an epsilon there is one way out.
Error with_options(Error error, const PlanNumbers& n) {
  for (const char* name : {"epochs ", "delta ", "growth "}) {
    if (error.message.starts_with(name)) return {error.code, "--" + error.message};
  }
  if (n.epsilon.empty()) error.message += ". For the exact plan alone, give --epsilon";
  return error;
}

// Whether the theorems hold, in a sentence for those who do not ask.
std::string hint_of(const PlanAnswer& answer) {
  if (answer.verdicts() == nullptr) return "";
  return answer.verdicts()->apply()
             ? "Theorems 3.1 and B.4 of the paper apply: --explain shows their conditions."
             : "Not all conditions of the paper's theorems hold: --explain shows them. The exact plan stands.";
}

Result<Summary> plan_from_numbers(const PlanNumbers& numbers) {
  NF_TRY(const PlanQuestion question, question_of(numbers));
  Result<PlanAnswer> answered = answer_plan(question);
  if (!answered.has_value()) return with_options(std::move(answered).error(), numbers);
  const PlanAnswer& answer = answered.value();
  Summary summary = summary_of(question, answer, {numbers.explain, numbers.explain ? "" : hint_of(answer)});
  if (!numbers.curve.empty()) NF_TRY_VOID(add_trade_off(summary, question, answer.target, numbers.curve));
  return summary;
}

// --- Of a training file ----------------------------------------------------------------------------------------------

struct PlanTrainingOptions : LedgerAccess {
  std::string file;
  std::string output;
  std::string after;             // the folder of the phase before
  std::string noise_multiplier;  // of a next phase
  std::string threads;
  bool reserve = false;
  bool quiet = false;
  bool dry_run = false;
  CreateOption creating;
};

Result<PlanWish> wish_of(const PlanTrainingOptions& o, const TrainingFile& file) {
  PlanWish wish;
  wish.folder = o.output;
  wish.reserve = o.reserve;
  wish.unknown = o.creating.unknown();
  if (!o.after.empty()) {
    NF_TRY(wish.after, read_earlier_phase(o.after, file));
  } else if (!o.noise_multiplier.empty()) {
    return invalid_argument("--noise-multiplier is for a next phase (--after), or for a plan from numbers alone");
  }
  NF_TRY(wish.noise, optional_quantity<NoiseMultiplier>("--noise-multiplier", o.noise_multiplier));
  return wish;
}

// What is known before a utility graph is drawn; of a next phase, all of it.
Result<Summary> dry_run(const PlanTrainingOptions& o, const PlanJob& job) {
  std::optional<MadePlan> next_phase;
  if (job.follows_a_phase()) {
    NF_TRY(const UtilityChoice choice, job.choose({}));
    NF_TRY(next_phase, job.make(choice));
  }
  NF_TRY(Summary summary, cost_summary(job, next_phase));
  const PlanFile* reserved = o.reserve && next_phase ? &next_phase->plan : nullptr;
  NF_TRY_VOID(report_outlook(summary, o, job.file().training.privacy.budget,
                             [&](Ledger* ledger) { return job.outlook(ledger, reserved); }));
  return summary;
}

Result<Summary> plan_training(const PlanTrainingOptions& o) {
  NF_TRY(TrainingFile file, training_file_at(o.file));
  NF_TRY(Machine machine, machine_with(o.threads));
  NF_TRY(PlanWish wish, wish_of(o, file));
  NF_TRY(PlanJob job, PlanJob::prepare(std::move(file), std::move(wish), std::move(machine)));
  if (o.dry_run) return dry_run(o, job);
  const auto open_for = [&](bool charged, bool needed, const PlanFile* reserved) {
    return open_ledger_of(o, o.creating, job.file(), charged, needed,
                          [&](Ledger* l) { return job.outlook(l, reserved); });
  };
  NF_TRY(OpenedLedger opened, open_for(job.charges_for_graph(), job.needs_ledger(), nullptr));
  Console console(o.quiet);
  const JobControl control = console.control();
  Result<std::vector<UtilityCurve>> curves = job.draw_graph(opened.ledger.get(), control);
  if (!curves.has_value()) return console.explained(std::move(curves).error(), o.file);
  NF_TRY_VOID(draw_utility_graph(job, curves.value()));
  NF_TRY(const UtilityChoice choice, job.choose(curves.value()));
  NF_TRY(MadePlan made, job.make(choice));
  if (!opened.ledger) {
    NF_TRY(opened, open_for(true, true, o.reserve ? &made.plan : nullptr));
  }
  const Result<std::string> path = job.sign(made.plan, *opened.ledger, control);
  if (!path.has_value()) return console.explained(path.error(), o.file);
  return summary_of(job, {std::move(curves).value(), choice, std::move(made), path.value()},
                    fmt::format("Next: noisefloor train {} --plan {}", o.file, path.value()));
}

// --- Either ----------------------------------------------------------------------------------------------------------

struct PlanOptions {
  PlanNumbers numbers;
  PlanTrainingOptions training;
};

// --noise-multiplier is of either.
Result<Summary> run_plan(PlanOptions o) {
  if (o.training.file.empty()) return plan_from_numbers(o.numbers);
  std::swap(o.training.noise_multiplier, o.numbers.noise_multiplier);
  if (o.numbers.any()) {
    return invalid_argument(
        "with a training file the numbers come from it: leave out --rows, --epochs, --epsilon and the like");
  }
  return plan_training(o.training);
}

void declare_plan(CLI::App& command, PlanOptions& o) {
  PlanNumbers& n = o.numbers;
  PlanTrainingOptions& t = o.training;
  OptionGroup(command).optional("FILE", t.file,
                                "A training with a [plan] (docs/formats/training.md); or numbers alone");
  const OptionGroup numbers(command, "Numbers");
  numbers.optional("--rows", n.rows, "Rows of the data, N", "N");
  numbers.optional("--epochs", n.epochs, "Gradients in all, in epochs: K = epochs times rows", "K");
  numbers.optional("--epsilon", n.epsilon, "The epsilon to keep", "E");
  numbers.optional("--delta", n.delta, "At this delta (1/rows)", "D");
  numbers.optional("--noise-multiplier", n.noise_multiplier,
                   "This noise; in the place of --epsilon, which then follows from it", "S");
  numbers.optional("--batch-size", n.batch_size, "This batch: the least noise for it", "B");
  numbers.optional("--rounds", n.rounds, "So many rounds: the least noise for them", "T");
  numbers.optional("--sizes", n.sizes, "Batches one after the other, as SIZExROUNDS,…; in the place of --epochs",
                   "LIST");
  numbers.optional("--growth", n.growth, "Batches grow with this power of the round", "P");
  numbers.optional("--sampler", n.sampler,
                   "poisson, which the theorems assume, or fixed-size, at twice the sensitivity", "NAME");
  numbers.flag("--paper", n.paper, "As printed in the paper: one update of gamma, for comparison only");
  numbers.flag("--explain", n.explain, "Show the paper's theorems, condition by condition");
  numbers.optional("--curve", n.curve, "Write noise by batch size to PREFIX.csv and PREFIX.svg", "PREFIX");
  const OptionGroup training(command, "Training file");
  training.flag("--reserve", t.reserve, "Set the plan's cost aside in the ledger");
  training.optional("--after", t.after, "Plan the next phase, after the one trained into this folder", "DIR");
  training.optional("--output", t.output, "Folder for the plan and the utility graph (NAME-plan)", "DIR");
  training.optional("--threads", t.threads, "Threads (all cores)", "N");
  training.flag("--quiet", t.quiet, "No progress");
  training.flag("--dry-run", t.dry_run, kDryRunHelp);
  t.creating.add_to(command);
  t.add_to(command, true, true);
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  add_command<PlanOptions>(
      app, action, "plan", "Choose noise, batch and rounds before anything is spent",
      "--rows 60000 --epochs 6 --epsilon 0.15\n  noisefloor plan examples/training/fashion-plan.toml --create",
      declare_plan, run_plan);
}

}  // namespace noisefloor::cli
