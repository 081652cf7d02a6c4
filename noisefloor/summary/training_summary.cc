#include "noisefloor/summary/training_summary.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/base/text.h"
#include "noisefloor/report/html.h"
#include "noisefloor/summary/audit_summary.h"
#include "noisefloor/summary/quality_summary.h"
#include "noisefloor/summary/summary_json.h"
#include "noisefloor/training/exposing.h"

namespace noisefloor {
namespace {

std::string noise_line(const Noise& noise, const Training& training) {
  return fmt::format("{}, multiplier {:.6g}{}", training.descent.discrete_noise ? "discrete Gaussian" : "Gaussian",
                     noise.multiplier->value(), noise.calibrated ? " (calibrated)" : "");
}

std::string epsilon_line(const Interval& epsilon, Delta delta, const TrainingPrivacy& privacy) {
  return fmt::format("{} at delta {}, {}, unit {}", shown_interval(epsilon.lower, epsilon.upper), shown(delta.value()),
                     name_of(privacy.adjacency), name_of(privacy.unit));
}

std::string training_line(const Training& training, const RunNotes& notes) {
  const std::string rate =
      notes.again ? "" : fmt::format(", {:.1f} s, {:.0f} examples/s", notes.seconds, notes.examples_per_second);
  const std::string population =
      notes.people ? fmt::format("{} people", *notes.people) : fmt::format("{} examples", notes.examples.value_or(0));
  return fmt::format("{} steps of {} out of {}, {} parameters{}", notes.certificate->steps,
                     training.descent.batch_size.value(), population, notes.parameters, rate);
}

std::string in_words(const PlanVerdict& verdict) {
  const bool done = verdict.decision == PlanDecision::kDone;
  const char* what = done                                           ? ": done"
                     : verdict.decision == PlanDecision::kNextPhase ? ": a next phase, with less noise"
                                                                    : ", and this was the last phase: stop";
  return fmt::format("accuracy {:.4f} is {} {:g}{}", verdict.accuracy, done ? "at least" : "below",
                     verdict.target_accuracy, what);
}

std::string shown_time(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_line(const TrainingProgress& p, const std::optional<PublicQuality>& quality) {
  const std::string epsilon = std::isfinite(p.epsilon) ? fmt::format("epsilon {:.4f}", p.epsilon) : "not private";
  return fmt::format("step {}/{} ({} %), {}{}, {:.0f} examples/s, {} left", p.steps, p.planned,
                     100 * p.steps / p.planned,
                     quality ? fmt::format("{} loss {:.4f}, ", quality->examples, quality->quality.loss) : "", epsilon,
                     p.examples_per_second, shown_time(p.seconds_left));
}

Summary summary_of(const TrainingJob& job, const TrainingOutcome& outcome) {
  const Training& training = job.file().training;
  const RunNotes& notes = outcome.notes;
  const Certificate& certificate = *notes.certificate;
  Summary summary(fmt::format("Trained {}{}{}", training.name, outcome.stopped ? " (stopped early)" : "",
                              outcome.run.again ? " before: here it is again, and nothing was spent" : ""));
  replace_json(summary, nlohmann::ordered_json::parse(to_json(notes)));
  summary.line("model", notes.files.model());
  summary.line("certificate", notes.files.certificate());
  summary.line("epsilon", std::isfinite(certificate.epsilon.upper)
                              ? epsilon_line(certificate.epsilon, certificate.delta, training.privacy)
                              : "infinite: this model is NOT PRIVATE, and is for comparison only");
  if (notes.noise.multiplier) summary.line("noise", noise_line(notes.noise, training));
  if (outcome.run.audit) add_audit(summary, *outcome.run.audit);
  summary.line("training", training_line(training, notes));
  if (notes.validation) add_quality(summary, "validation", *notes.validation, notes.private_validation);
  if (notes.test) add_quality(summary, "test", *notes.test, notes.private_test);
  if (outcome.verdict) summary.line("target", in_words(*outcome.verdict));
  return summary;
}

Summary cost_summary(const TrainingJob& job, const TrainingCost& cost) {
  const Training& training = job.file().training;
  Summary summary(fmt::format("What training {} would charge; nothing was spent or written", training.name));
  summary.set("dry_run", true);
  summary.set("charged", cost.charged);
  summary.set("steps", cost.steps.value());
  const BatchSampler& sampler = job.session().sampler;
  summary.line("steps",
               fmt::format("{} of {} out of {} {}", cost.steps.value(), training.descent.batch_size.value(),
                           sampler.rows().value(), sampler.unit() == PrivacyUnit::kPerson ? "people" : "examples"));
  if (cost.noise.multiplier) {
    summary.set("noise_multiplier", cost.noise.multiplier->value());
    summary.line("noise", noise_line(cost.noise, training));
  }
  if (!cost.charged) {
    summary.line("epsilon", "infinite: this model would be NOT PRIVATE, and nothing would be charged");
    if (job.needs_ledger()) {
      summary.line("recorded",
                   "the ledger would record this look at private rows, and later certificates would name it");
    }
    return summary;
  }
  summary.set("epsilon", interval_json(cost.epsilon.lower, cost.epsilon.upper));
  summary.set("delta", cost.delta.value());
  summary.set("key", cost.spend.key);
  summary.line("epsilon", epsilon_line(cost.epsilon, cost.delta, training.privacy));
  summary.line("key", cost.spend.key);
  return summary;
}

Summary worker_summary(const TrainingJob& job, std::uint64_t steps) {
  const WorkerTeam& team = job.team();
  Summary summary(fmt::format("Worker {} of {} trained {}", team.rank(), team.size(), job.file().training.name));
  summary.set("worker", team.rank());
  summary.set("workers", team.size());
  summary.set("steps", steps);
  summary.line("steps", fmt::format("{}; the first worker has the model and the certificate", steps));
  return summary;
}

void add_outlook(Summary& summary, const Outlook& outlook, const std::string& budget, const std::string& place) {
  summary.set("budget", budget);
  summary.set("budget_exists", outlook.budget_is_there);
  summary.set("left", outlook.left);
  summary.set("asked_before", outlook.asked_before);
  summary.set("fits", outlook.fits);
  summary.line("budget", fmt::format("{}{} {}", budget, outlook.budget_is_there ? " in" : ", which would be made in",
                                     without_password(place)));
  summary.line("left", outlook.left);
  if (outlook.asked_before) summary.line("charge", "none: this was asked for before");
  summary.line("fits", outlook.fits ? "yes" : "NO: " + outlook.refusal);
  if (!outlook.fits) summary.fail_with(ErrorCode::kBudgetExhausted);
}

}  // namespace noisefloor
