// Questions whose answer is counts or groups, ready for release_answer (release/answer_road.h): parameters in, Question
// out.
//
// Guarantee:     that of number_questions.h. Names of bins are taken as public, and counts are private. Names of groups
//                are private unless the answer holds them: the configuration says nothing about them.
// Thread safety: pure functions. A question may be drawn by several threads, each with a source of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/mechanisms/partition_selection.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/release/question.h"

namespace noisefloor {

// Private counts with names: as many counts as names.
struct NamedCounts {
  std::vector<std::string> names;
  std::vector<std::int64_t> counts;
};

struct HistogramQuery {
  Neighbours neighbours;
  Epsilon epsilon;
  Delta delta = Delta::of(0);  // 0: Laplace noise; above 0: Gaussian
  std::uint64_t bins_per_row = 1;
  Confidence confidence = Confidence::of(0.95);
};

// All bins, empty ones too. The value "counts" is a table of name and value, with a range for each.
[[nodiscard]] Result<Question> histogram_question(NamedCounts bins, const HistogramQuery& query);

struct PartitionQuery {
  Epsilon epsilon;
  Delta delta;
  std::uint64_t max_partitions = 1;  // partitions that one unit may be in
  PartitionRule rule = PartitionRule::kTruncatedGeometric;
  PrivacyUnit unit = PrivacyUnit::kPerson;
};

// The value "kept" is a table of the names that may be published. Counts must be 0 or above (refused otherwise).
[[nodiscard]] Result<Question> partition_question(NamedCounts groups, const PartitionQuery& query);

// "truncated-geometric", "laplace" or "gaussian"; kInvalidArgument with these.
[[nodiscard]] Result<PartitionRule> parse_partition_rule(std::string_view text);

struct RunningTotalQuery {
  Neighbours neighbours;
  Steps steps;  // planned steps; there may not be more values than that (refused otherwise)
  Epsilon epsilon;
  Delta delta = Delta::of(0);
};

// A total after each step of a stream. The value "totals" is a table of one column.
[[nodiscard]] Result<Question> running_total_question(std::vector<std::int64_t> values, const RunningTotalQuery& query);

}  // namespace noisefloor
