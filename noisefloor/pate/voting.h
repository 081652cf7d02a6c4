// Teachers answer queries about public examples: what is released of their votes.
//
// Guarantee:     of the counts of each query, only what votes_event() states is released: one comparison of the largest
//                count with the threshold, and one noised arg-max if the comparison lets it be answered; each with
//                fresh noise in whole votes, from exact samplers. No query is compared or answered once the numbers
//                that were planned are used up. Counts that do not add up to the same number of teachers are refused.
// Ties:          of equal noised counts the first class wins.
// Requires:      one unit's data changed one teacher (shards.h), whose vote is one of the counts (ballots.h). What a
//                student predicts follows from released labels and public examples alone.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/pate/smooth_sensitivity.h"
#include "noisefloor/pate/vote_events.h"
#include "noisefloor/release/question.h"

namespace noisefloor {

enum class LabelSource : std::uint8_t {
  kTeachers,
  kStudent,  // its own, where it is confident and the teachers do not disagree: costs the comparison
  kNone,     // no answer
};
[[nodiscard]] std::string_view name_of(LabelSource source);  // "teachers", "student", "none"

struct QueryAnswer {
  LabelSource source = LabelSource::kNone;
  std::int32_t label = 0;  // 0 if nobody gave one
  friend bool operator==(const QueryAnswer&, const QueryAnswer&) = default;
};

// What a student predicts for a query: a probability for each class.
using Prediction = std::vector<float>;

// Predicts queries first … last − 1 after so many answers; nothing, or an empty list, while there is nothing to learn
// from. It sees what was released, and nothing else.
using Predictor = std::function<Result<std::vector<Prediction>>(std::span<const QueryAnswer> so_far, std::size_t first,
                                                                std::size_t last)>;

// The votes of a number of queries, in the order in which they are asked.
struct Poll {
  std::vector<Votes> votes;
  std::size_t teachers = 0;
  Predictor predict = {};  // for the interactive aggregator
};

// Answers queries in their order until the planned comparisons or answers are used up: queries after that have no
// entry. In several rounds each round has an equal part of the queries, and of the answers what its turn allows for; a
// round begins with new predictions.
template <RandomSource Source>
[[nodiscard]] Result<std::vector<QueryAnswer>> answer_queries(const Poll& poll, const PateVotes& rules,
                                                              const VoteCount& count, Source& source);

extern template Result<std::vector<QueryAnswer>> answer_queries(const Poll&, const PateVotes&, const VoteCount&,
                                                                SecureRandom&);
extern template Result<std::vector<QueryAnswer>> answer_queries(const Poll&, const PateVotes&, const VoteCount&,
                                                                ReplayRandom&);

// All that one release of votes is about, in public terms.
struct VoteTerms {
  PateVotes rules;
  VoteCount count;
  std::optional<Sanitising> sanitised = {};
  Adjacency adjacency;
  PrivacyUnit unit;
  std::vector<std::uint64_t> queries;  // which public examples are asked about, by their numbers, in this order
  std::vector<std::string> classes;    // their names
  std::size_t teachers;
  std::string configuration;  // a JSON object: all that distinguishes this release from others
  std::string data;           // what is taken as public, in words
};

// What all of it costs. It does not depend on the votes.
[[nodiscard]] Result<DpStatement> votes_statement(const VoteTerms& terms);

// The release as a question for the road. Its answer is a table of all queries that were asked, with their answers, and
// figures that follow from it; and, if asked for, the sanitised data-dependent cost.
[[nodiscard]] Result<Question> votes_question(VoteTerms terms, std::shared_ptr<const Poll> poll);

// The label of each query, as the released answer has them. kInputData if it is not such an answer.
struct ReleasedLabel {
  std::uint64_t query;  // number of a public example
  QueryAnswer answer;
};
[[nodiscard]] Result<std::vector<ReleasedLabel>> labels_of(const Answer& answer);

}  // namespace noisefloor
