#include "noisefloor/summary/pate_summary.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "noisefloor/base/text.h"
#include "noisefloor/report/html.h"
#include "noisefloor/summary/quality_summary.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// More public examples than anyone asks about: a plan is made before they are counted.
constexpr std::uint64_t kManyExamples = std::uint64_t{1} << 20;

std::string rules_line(const PateVotes& votes, std::size_t teachers) {
  std::string line =
      fmt::format("{} of {} teachers, noise {:g} votes", name_of(votes.aggregator), teachers, votes.noise.value());
  if (votes.threshold_noise) {
    line += fmt::format(", threshold {} with noise {:g}", votes.threshold, votes.threshold_noise->value());
  }
  if (votes.rounds > 1) line += fmt::format(", {} rounds", votes.rounds);
  return line;
}

std::string count_line(const PlannedVotes& planned, bool threshold) {
  const std::string answers =
      fmt::format("{} answers{}", planned.count.answers.value(), planned.calibrated ? " (the most that fit)" : "");
  return threshold ? fmt::format("at most {} to {} queries", answers, planned.count.queries.value()) : answers;
}

std::string epsilon_line(const Interval& epsilon, Delta delta, const TrainingPrivacy& privacy) {
  return fmt::format("{} at delta {}, {}, unit {}", shown_interval(epsilon.lower, epsilon.upper), shown(delta.value()),
                     name_of(privacy.adjacency), name_of(privacy.unit));
}

Json planned_json(const PlannedVotes& planned) {
  return {{"queries", planned.count.queries.value()},
          {"answers", planned.count.answers.value()},
          {"calibrated", planned.calibrated},
          {"epsilon", interval_json(planned.epsilon.lower, planned.epsilon.upper)}};
}

}  // namespace

std::string progress_line(const TeachingProgress& progress) {
  const auto left = static_cast<long>(std::ceil(progress.seconds_left));
  return fmt::format("{} of {} teachers have learned, {}:{:02} left", progress.taught, progress.teachers, left / 60,
                     left % 60);
}

Result<Summary> votes_plan_summary(const PateFile& file) {
  const Pate& pate = file.pate;
  const PateVotes& votes = pate.votes;
  const TrainingPrivacy& privacy = pate.teachers.privacy;
  const bool threshold = has_threshold(votes.aggregator);
  std::optional<DpEvent> beside;
  if (pate.sanitised) {
    NF_TRY(beside, sanitising_event({pate.sanitised->order, pate.sanitised->smoothness, pate.sanitised->noise,
                                     pate.sanitised->delta}));
  }
  const std::uint64_t pool = votes.queries ? votes.queries->value() : kManyExamples;
  NF_TRY(const PlannedVotes asked, plan_votes(votes, privacy.adjacency, pool, beside));
  Summary summary(fmt::format("How many answers {} can buy; nothing was read, spent or written", pate.teachers.name));
  summary.set("plan", true);
  summary.set("target_epsilon", votes.target_epsilon.value());
  summary.set("delta", votes.target_delta.value());
  summary.set("asked", planned_json(asked));
  summary.line("votes", rules_line(votes, pate.count));
  summary.line("the file asks for", count_line(asked, threshold));
  summary.line("epsilon", epsilon_line(asked.epsilon, votes.target_delta, privacy));
  Json table = Json::array();
  constexpr std::array kFactors{0.5, 0.75, 1.0, 1.5, 2.0, 3.0};
  for (const double factor : kFactors) {
    PateVotes other = votes;
    NF_TRY(other.noise, NoiseScale::make(votes.noise.value() * factor));
    other.answers.reset();
    if (!threshold) other.queries.reset();
    const Result<PlannedVotes> fits = plan_votes(other, privacy.adjacency, threshold ? pool : kManyExamples, beside);
    Json row{{"noise", other.noise.value()}};
    row["answers"] = fits.has_value() ? fits.value().count.answers.value() : 0;
    table.push_back(row);
    const std::uint64_t answers = fits.has_value() ? fits.value().count.answers.value() : 0;
    const bool all = threshold && fits.has_value() && answers == pool;
    summary.line(fmt::format("noise {:g}", other.noise.value()),
                 fits.has_value() ? fmt::format("{} answers fit{}", answers, all ? ": all queries" : "")
                                  : "not one answer fits");
  }
  summary.set("fits", table);
  summary.remark("More noise buys more answers, and needs teachers that agree by more votes.");
  return summary;
}

