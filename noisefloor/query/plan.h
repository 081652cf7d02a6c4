// A query that was understood: what is measured, how far one unit moves it, what noise is owed, and what is computed
// from the noised numbers afterwards. Everything in a plan follows from the query's text and the public description.
//
//   NF_TRY(const Plan plan, plan_query(policy, "SELECT dept, count(*) FROM visits GROUP BY dept", {}));  // planner.h
//   NF_TRY(const Question question, queries_question(plans, terms, engine));                            // noise.h
//
// Guarantee:     adding or removing the rows of one unit moves the vector of a quantity over all groups by at most its
//                l1 and l2, in steps; equal plans have equal canonical texts, however the query was written.
// Thread safety: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/engine/measurement.h"

namespace noisefloor::query {

// A number that is noised for each group.
struct Quantity {
  enum class Kind : std::uint8_t { kCount, kUnits, kDistinct, kSum, kQuantile };
  Kind kind = Kind::kCount;
  std::string label;          // in the words of the query: "sum(cost)"
  std::size_t aggregate = 0;  // its place in measurement.aggregates
  double step = 1;            // a total times this is the answer
  // How far one unit moves the totals of all groups, in steps. For quantiles: the ranks of each group.
  std::int64_t per_group = 1;
  std::uint64_t groups = 1;  // groups that one unit is in, after bounding
  Uint128 l1 = 1;
  double l2 = 1;  // rounded up
  // The size of a typical answer, from public bounds: errors are weighed by it when a budget is divided.
  double scale = 1;
  // Of a quantile: its level, and the bounds of values in steps.
  double level = 0.5;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool hidden = false;  // asked for by HAVING or ORDER BY alone
};

// A number that follows from noised ones. Each takes the column name d0, d1, … in expressions.
struct Derived {
  enum class Kind : std::uint8_t {
    kMean,
    kVariancePopulation,
    kVarianceSample,
    kDeviationPopulation,
    kDeviationSample
  };
  Kind kind = Kind::kMean;
  std::string label;
  std::size_t sum = 0;      // quantity: sum of (x - centre)
  std::size_t squares = 0;  // quantity: sum of (x - centre)^2; not for a mean
  std::size_t count = 0;    // quantity
  // The canonical text of the quantity sum(x), and what it is counted in: if it was bought, a mean follows from it.
  std::string plain_sum = {};
  double centre = 0;
  double lower = 0;  // public bounds of x: the answer is clamped to what they allow
  double upper = 0;
};

struct KeyColumn {
  std::string label;
  engine::Type type = engine::Type::kText;
  bool is_public = true;
};

struct OutputColumn {
  std::string name;
  engine::Expression value;  // over keys k0, k1, …, quantities q0, q1, … and derived numbers d0, d1, …
};

// What a plan is made of, piece by piece, so that one can be seen to follow from another (reuse.h).
struct Origin {
  std::string rows;  // canonical text of what is read, without conditions, and of the bounds that a unit is held to
  std::vector<engine::Expression> conditions = {};  // over the columns of those rows; all must hold
  std::vector<engine::Expression> keys = {};        // likewise; in the order of Plan::keys
  std::vector<std::string> quantities = {};         // canonical texts, in the order of Plan::quantities
};

struct Plan {
  engine::Measurement measurement;  // its order key is drawn when it is asked
  PrivacyUnit unit = PrivacyUnit::kPerson;
  Adjacency adjacency = Adjacency::kAddRemove;
  std::vector<KeyColumn> keys;
  bool private_keys = false;  // groups are named only if selection keeps them, by their number of units
  std::uint64_t max_groups = 1;
  std::vector<Quantity> quantities;
  std::vector<Derived> derived;
  std::vector<OutputColumn> outputs;
  // ROLLUP and alike: the keys of each grouping that is shown. The finest is measured, and the others follow from it.
  std::vector<std::vector<std::size_t>> groupings;
  // After noise, over the same columns as outputs.
  std::optional<engine::Expression> having = {};
  std::vector<std::pair<engine::Expression, bool>> order = {};  // true: descending
  std::optional<std::uint64_t> limit = {};
  std::uint64_t offset = 0;
  bool explain = false;   // asked with EXPLAIN (PRIVACY): to be explained, not answered
  std::string canonical;  // one text for all ways to write this query
  Origin origin = {};
  std::vector<std::string> notes;  // for people: the path to the unit, where each bound is enforced, what MIN means
};

}  // namespace noisefloor::query
