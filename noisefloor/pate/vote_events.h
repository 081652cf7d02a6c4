// What an ensemble's answers cost, whatever its votes are; and how many answers fit a target.
//
// Guarantee:     the event dominates all that is released of the votes: with a threshold, one comparison for each query
//                that may be asked; and one noised arg-max for each answer that may be given. Both numbers are fixed
//                beforehand, so the event holds for questions that depend on earlier answers, and for asking that stops
//                early; it is the same however many queries come to be answered.
// Requires:      one unit's data are part of one teacher's shard, so that a unit changes one vote (shards.h); noise is
//                drawn for each query anew, in whole votes. Then one count loses a vote and another wins one, which is
//                two answers on the integers that each move by 1; and the largest count moves by 1 at most. This holds
//                for both neighbouring relations.
// Exact:         discrete Gaussians on single integers compose exactly (pld.h), without Rényi orders.
// Thread safety: pure functions.
#pragma once

#include <optional>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/config/pate.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// How many queries are asked, and how many are answered, at most.
struct VoteCount {
  Steps queries;
  Steps answers;  // at most `queries`
  friend bool operator==(const VoteCount&, const VoteCount&) = default;
};

// One comparison of the largest count with a threshold.
[[nodiscard]] DpEvent comparison_event(NoiseScale noise);
// One noised arg-max.
[[nodiscard]] Result<DpEvent> answer_event(Aggregator aggregator, NoiseScale noise);
// All of it. kInvalidArgument for a threshold without its noise, or more answers than queries.
[[nodiscard]] Result<DpEvent> votes_event(const PateVotes& votes, const VoteCount& count);

struct PlannedVotes {
  VoteCount count;
  Interval epsilon;  // certified, at the target's delta
  bool calibrated;   // the number of answers was found here, and is the largest that fits
};

// The queries and answers that the file asks for, or the most that keep its target: without a threshold as many answers
// as fit, with one as many answers as fit beside the comparisons of all queries. `pool` is how many examples there are
// to ask about, `beside` what else the target pays for. kBudgetExhausted if that is not enough, or not for one answer.
[[nodiscard]] Result<PlannedVotes> plan_votes(const PateVotes& votes, Adjacency adjacency, std::uint64_t pool,
                                              const std::optional<DpEvent>& beside = std::nullopt);

}  // namespace noisefloor