Summary cost_summary(const PateJob& job, const PateCost& cost) {
  const Pate& pate = job.pate();
  Summary summary(fmt::format("What the votes of {} would charge; nothing was spent or written", pate.teachers.name));
  summary.set("dry_run", true);
  summary.set("charged", true);
  summary.set("votes", planned_json(cost.votes));
  summary.set("epsilon", interval_json(cost.epsilon.lower, cost.epsilon.upper));
  summary.set("delta", cost.delta.value());
  summary.set("answer_epsilon", cost.answer_epsilon);
  if (cost.comparison_epsilon) summary.set("comparison_epsilon", *cost.comparison_epsilon);
  summary.set("public_examples", job.pool());
  summary.set("key", cost.spend.key);
  summary.line("votes", rules_line(pate.votes, pate.count));
  summary.line("charged for", count_line(cost.votes, has_threshold(pate.votes.aggregator)));
  summary.line("asked about", fmt::format("{} public examples", job.pool()));
  summary.line("epsilon", epsilon_line(cost.epsilon, cost.delta, pate.teachers.privacy));
  summary.line("one answer",
               fmt::format("epsilon {:.4g} alone{}", cost.answer_epsilon,
                           cost.comparison_epsilon ? fmt::format("; its comparison, {:.4g}, is charged for "
                                                                 "refused queries, too",
                                                                 *cost.comparison_epsilon)
                                                   : ""));
  summary.line("key", cost.spend.key);
  return summary;
}

Summary summary_of(const PateJob& job, const PateOutcome& outcome) {
  const Pate& pate = job.pate();
  const bool again = outcome.labels_again && outcome.student_again;
  Summary summary(fmt::format("{} of {} teachers{}", pate.teachers.name, pate.count,
                              again ? ": it was made before, and nothing was spent"
                              : outcome.labels_again
                                  ? ": a student of labels that were released before; nothing was spent"
                                  : ""));
  replace_json(summary, Json::parse(to_json(outcome, pate, job.plan().count)));
  summary.line("model", outcome.files.student.model());
  summary.line("certificate", outcome.files.student.certificate());
  summary.line("labels", outcome.files.labels());
  summary.line("epsilon", epsilon_line(outcome.student->epsilon, outcome.student->delta, pate.teachers.privacy));
  summary.line("votes", rules_line(pate.votes, pate.count));
  std::string asked = fmt::format("{} queries, {} answered, {} refused", outcome.asked, outcome.answered,
                                  outcome.asked - outcome.answered);
  if (outcome.own > 0) asked += fmt::format(" ({} of them labelled by the student)", outcome.own);
  summary.line("asked", asked);
  summary.line("charged for", count_line(job.plan(), has_threshold(pate.votes.aggregator)));
  if (outcome.sanitised) {
    summary.line("data-dependent", fmt::format("Rényi divergence {:.4f} at order {:g}, with noise: an estimate, not a "
                                               "bound",
                                               *outcome.sanitised, pate.sanitised->order));
  }
  summary.line("student", fmt::format("{}, {} parameters{}", name_of(pate.student.kind), outcome.parameters,
                                      outcome.student_agrees ? fmt::format(", agrees with {:.1f} % of the labels",
                                                                           100 * *outcome.student_agrees)
                                                             : ""));
  if (outcome.test) add_quality(summary, "test", *outcome.test, false);
  if (outcome.compared) {
    summary.line("compared", fmt::format("{}: accuracy {:.4f} at epsilon {:.4g}", shown(outcome.compared->name),
                                         outcome.compared->accuracy, outcome.compared->epsilon));
  }
  if (!outcome.labels_again) {
    summary.line("time", fmt::format("{:.1f} s for the teachers, {:.1f} s for the student", outcome.teaching_seconds,
                                     outcome.learning_seconds));
  }
  summary.line("private file", outcome.files.ballots());
  return summary;
}

void add_own_figures(Summary& summary, const OwnFigures& figures, const std::string& file) {
  summary.line("NOT FOR RELEASE", "the figures below follow from private rows without noise");
  summary.line("agreement",
               fmt::format("{:.1f} % of the teachers vote for the winning class, on average", 100 * figures.agreement));
  summary.line("data-dependent", fmt::format("epsilon {:.4f}; charged: {:.4f}", figures.data_dependent_epsilon,
                                             figures.data_independent_epsilon));
  summary.line("own figures", file);
  summary.set("own_figures", file);
}

}  // namespace noisefloor
