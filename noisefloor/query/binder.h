// Looks up what stands after FROM and in subqueries, and makes rows of it (rows.h).
//
// Internal to query/.
//
// Thread safety: a binder is used by one thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/query/planner.h"
#include "noisefloor/query/rows.h"
#include "noisefloor/query/syntax.h"

namespace noisefloor::query {

class Binder {
 public:
  Binder(const DescribedTables& policy, const PlanOptions& options) : policy_(policy), options_(options) {}

  // Makes the tables of WITH visible from here on.
  void open(const Select& select);
  // FROM and WHERE of a SELECT.
  [[nodiscard]] Result<Rows> bind_source(const Select& select);
  // A term over rows; aggregates and windows are refused.
  [[nodiscard]] Result<Bound> bind_over(const Rows& rows, const Term& term);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void add_note(std::string note);
  // A column's bound from the options of the analyst, where they tighten it.
  [[nodiscard]] Result<void> apply_options(const std::string& table, const std::string& name, bool from_policy,
                                           Bound& bound);
  // An option that names no column of the query is a mistake.
  [[nodiscard]] Result<void> check_options_used() const;

 private:
  // The common tables that are visible, the nearest first; each sees those that stand before it.
  struct Scope {
    const CommonTable* table;
    std::shared_ptr<const Scope> outer;
  };

  [[nodiscard]] Result<Rows> bind_from(const From& from);
  [[nodiscard]] Result<Rows> bind_table(const From& from);
  [[nodiscard]] Result<Rows> scan(const DescribedTable& table, const std::string& alias);
  [[nodiscard]] Result<void> add_unit(const DescribedTable& table, Rows& rows);
  [[nodiscard]] Result<Rows> bind_query(const Select& select);
  [[nodiscard]] Result<Rows> bind_plain(const Select& select);
  [[nodiscard]] Result<Rows> bind_grouped(const Select& select);
  [[nodiscard]] Result<Rows> bind_union(const Select& select);
  [[nodiscard]] Result<Rows> join(const From& from, Rows left, Rows right);
  [[nodiscard]] Result<void> add_window(Rows& rows, const Term& term, std::map<const Term*, Bound>& windows);
  [[nodiscard]] Result<void> add_semi_join(Rows& rows, const Term& term, bool negated);
  [[nodiscard]] Result<Rows> renamed(Rows rows, const std::string& alias, const std::vector<std::string>& names);
  [[nodiscard]] Result<void> count_tables();
  [[nodiscard]] std::string fresh(const std::string& prefix);

  const DescribedTables& policy_;
  const PlanOptions& options_;
  std::shared_ptr<const Scope> scope_;
  std::map<std::string, std::size_t> occurrences_;
  std::map<std::string, bool> options_used_;
  std::size_t tables_ = 0;
  std::vector<std::string> notes_;
};

// The terms that AND joins at the top of a term.
[[nodiscard]] std::vector<const Term*> conjuncts_of(const Term& term);

// Joins two sides where pairs of columns are equal. Refuses rows with two owners.
struct JoinPair {
  Bound left;
  Bound right;
};
[[nodiscard]] Result<Rows> joined_rows(Rows left, Rows right, const std::vector<JoinPair>& pairs);
// Refuses pairs of different types, and numbers.
[[nodiscard]] Result<void> check_pair_of_join(const JoinPair& pair);
// Whether at most one row of the right side joins with a row of the left side.
[[nodiscard]] bool right_is_found_once(const Rows& right, const std::vector<JoinPair>& pairs);

// Whether the term holds a call of an aggregate that is not within a subquery.
[[nodiscard]] bool has_aggregate(const Term& term);
[[nodiscard]] bool is_aggregate(const Term& term);
// The names of all aggregates.
[[nodiscard]] std::span<const std::string_view> aggregate_names();

}  // namespace noisefloor::query
