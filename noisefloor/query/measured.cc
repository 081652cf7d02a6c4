#include "noisefloor/query/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Type;

Expression filtered(Expression value, const std::optional<Bound>& filter) {
  if (!filter.has_value()) return value;
  const Type type = value.type;
  return normal_call(Function::kCase, type, {filter->expression, std::move(value), engine::null_of(type)});
}

std::optional<double> level_of(const Bound& bound) {
  if (!is_constant(bound.expression)) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&bound.expression.value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&bound.expression.value)) return *number;
  return std::nullopt;
}

}  // namespace

Bound answer_column(const std::string& name) {
  return {.expression = engine::column(name, Type::kNumber), .per_unit = false};
}

std::string text_of(const Measure& measure) {
  std::string text = fmt::format("{} {}", static_cast<int>(measure.kind), measure.one_value);
  if (measure.argument.has_value()) text += canonical_text(*measure.argument);
  if (measure.kind == Quantity::Kind::kQuantile) text += fmt::format(" {:.17g}", measure.level);
  return text;
}

std::size_t Measured::measure(Measure measure, bool hidden) {
  std::string text = text_of(measure);
  const auto [at, fresh] = known_.emplace(std::move(text), measures_.size());
  if (fresh) measures_.push_back(std::move(measure));
  if (!hidden) measures_[at->second].hidden = false;
  return at->second;
}

std::size_t Measured::count_of(const Bound* argument, const std::optional<Bound>& filter, std::string label,
                               bool hidden) {
  std::vector<Expression> conditions;
  if (filter.has_value()) conditions = conjuncts_of(filter->expression);
  if (argument != nullptr && argument->nullable)
    conditions.push_back(normal_call(Function::kNot, Type::kTruth,
                                     {normal_call(Function::kIsNull, Type::kTruth, {argument->expression})}));
  Measure count{.kind = Quantity::Kind::kCount, .label = std::move(label)};
  if (!conditions.empty()) count.argument = conjunction(std::move(conditions));
  return measure(std::move(count), hidden);
}

Result<Bound> Measured::add_count(const Term& term, const std::optional<Bound>& filter, bool hidden) {
  const auto answer = [](std::size_t at) { return answer_column(fmt::format("q{}", at)); };
  if (term.star) return answer(count_of(nullptr, filter, label_of(term), hidden));
  if (term.arguments.size() != 1) return invalid_argument("count takes one value, or *");
  NF_TRY(Bound argument, binder_.bind_over(rows_, term.arguments[0]));
  if (is_null(argument.expression)) return invalid_argument("count(NULL) is always 0: count something else");
  if (argument.is_unit) argument.nullable = false;  // rows without a unit are nobody's, and left out
  if (!term.distinct) return answer(count_of(&argument, filter, label_of(term), hidden));
  if (argument.is_unit) {
    if (rows_.rows_per_unit == 1u) return answer(count_of(nullptr, filter, label_of(term), hidden));
    Measure units{.kind = Quantity::Kind::kUnits, .label = label_of(term)};
    if (filter.has_value()) units.argument = filter->expression;
    return answer(measure(std::move(units), hidden));
  }
  if (argument.type() == Type::kNumber)
    return invalid_argument(
        "count(DISTINCT …) takes no numbers: put them on a grid, for instance CAST(floor(x) AS integer)");
  if (is_constant(argument.expression))
    return invalid_argument("count(DISTINCT …) of a constant tells nothing: name a column");
  Measure distinct{.kind = Quantity::Kind::kDistinct, .label = label_of(term)};
  distinct.argument = filtered(argument.expression, filter);
  distinct.one_value = argument.per_unit && (!filter.has_value() || filter->per_unit);
  return answer(measure(std::move(distinct), hidden));
}

Result<Bound> Measured::add_quantile(const Term& term, const std::optional<Bound>& filter, bool hidden) {
  Measure quantile{.kind = Quantity::Kind::kQuantile, .label = label_of(term)};
  const Term* value = nullptr;
  if (term.within_group) {
    if (term.arguments.size() != 1 || term.order.size() != 1)
      return invalid_argument(fmt::format("{} takes one level, and one value after ORDER BY", term.name));
    value = &term.order[0].term;
    NF_TRY(const Bound level, binder_.bind_over(rows_, term.arguments[0]));
    const std::optional<double> constant = level_of(level);
    if (!constant.has_value() || !(*constant >= 0 && *constant <= 1))
      return invalid_argument(fmt::format("the level of {} must be a constant from 0 to 1", term.name));
    quantile.level = term.order[0].descending ? 1 - *constant : *constant;
  } else {
    if (term.arguments.size() != 1) return invalid_argument(fmt::format("{} takes one value", term.name));
    value = &term.arguments[0];
    quantile.level = term.name == "min" ? 0.0 : term.name == "max" ? 1.0 : 0.5;
    if (term.name == "min" || term.name == "max")
      binder_.add_note(fmt::format("{} is a private quantile at level {:g}: near the {} value, and never the exact one",
                                   label_of(term), quantile.level, term.name == "min" ? "smallest" : "largest"));
  }
  NF_TRY(const Bound argument, binder_.bind_over(rows_, *value));
  NF_TRY_VOID(check_not_unit({argument}));
  if (argument.type() == Type::kDate)
    return invalid_argument(
        "quantiles of dates are not understood: take the number of days since a date, as in day - DATE '2026-01-01'");
  NF_TRY(quantile.grid, grid_of(argument, label_of(term), 1));
  quantile.argument = filtered(steps_of(argument, quantile.grid), filter);
  return answer_column(fmt::format("q{}", measure(std::move(quantile), hidden)));
}

