// Answers that follow from answers that were bought: computed without rows, and for nothing.
//
//   the same question in other words, under another name, or with another HAVING, ORDER BY, LIMIT or arithmetic
//   coarser groups, as sums of finer ones         (counts and sums; of groups with public names)
//   filters on public names of groups             (everything that was bought for the groups that remain)
//   an average from a sum and a count             (where no unit may have more rows in a group than count)
//
// Guarantee:     a derived answer is a function of the bought one: no row is read, and nothing is spent. It is given
//                only for the same tables, columns, conditions and bounds of a unit's part (Origin), and its errors are
//                those of the sums that it is computed from. Whatever a kept answer's text says, nothing follows from
//                it unless its certificate and its configuration agree (answers_in).
// Not covered:   rows whose name is none of the public ones are in no bought group, and so in no sum of groups.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/query/noised.h"
#include "noisefloor/query/plan.h"
#include "noisefloor/release/answer.h"

namespace noisefloor::query {

// A bought answer that others may follow from.
struct KeptQueries {
  std::uint64_t reservation = 0;
  double epsilon = 0;               // that was asked for, for all of its queries together
  std::string configuration;        // of its question
  std::vector<AnswerTable> bought;  // for each of its queries
};

struct DerivedAnswer {
  NoisedGroups groups;
  std::uint64_t reservation = 0;  // that paid for what it is computed from
  std::string how;                // in words: "the same numbers", "sums of finer groups"
};

// What was bought from this budget about the dataset, by its name and the digest of its description, after the entry
// `since`: what is older may be about other rows.
[[nodiscard]] Result<std::vector<KeptQueries>> answers_in(Ledger& ledger, const std::string& budget,
                                                          const AnswerDataset& dataset, std::uint64_t since);

// The derived answer with the smallest errors, from answers that were bought with at least this ε; or nothing.
[[nodiscard]] Result<std::optional<DerivedAnswer>> derived_answer(const Plan& plan, Epsilon at_least,
                                                                  std::span<const KeptQueries> kept);

}  // namespace noisefloor::query
