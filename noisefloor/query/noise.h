// Queries as one question for the road of releases: plans, an engine and terms in; exact counts under exact noise out.
//
//   NF_TRY(const Question question, queries_question(plans, terms, engine));
//   NF_TRY(const ReleasedAnswer made, ask_dataset(rows, question, asker, ledger, outlet));   // statistics/
//
// Guarantee:     (1) The question's statement, its configuration and all that is said before it is drawn follow from
//                the plans and the terms alone. (2) Rows are read only while it is drawn: after the whole cost was
//                reserved. A rehearsal reads none: it noises tables without rows. (3) The answer holds every noised
//                number that was paid for, once, and the tables that follow from them. (4) Which rows and groups of a
//                unit count is decided by a key that is drawn when the question is, so within one reservation, which
//                is run at most once (release/road.h): no second look at the same reservation can keep other rows.
// Thread safety: as the engine's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/engine.h"
#include "noisefloor/query/noise_split.h"
#include "noisefloor/query/noise_terms.h"
#include "noisefloor/query/noised.h"
#include "noisefloor/query/plan.h"
#include "noisefloor/release/question.h"

namespace noisefloor::query {

inline constexpr const char* kQueryMechanism = "query";

using Plans = std::shared_ptr<const std::vector<Plan>>;

[[nodiscard]] Result<Question> queries_question(Plans plans, const NoiseTerms& terms,
                                                std::shared_ptr<engine::Engine> engine);
// The same for a split that split_budget() has made of equal plans and these terms.
[[nodiscard]] Question queries_question(Plans plans, const NoiseTerms& terms, std::shared_ptr<engine::Engine> engine,
                                        std::shared_ptr<const NoiseSplit> split);

// The names of an answer's values: the table that query `i` of `plans` shows, and that of all that was bought for it.
[[nodiscard]] std::string table_name(std::size_t i, std::size_t plans);   // "answer", or "answer 2"
[[nodiscard]] std::string bought_name(std::size_t i, std::size_t plans);  // "noised", or "noised 2"

// What the question is known by in a ledger: a name that follows from its configuration.
[[nodiscard]] std::string key_of(const Question& question);

// What an answer would hold without any noise, for tests. It is NOT private, and no road takes it.
struct UnnoisedAnswer {
  NoiseSplit split;
  std::vector<UnnoisedGroups> groups;  // of each plan
  std::vector<AnswerTable> tables;     // that each plan shows
};
[[nodiscard]] Result<UnnoisedAnswer> answer_without_noise(std::span<const Plan> plans, const NoiseTerms& terms,
                                                          engine::Engine& engine, const WithoutNoise& none);

}  // namespace noisefloor::query
