// The aggregates of a query, each once, and what follows from them.
//
// Internal to query/.
//
// Thread safety: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/query/binder.h"
#include "noisefloor/query/grid.h"
#include "noisefloor/query/plan.h"

namespace noisefloor::query {

// A quantity before it is known how many rows a unit may add to it.
struct Measure {
  Quantity::Kind kind = Quantity::Kind::kCount;
  std::string label;
  std::optional<engine::Expression> argument = {};
  Grid grid = {};          // of sums and quantiles
  double level = 0.5;      // of quantiles
  bool one_value = false;  // distinct values that are the same in all rows of a unit
  bool hidden = true;
};

// One text for equal measures.
[[nodiscard]] std::string text_of(const Measure& measure);

class Measured {
 public:
  Measured(Binder& binder, const Rows& rows) : binder_(binder), rows_(rows) {}

  // An aggregate, as a column q0, q1, … or d0, d1, … of the noised answer. What is asked while `hidden` is not in the
  // list of the query.
  [[nodiscard]] Result<Bound> add(const Term& term, bool hidden);

  [[nodiscard]] const std::vector<Measure>& measures() const { return measures_; }
  [[nodiscard]] const std::vector<Derived>& derived() const { return derived_; }

 private:
  [[nodiscard]] Result<Bound> add_count(const Term& term, const std::optional<Bound>& filter, bool hidden);
  [[nodiscard]] Result<Bound> add_quantile(const Term& term, const std::optional<Bound>& filter, bool hidden);
  [[nodiscard]] Result<Bound> add_moments(const Term& term, Bound argument, const Grid& grid,
                                          const std::optional<Bound>& filter, bool hidden);
  [[nodiscard]] std::size_t measure(Measure measure, bool hidden);
  // How many rows there are for which the argument is not NULL and the filter holds.
  [[nodiscard]] std::size_t count_of(const Bound* argument, const std::optional<Bound>& filter, std::string label,
                                     bool hidden);

  Binder& binder_;
  const Rows& rows_;
  std::vector<Measure> measures_;
  std::vector<Derived> derived_;
  std::map<std::string, std::size_t> known_;
  std::map<std::string, std::size_t> known_derived_;
};

[[nodiscard]] Bound answer_column(const std::string& name);

}  // namespace noisefloor::query
