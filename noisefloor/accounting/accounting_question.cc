#include "noisefloor/accounting/accounting_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr int kCurveSteps = 60;
constexpr double kLeastDelta = 1e-12;
constexpr double kLargestDelta = 0.1;

Result<void> expect_batch_and_rows(const StatedTraining& stated) {
  if (stated.batch && stated.rows) return success();
  return invalid_argument(stated.draw == Draw::kFixedSize
                              ? "batches of fixed size need a batch size and the number of rows"
                              : "a sampling rate is needed: give the rate, or a batch size and the number of rows");
}

Result<Steps> steps_of(const StatedTraining& stated, SamplingRate rate) {
  if (stated.steps && stated.epochs) return invalid_argument("give the steps or the epochs; not both");
  if (stated.steps) return *stated.steps;
  if (!stated.epochs) return invalid_argument("a number of steps is needed: give the steps or the epochs");
  return steps_for_epochs(*stated.epochs, rate);
}

Result<NoiseMultiplier> known(const std::optional<NoiseMultiplier>& noise) {
  if (!noise) return invalid_argument("a noise multiplier is needed where it is not what is looked for");
  return *noise;
}

std::vector<std::string> warnings_about(const PlannedRun& run) {
  std::vector<std::string> warnings;
  const double rate = run.law.rate().value();
  const auto steps = static_cast<double>(run.steps.value());
  if (rate * steps < 1) {
    warnings.push_back(fmt::format(
        "sample rate {:.4g} times {:.0f} steps is {:.3g}: fewer than one expected use of each record. Was a batch "
        "size or a number of epochs meant?",
        rate, steps, rate * steps));
  }
  if (rate > 0.5 && rate < 1) {
    warnings.push_back(
        fmt::format("a sample rate of {:.4g} takes most records in every step: there is little amplification. Was "
                    "batch / rows meant?",
                    rate));
  }
  return warnings;
}

std::vector<std::string> remarks_about(const PlannedRun& run) {
  return {run.law.draw() == Draw::kFixedSize
              ? "Batches are uniform subsets of a fixed size. The noise multiplier is sigma divided by the clip norm; "
                "exchanging one record can move the sum by two clip norms, and the event counts that."
              : "Each record joins each batch by its own coin. Batches cut from a shuffled list are NOT covered. The "
                "noise multiplier is sigma divided by the clip norm.",
          "It covers every step's gradient sum and all that is made of them. It does not cover choosing "
          "hyper-parameters on the same data, nor statistics computed on the side."};
}

template <class T>
SolutionLimit limit_of(const Calibrated<T>& best) {
  return {static_cast<double>(best.limit.value()), best.is_best()};
}

Result<SolvedTraining> noise_for(const Target& target, const StatedTraining& stated) {
  NF_TRY(const PlannedRun run, stated.run(target.adjacency));
  NF_TRY(const auto best, calibrate_noise(target, [&](NoiseMultiplier noise) { return run.event(noise); }));
  return SolvedTraining{run, best.value, best.epsilon, limit_of(best)};
}

Result<SolvedTraining> steps_for(const Target& target, const StatedTraining& stated, NoiseMultiplier noise) {
  NF_TRY(const BatchLaw law, stated.law(target.adjacency));
  NF_TRY(const auto best, calibrate_steps(target, [&](Steps steps) { return law.run(noise, steps); }));
  return SolvedTraining{{law, best.value}, noise, best.epsilon, limit_of(best)};
}

Result<SolvedTraining> rate_for(const Target& target, const StatedTraining& stated, NoiseMultiplier noise) {
  if (stated.draw != Draw::kPoisson) return invalid_argument("a sampling rate is looked for with Poisson batches only");
  if (!stated.steps) return invalid_argument("looking for a sampling rate needs the number of steps");
  NF_TRY(const auto best, calibrate_rate(target, [&](SamplingRate rate) {
           return BatchLaw::poisson(rate, target.adjacency).run(noise, *stated.steps);
         }));
  return SolvedTraining{
      {BatchLaw::poisson(best.value, target.adjacency), *stated.steps}, noise, best.epsilon, limit_of(best)};
}

Result<SolvedTraining> batch_for(const Target& target, const StatedTraining& stated, NoiseMultiplier noise) {
  if (!stated.steps) return invalid_argument("looking for a batch size needs the number of steps");
  if (!stated.rows) return invalid_argument("looking for a batch size needs the number of rows");
  // Whether such batches have an event at all.
  NF_TRY_VOID(BatchLaw::create(stated.draw, *stated.rows, Rows::of(1), target.adjacency));
  const auto law_of = [&](Rows batch) {
    return BatchLaw::create(stated.draw, *stated.rows, batch, target.adjacency).value();
  };
  NF_TRY(const auto best,
         calibrate_batch(target, *stated.rows, [&](Rows batch) { return law_of(batch).run(noise, *stated.steps); }));
  return SolvedTraining{{law_of(best.value), *stated.steps}, noise, best.epsilon, limit_of(best)};
}

}  // namespace

