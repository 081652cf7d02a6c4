// How far one unit moves what a plan measures, and what the plan says about it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/reference_engine.h"
#include "noisefloor/query/planner.h"
#include "tests/support/query_rows.h"

namespace noisefloor::testing {

// Rows, and what the plainest engine measures of them.
class Data {
 public:
  explicit Data(TextTables tables) : tables_(std::move(tables)), engine_(references(tables_)) {}
  [[nodiscard]] engine::Measured measure(const Measurement& m) { return engine_.measure(m).value(); }
  [[nodiscard]] const TextTables& tables() const { return tables_; }
  [[nodiscard]] std::size_t rows() const {
    std::size_t rows = 0;
    for (const TextTable& table : tables_) rows += table.rows.size();
    return rows;
  }

 private:
  static std::vector<engine::ReferenceTable> references(const TextTables& tables) {
    std::vector<engine::ReferenceTable> references;
    for (const TextTable& table : tables) references.push_back(reference_of(table));
    return references;
  }
  TextTables tables_;
  engine::ReferenceEngine engine_;
};

inline bool same_measured(const engine::Measured& a, const engine::Measured& b) {
  return std::ranges::equal(a.groups, b.groups, [](const engine::MeasuredGroup& x, const engine::MeasuredGroup& y) {
    return x.keys == y.keys && x.units == y.units && x.totals == y.totals && x.values == y.values;
  });
}

struct Comparison {
  std::string violation;      // empty: there is none
  std::vector<bool> reached;  // whether the stated l1 of a quantity was reached exactly; for each quantity
};

// Compares what neighbours measure with what the plan states for neighbours of its kind.
class Comparing {
 public:
  Comparing(const query::Plan& plan, const engine::Measured& a, const engine::Measured& b)
      : plan_(plan), replaces_(plan.adjacency == Adjacency::kReplaceOne) {
    for (const auto& group : a.groups) groups_[group.keys].first = &group;
    for (const auto& group : b.groups) groups_[group.keys].second = &group;
  }

  Comparison result() {
    if (plan_.measurement.listed && groups_.size() != plan_.measurement.listed->size()) {
      result_.violation = "other groups than the listed ones";
    }
    std::size_t histograms = 0;
    for (const query::Quantity& quantity : plan_.quantities) {
      if (quantity.kind == query::Quantity::Kind::kQuantile) {
        compare_ranks(quantity, histograms++);
      } else {
        compare_totals(quantity);
      }
    }
    if (plan_.private_keys && plan_.measurement.unit) compare_units();
    return std::move(result_);
  }

 private:
  using Pair = std::pair<const engine::MeasuredGroup*, const engine::MeasuredGroup*>;

  void compare_totals(const query::Quantity& quantity) {
    Uint128 l1 = 0;
    long double squares = 0;
    for (const auto& [keys, pair] : groups_) {
      const auto total = [&](const engine::MeasuredGroup* group) {
        return group == nullptr ? Int128{0} : group->totals.at(quantity.aggregate);
      };
      const Int128 moved = total(pair.first) - total(pair.second);
      l1 += static_cast<Uint128>(moved < 0 ? -moved : moved);
      squares += static_cast<long double>(moved) * static_cast<long double>(moved);
    }
    if (l1 > quantity.l1) report(quantity.label + " moves by more than its l1", l1, quantity.l1);
    const auto l2 = static_cast<long double>(quantity.l2);
    if (squares > l2 * l2 * (1 + 1e-15L)) report(quantity.label + " moves by more than its l2", squares, l2 * l2);
    result_.reached.push_back(l1 == quantity.l1);
  }

  void compare_ranks(const query::Quantity& quantity, std::size_t histogram) {
    std::uint64_t moved_groups = 0;
    std::uint64_t most = 0;
    for (const auto& [keys, pair] : groups_) {
      std::map<std::int64_t, std::int64_t> difference;
      if (pair.first != nullptr)
        for (const auto& [value, count] : pair.first->values.at(histogram)) {
          difference[value] += static_cast<std::int64_t>(count);
        }
      if (pair.second != nullptr)
        for (const auto& [value, count] : pair.second->values.at(histogram)) {
          difference[value] -= static_cast<std::int64_t>(count);
        }
      std::uint64_t gone = 0;
      std::uint64_t come = 0;
      for (const auto& [value, count] : difference)
        (count > 0 ? gone : come) += static_cast<std::uint64_t>(std::abs(count));
      const std::uint64_t ranks = replaces_ ? std::max(gone, come) : gone + come;
      most = std::max(most, ranks);
      moved_groups += ranks > 0 ? 1 : 0;
    }
    const auto allowed = static_cast<std::uint64_t>(quantity.per_group);
    const std::uint64_t allowed_groups = quantity.groups * (replaces_ ? 2 : 1);
    if (most > allowed) report(quantity.label + " moves more ranks", most, allowed);
    if (moved_groups > allowed_groups) report(quantity.label + " moves in more groups", moved_groups, allowed_groups);
    result_.reached.push_back(most == allowed && moved_groups == allowed_groups);
  }

  // What the choice of names looks at.
  void compare_units() {
    std::uint64_t moved = 0;
    for (const auto& [keys, pair] : groups_) {
      const std::uint64_t a = pair.first == nullptr ? 0 : pair.first->units;
      const std::uint64_t b = pair.second == nullptr ? 0 : pair.second->units;
      if (std::max(a, b) - std::min(a, b) > 1) report("the units of a group move by more than 1", a, b);
      moved += a == b ? 0 : 1;
    }
    const std::uint64_t allowed = plan_.max_groups * (replaces_ ? 2 : 1);
    if (moved > allowed) report("a unit moves the units of more groups", moved, allowed);
  }

  template <class T, class U>
  void report(const std::string& what, T is, U stated) {
    if (!result_.violation.empty()) return;
    result_.violation =
        fmt::format("{}: {} instead of {}", what, static_cast<long double>(is), static_cast<long double>(stated));
  }

  const query::Plan& plan_;
  bool replaces_;
  std::map<std::vector<engine::Cell>, Pair> groups_;
  Comparison result_;
};

}  // namespace noisefloor::testing