Result<Bound> Measured::add_moments(const Term& term, Bound argument, const Grid& grid,
                                    const std::optional<Bound>& filter, bool hidden) {
  const std::string label = label_of(term);
  Derived derived;
  derived.kind = term.name == "avg"                                    ? Derived::Kind::kMean
                 : term.name == "var_pop"                              ? Derived::Kind::kVariancePopulation
                 : term.name == "stddev_pop"                           ? Derived::Kind::kDeviationPopulation
                 : term.name == "stddev" || term.name == "stddev_samp" ? Derived::Kind::kDeviationSample
                                                                       : Derived::Kind::kVarianceSample;
  derived.label = label;
  derived.centre = centre_of(grid);
  derived.lower = grid.from;
  derived.upper = grid.to;
  const std::string inner = label_of(term.arguments[0]);
  derived.count = count_of(&argument, filter, fmt::format("count({})", inner), hidden);
  NF_TRY(const Grid about, centred(grid, label, rows_.max_rows));
  const Expression clamped =
      normal_call(Function::kLeast, Type::kNumber,
                  {normal_call(Function::kGreatest, Type::kNumber, {argument.expression, engine::constant(grid.from)}),
                   engine::constant(grid.to)});
  Bound off{.expression = normal_call(Function::kSubtract, Type::kNumber, {clamped, engine::constant(derived.centre)})};
  off.numbers = {about.from, about.to};
  Measure sum{
      .kind = Quantity::Kind::kSum, .label = fmt::format("sum({} - {:g})", inner, derived.centre), .grid = about};
  sum.argument = filtered(steps_of(off, about), filter);
  derived.sum = measure(std::move(sum), hidden);
  Measure plain{.kind = Quantity::Kind::kSum, .label = {}};
  plain.argument = filtered(steps_of(argument, grid), filter);
  derived.plain_sum = text_of(plain);
  if (derived.kind != Derived::Kind::kMean) {
    NF_TRY(const Grid square, squared(about, label, rows_.max_rows));
    Bound product{.expression = normal_call(Function::kMultiply, Type::kNumber, {off.expression, off.expression})};
    product.numbers = {square.from, square.to};
    Measure squares{.kind = Quantity::Kind::kSum,
                    .label = fmt::format("sum(({} - {:g})^2)", inner, derived.centre),
                    .grid = square};
    squares.argument = filtered(steps_of(product, square), filter);
    derived.squares = measure(std::move(squares), hidden);
  }
  const std::string text =
      fmt::format("{} {} {} {}", static_cast<int>(derived.kind), derived.sum, derived.squares, derived.count);
  const auto [at, fresh] = known_derived_.emplace(text, derived_.size());
  if (fresh) derived_.push_back(std::move(derived));
  return answer_column(fmt::format("d{}", at->second));
}

Result<Bound> Measured::add(const Term& term, bool hidden) {
  std::optional<Bound> filter;
  if (term.filter != nullptr) {
    NF_TRY(filter, binder_.bind_over(rows_, *term.filter));
    if (filter->type() != Type::kTruth) return invalid_argument("FILTER takes conditions: compare with something");
    if (conjuncts_of(filter->expression).empty()) filter.reset();
  }
  if (term.star && term.name != "count")
    return invalid_argument(fmt::format("{} takes a value, and not *", shown(term.name)));
  if (term.within_group != (term.name == "percentile_cont" || term.name == "percentile_disc"))
    return invalid_argument("quantiles are written as percentile_cont(0.5) WITHIN GROUP (ORDER BY value)");
  if (term.name == "count") return add_count(term, filter, hidden);
  if (term.distinct)
    return invalid_argument(
        fmt::format("DISTINCT is understood within count alone, and not within {}", shown(term.name)));
  if (term.within_group || term.name == "min" || term.name == "max" || term.name == "median")
    return add_quantile(term, filter, hidden);
  if (term.arguments.size() != 1) return invalid_argument(fmt::format("{} takes one value", shown(term.name)));
  NF_TRY(const Bound argument, binder_.bind_over(rows_, term.arguments[0]));
  NF_TRY_VOID(check_not_unit({argument}));
  NF_TRY(const Grid grid, grid_of(argument, label_of(term), rows_.max_rows));
  if (term.name != "sum") return add_moments(term, argument, grid, filter, hidden);
  Measure sum{.kind = Quantity::Kind::kSum, .label = label_of(term), .grid = grid};
  sum.argument = filtered(steps_of(argument, grid), filter);
  return answer_column(fmt::format("q{}", measure(std::move(sum), hidden)));
}

}  // namespace noisefloor::query