Result<Draw> parse_draw(std::string_view text) {
  for (const Draw draw : {Draw::kPoisson, Draw::kFixedSize}) {
    if (text == name_of(draw)) return draw;
  }
  if (text == "shuffled" || text == "shuffle") {
    return invalid_argument(
        "no valid bound is known for batches of a shuffled data set: they are not covered by Poisson accounting, which "
        "can be far too low for them (Chua et al. 2024). Sample by poisson or fixed-size, or account for a sampling "
        "rate of 1");
  }
  return invalid_argument(fmt::format("batches are drawn by poisson or fixed-size; got {}", shown(text)));
}

Result<BatchLaw> StatedTraining::law(Adjacency adjacency) const {
  if (rate && batch) return invalid_argument("give a sampling rate, or a batch size and the number of rows; not both");
  if (rate && draw == Draw::kPoisson) return BatchLaw::poisson(*rate, adjacency);
  NF_TRY_VOID(expect_batch_and_rows(*this));
  return BatchLaw::create(draw, *rows, *batch, adjacency);
}

Result<PlannedRun> StatedTraining::run(Adjacency adjacency) const {
  NF_TRY(const BatchLaw drawn, law(adjacency));
  NF_TRY(const Steps count, steps_of(*this, drawn.rate()));
  return PlannedRun{drawn, count};
}

DpEvent repeated_noise(QueryNoise kind, NoiseMultiplier noise, Steps count) {
  if (kind == QueryNoise::kGaussian) return SelfComposedEvent{count, GaussianEvent{noise}};
  return SelfComposedEvent{count, LaplaceEvent{noise}};
}

AccountQuestion question_about(const PlannedRun& run, NoiseMultiplier noise, PrivacyUnit unit) {
  return {{run.law.adjacency(), unit, run.event(noise)},
          std::string(name_of(run.law.draw())),
          warnings_about(run),
          remarks_about(run),
          {{"sample_rate", run.law.rate().value()}, {"noise_multiplier", noise.value()}, {"steps", run.steps.value()}}};
}

AccountQuestion question_about(QueryNoise kind, NoiseMultiplier noise, Steps count, Adjacency adjacency,
                               PrivacyUnit unit) {
  return {{adjacency, unit, repeated_noise(kind, noise, count)},
          "none",
          {},
          {kind == QueryNoise::kGaussian
               ? "The noise multiplier is sigma divided by the L2 sensitivity under these neighbours."
               : "The noise multiplier is the Laplace scale divided by the L1 sensitivity: each is 1/multiplier-DP."},
          {{"noise_multiplier", noise.value()}, {"count", count.value()}}};
}

AccountQuestion question_about(RandomizedResponseEvent response, Steps count, Adjacency adjacency, PrivacyUnit unit) {
  return {{adjacency, unit, SelfComposedEvent{count, response}},
          "none",
          {},
          {"All answers of one person together, seen by anyone: the local model, without shuffling."},
          {{"local_epsilon", response.epsilon.value()},
           {"categories", response.categories.value()},
           {"count", count.value()}}};
}

AccountQuestion question_about(DpStatement recorded) {
  return {std::move(recorded),
          "as the events say",
          {},
          {"The events are taken as they are: whether they describe what was run, they cannot tell."}};
}

std::string meaning_of(const DpStatement& statement, double epsilon) {
  return fmt::format(
      "It says: {} one {}, no outcome becomes more than e^{:.4g} = {:.4g} times as likely, but for outcomes of "
      "probability delta.",
      statement.adjacency == Adjacency::kAddRemove ? "by adding or removing" : "by exchanging", name_of(statement.unit),
      epsilon, std::exp(epsilon));
}

Result<SolvedTraining> solve_training(const Target& target, const StatedTraining& stated,
                                      std::optional<NoiseMultiplier> noise, SolveFor unknown) {
  if (unknown == SolveFor::kNoise) return noise_for(target, stated);
  NF_TRY(const NoiseMultiplier given, known(noise));
  if (unknown == SolveFor::kSteps) return steps_for(target, stated, given);
  return unknown == SolveFor::kRate ? rate_for(target, stated, given) : batch_for(target, stated, given);
}

Result<SolvedQueries> solve_noise(const Target& target, QueryNoise kind, Steps count) {
  NF_TRY(const auto best,
         calibrate_noise(target, [&](NoiseMultiplier noise) { return repeated_noise(kind, noise, count); }));
  return SolvedQueries{best.value, count, best.epsilon, limit_of(best)};
}

Result<SolvedQueries> solve_count(const Target& target, QueryNoise kind, NoiseMultiplier noise) {
  NF_TRY(const auto best, calibrate_steps(target, [&](Steps count) { return repeated_noise(kind, noise, count); }));
  return SolvedQueries{noise, best.value, best.epsilon, limit_of(best)};
}

std::vector<EpsilonPoint> epsilon_curve(const DpEvent& event, Adjacency adjacency) {
  std::vector<EpsilonPoint> points;
  const double decades = std::log10(kLargestDelta / kLeastDelta);
  for (int i = 0; i <= kCurveSteps; ++i) {
    const double share = static_cast<double>(i) / kCurveSteps;
    const double delta = std::min(kLargestDelta, kLeastDelta * std::pow(10.0, decades * share));
    const Result<Interval> epsilon = pld_epsilon(event, adjacency, Delta::make(delta).value());
    if (epsilon.has_value() && std::isfinite(epsilon.value().upper)) points.push_back({delta, epsilon.value()});
  }
  return points;
}

}  // namespace noisefloor
