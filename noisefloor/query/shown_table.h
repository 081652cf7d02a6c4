// The table that a query shows, from noised numbers: everything in it is computed after the noise.
//
// Guarantee:     the table is a function of the plan, the noised numbers and the confidence. A range holds what the
//                numbers would be without noise, with at least the stated probability: a number by the law of its
//                noise, and what is computed from several of them by ranges that hold all at once (1 − (1 − p)/k for k
//                numbers). It does not cover what bounds left out, nor that HAVING, ORDER BY and LIMIT picked a group.
// Order:         ORDER BY as in PostgreSQL, NULL as the largest; else that of the groups.
// Thread safety: pure functions.
#pragma once

#include "noisefloor/base/result.h"
#include "noisefloor/query/noised.h"
#include "noisefloor/query/plan.h"
#include "noisefloor/release/answer.h"

namespace noisefloor::query {

[[nodiscard]] AnswerTable shown_table(const Plan& plan, const NoisedGroups& noised, Confidence confidence);

// All noised numbers of all groups, in the order of the plan: what was paid for.
[[nodiscard]] AnswerTable bought_table(const Plan& plan, const NoisedGroups& noised);
// The groups of a bought table, without errors. kVerificationFailed if it is not one of this many keys and numbers.
[[nodiscard]] Result<std::vector<NoisedGroup>> groups_in(const AnswerTable& table, std::span<const engine::Type> keys,
                                                         std::size_t numbers);

}  // namespace noisefloor::query
