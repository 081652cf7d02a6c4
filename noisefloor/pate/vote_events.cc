#include "noisefloor/pate/vote_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

DpEvent one_integer(NoiseScale noise) {
  return DiscreteGaussianEvent{noise, Contributors::of(1), L1Sensitivity::of(1), L2Sensitivity::of(1),
                               Dimension::of(1)};
}

}  // namespace

DpEvent comparison_event(NoiseScale noise) { return one_integer(noise); }

Result<DpEvent> answer_event(Aggregator aggregator, NoiseScale noise) {
  if (aggregator == Aggregator::kLnMax) return DpEvent(DiscreteLaplaceEvent{noise, L1Sensitivity::of(2)});
  return DpEvent(SelfComposedEvent{Steps::of(2), one_integer(noise)});
}

Result<DpEvent> votes_event(const PateVotes& votes, const VoteCount& count) {
  if (count.answers > count.queries) {
    return invalid_argument(
        fmt::format("{} answers cannot be given to {} queries", count.answers.value(), count.queries.value()));
  }
  NF_TRY(DpEvent answer, answer_event(votes.aggregator, votes.noise));
  DpEvent answers = SelfComposedEvent{count.answers, std::move(answer)};
  if (!has_threshold(votes.aggregator)) return answers;
  if (!votes.threshold_noise) return invalid_argument("a threshold needs noise of its own");
  return DpEvent(
      ComposedEvent{{SelfComposedEvent{count.queries, comparison_event(*votes.threshold_noise)}, std::move(answers)}});
}

Result<PlannedVotes> plan_votes(const PateVotes& votes, Adjacency adjacency, std::uint64_t pool,
                                const std::optional<DpEvent>& beside) {
  const bool threshold = has_threshold(votes.aggregator);
  const std::uint64_t most = std::min(pool, votes.queries ? votes.queries->value() : pool);
  if (most == 0) return invalid_argument("there are no public examples to ask about");
  if (votes.queries && votes.queries->value() > pool) {
    return invalid_argument(fmt::format("queries = {} are asked about {} public examples: give at most so many",
                                        votes.queries->value(), pool));
  }
  const auto cost_of = [&](std::uint64_t answers) -> Result<Interval> {
    NF_TRY(const Steps given, Steps::make(answers));
    NF_TRY(const Steps asked, Steps::make(threshold ? most : answers));
    NF_TRY(DpEvent event, votes_event(votes, {asked, given}));
    if (beside) event = ComposedEvent{{std::move(event), *beside}};
    return pld_epsilon(event, adjacency, votes.target_delta);
  };
  const auto planned = [&](std::uint64_t answers, bool calibrated) -> Result<PlannedVotes> {
    NF_TRY(const Interval epsilon, cost_of(answers));
    if (epsilon.upper > votes.target_epsilon.value()) {
      return budget_exhausted(
          fmt::format("{} answers to {} queries cost epsilon {:.6g} at delta {}, and the target is {:g}: ask for "
                      "fewer, or with more "
                      "noise",
                      answers, threshold ? most : answers, epsilon.upper, votes.target_delta.value(),
                      votes.target_epsilon.value()));
    }
    return PlannedVotes{
        {Steps::make(threshold ? most : answers).value(), Steps::make(answers).value()}, epsilon, calibrated};
  };
  if (votes.answers) return planned(votes.answers->value(), false);
  if (!threshold && votes.queries) return planned(most, false);
  NF_TRY(const Interval one, cost_of(1));
  if (one.upper > votes.target_epsilon.value()) return planned(1, true);
  Result<Interval> failed = one;
  const auto fits = [&](std::uint64_t answers) {
    const Result<Interval> epsilon = cost_of(answers);
    if (!epsilon.has_value()) failed = epsilon.error();
    return epsilon.has_value() && epsilon.value().upper <= votes.target_epsilon.value();
  };
  const std::uint64_t answers = fits(most) ? most : bisect_counts({1, most}, fits).holds;
  if (!failed.has_value()) return failed.error();
  return planned(answers, true);
}

}  // namespace noisefloor
