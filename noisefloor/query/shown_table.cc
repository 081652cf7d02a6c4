#include "noisefloor/query/shown_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "noisefloor/engine/days.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {
namespace {

using engine::Cell;
using engine::Expression;
using engine::Function;
using engine::Type;
using engine::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value number_value(double x) {
  const std::optional<double> normal = engine::normal(x);
  return normal ? Value(*normal) : Value();
}

Value cell_value(const Cell& cell, Type type) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    if (type == Type::kTruth) return *whole != 0;
    return *whole;
  }
  return {};
}

// The derived number for given sums; clamped to what the public bounds allow.
double derived_value(const Derived& d, double sum, double squares, double count) {
  const double n = std::max(count, 1.0);
  if (d.kind == Derived::Kind::kMean) return std::clamp(d.centre + sum / n, d.lower, d.upper);
  const double half = (d.upper - d.lower) / 2;
  const double mean = std::clamp(sum / n, -half, half);
  double variance = std::clamp(squares / n - mean * mean, 0.0, half * half);
  const bool sample = d.kind == Derived::Kind::kVarianceSample || d.kind == Derived::Kind::kDeviationSample;
  const double rows = std::max(count, 2.0);
  if (sample) variance *= rows / (rows - 1);
  const bool root = d.kind == Derived::Kind::kDeviationPopulation || d.kind == Derived::Kind::kDeviationSample;
  return root ? std::sqrt(variance) : variance;
}

Interval ratio(const Interval& a, const Interval& b) {  // b above 0
  const double corners[] = {a.lower / b.lower, a.lower / b.upper, a.upper / b.lower, a.upper / b.upper};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

Interval derived_range(const Derived& d, const Interval& sum, const Interval& squares, const Interval& count) {
  const Interval n{std::max(count.lower, 1.0), std::max(count.upper, 1.0)};
  const Interval mean = ratio(sum, n);
  const auto clamped = [](Interval range, double low, double high) {
    return Interval{std::clamp(range.lower, low, high), std::clamp(range.upper, low, high)};
  };
  if (d.kind == Derived::Kind::kMean) {
    return clamped({d.centre + mean.lower, d.centre + mean.upper}, d.lower, d.upper);
  }
  const double half = (d.upper - d.lower) / 2;
  const Interval second = ratio(squares, n);
  const Interval first = clamped(mean, -half, half);
  const double least =
      first.lower <= 0 && first.upper >= 0 ? 0 : std::min(first.lower * first.lower, first.upper * first.upper);
  const double most = std::max(first.lower * first.lower, first.upper * first.upper);
  Interval variance = clamped({second.lower - most, second.upper - least}, 0, half * half);
  const bool sample = d.kind == Derived::Kind::kVarianceSample || d.kind == Derived::Kind::kDeviationSample;
  if (sample) {
    const double few = std::max(n.lower, 2.0);
    const double many = std::max(n.upper, 2.0);
    variance = {variance.lower * many / (many - 1), variance.upper * few / (few - 1)};
  }
  const bool root = d.kind == Derived::Kind::kDeviationPopulation || d.kind == Derived::Kind::kDeviationSample;
  return root ? Interval{std::sqrt(variance.lower), std::sqrt(variance.upper)} : variance;
}

// A group as columns k0, …, q0, …, d0, … of expressions.
class Row {
 public:
  Row(const Plan& plan, const NoisedGroup& group, const std::vector<std::size_t>* shown) : group_(group) {
    for (std::size_t i = 0; i < plan.keys.size(); ++i) {
      const bool is_shown = shown == nullptr || std::find(shown->begin(), shown->end(), i) != shown->end();
      keys_.push_back(is_shown ? cell_value(group.keys[i], plan.keys[i].type) : Value());
    }
    for (const Derived& d : plan.derived) {
      const double squares = d.kind == Derived::Kind::kMean ? 0 : group.numbers[d.squares];
      derived_.push_back(derived_value(d, group.numbers[d.sum], squares, group.numbers[d.count]));
    }
  }

  [[nodiscard]] Value operator()(std::string_view name) const {
    const std::size_t place = std::stoul(std::string(name.substr(1)));
    if (name[0] == 'k') return keys_[place];
    return number_value(name[0] == 'q' ? group_.numbers[place] : derived_[place]);
  }
  [[nodiscard]] Value of(const Expression& expression) const {
    return engine::evaluate(expression, [this](std::string_view name) { return (*this)(name); });
  }
  [[nodiscard]] const NoisedGroup& group() const { return group_; }
  [[nodiscard]] const std::vector<Value>& keys() const { return keys_; }

 private:
  const NoisedGroup& group_;
  std::vector<Value> keys_;
  std::vector<double> derived_;
};

// Ranges of quantities; each law is looked at once.
class Ranges {
 public:
  Ranges(const Plan& plan, const NoisedGroups& noised) : plan_(plan), noised_(noised) {}

  Interval of_quantity(std::size_t quantity, const NoisedGroup& group, double confidence) {
    const auto key = std::tuple(quantity, group.parts, confidence);
    auto found = widths_.find(key);
    if (found == widths_.end()) {
      const double half =
          half_width(repeated(noised_.errors[quantity], group.parts), Confidence::make(confidence).value());
      found = widths_.emplace(key, half).first;
    }
    return {group.numbers[quantity] - found->second, group.numbers[quantity] + found->second};
  }

  // The range of an expression over ranges that all hold; the whole line where none is known.
  Interval of(const Expression& e, const Row& row, double confidence) {
    constexpr Interval kAnything{-kInfinity, kInfinity};
    if (e.function == Function::kColumn && e.name[0] == 'q') {
      return of_quantity(std::stoul(e.name.substr(1)), row.group(), confidence);
    }
    if (e.function == Function::kColumn && e.name[0] == 'd') {
      const Derived& d = plan_.derived[std::stoul(e.name.substr(1))];
      const Interval squares =
          d.kind == Derived::Kind::kMean ? Interval{0, 0} : of_quantity(d.squares, row.group(), confidence);
      return derived_range(d, of_quantity(d.sum, row.group(), confidence), squares,
                           of_quantity(d.count, row.group(), confidence));
    }
    if (quantities_under(plan_, e).empty()) {
      const Value value = row.of(e);
      if (const auto* number = std::get_if<double>(&value)) return {*number, *number};
      if (const auto* whole = std::get_if<std::int64_t>(&value))
        return {static_cast<double>(*whole), static_cast<double>(*whole)};
      return kAnything;
    }
    std::vector<Interval> a;
    for (const Expression& argument : e.arguments) {
      const bool is_number = argument.type == Type::kNumber || argument.type == Type::kInteger;
      a.push_back(is_number ? of(argument, row, confidence) : kAnything);
    }
    const auto finite = [](const Interval& range) { return std::isfinite(range.lower) && std::isfinite(range.upper); };
    const auto monotone = [&](auto f) {
      const Interval range{f(a[0].lower), f(a[0].upper)};
      return std::isnan(range.lower) || std::isnan(range.upper) ? kAnything : range;
    };
    switch (e.function) {
      case Function::kAdd:
        return {a[0].lower + a[1].lower, a[0].upper + a[1].upper};
      case Function::kSubtract:
        return {a[0].lower - a[1].upper, a[0].upper - a[1].lower};
      case Function::kNegate:
        return {-a[0].upper, -a[0].lower};
      case Function::kMultiply: {
        if (!finite(a[0]) || !finite(a[1])) return kAnything;
        const double c[] = {a[0].lower * a[1].lower, a[0].lower * a[1].upper, a[0].upper * a[1].lower,
                            a[0].upper * a[1].upper};
        return {*std::min_element(std::begin(c), std::end(c)), *std::max_element(std::begin(c), std::end(c))};
      }
      case Function::kDivide:
        if (!finite(a[0]) || !finite(a[1])) return kAnything;
        if (a[1].lower > 0) return ratio(a[0], a[1]);
        if (a[1].upper < 0) return ratio({-a[0].upper, -a[0].lower}, {-a[1].upper, -a[1].lower});
        return kAnything;
      case Function::kToNumber:
        return a[0];
      case Function::kAbsolute: {
        const double ends[] = {std::fabs(a[0].lower), std::fabs(a[0].upper)};
        const bool has_zero = a[0].lower <= 0 && a[0].upper >= 0;
        return {has_zero ? 0 : std::min(ends[0], ends[1]), std::max(ends[0], ends[1])};
      }
      case Function::kFloor:
        return monotone([](double x) { return std::floor(x); });
      case Function::kCeiling:
        return monotone([](double x) { return std::ceil(x); });
      case Function::kRound:
        return monotone([](double x) { return std::floor(x + 0.5); });
      case Function::kSqrt:
        return a[0].upper < 0 ? kAnything : Interval{std::sqrt(std::max(a[0].lower, 0.0)), std::sqrt(a[0].upper)};
      case Function::kExp:
        return monotone([](double x) { return std::exp(x); });
      case Function::kLn:
        return a[0].lower > 0 ? monotone([](double x) { return std::log(x); }) : kAnything;
      case Function::kLeast:
      case Function::kGreatest: {
        Interval range = a[0];
        const auto pick = [&](double x, double y) {
          return e.function == Function::kLeast ? std::min(x, y) : std::max(x, y);
        };
        for (const Interval& one : a) range = {pick(range.lower, one.lower), pick(range.upper, one.upper)};
        return range;
      }
      default:
        return kAnything;
    }
  }

 private:
  const Plan& plan_;
  const NoisedGroups& noised_;
  std::map<std::tuple<std::size_t, double, double>, double> widths_;
};

// The sums of groups that agree in these keys.
std::vector<NoisedGroup> merged(const std::vector<NoisedGroup>& groups, const std::vector<std::size_t>& keys) {
  std::vector<NoisedGroup> made;
  std::map<std::vector<Cell>, std::size_t> places;
  for (const NoisedGroup& group : groups) {
    NoisedGroup one{.keys = std::vector<Cell>(group.keys.size()), .numbers = group.numbers, .parts = group.parts};
    for (const std::size_t key : keys) one.keys[key] = group.keys[key];
    const auto [at, fresh] = places.emplace(one.keys, made.size());
    if (fresh) {
      made.push_back(std::move(one));
      continue;
    }
    NoisedGroup& sum = made[at->second];
    for (std::size_t i = 0; i < sum.numbers.size(); ++i) sum.numbers[i] += group.numbers[i];
    sum.parts += group.parts;
  }
  return made;
}

// NULL is the largest.
bool comes_before(const std::vector<Value>& a, const std::vector<Value>& b,
                  const std::vector<std::pair<Expression, bool>>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::strong_ordering compared = engine::compare(a[i], b[i]);
    if (compared == std::strong_ordering::equal) continue;
    return (compared == std::strong_ordering::less) != order[i].second;
  }
  return false;
}

struct ShownRow {
  const NoisedGroup* group;
  const std::vector<std::size_t>* keys;
};

std::vector<ShownRow> picked(const Plan& plan, const std::vector<ShownRow>& rows) {
  std::vector<std::pair<std::vector<Value>, ShownRow>> kept;
  for (const ShownRow& one : rows) {
    const Row row(plan, *one.group, one.keys);
    if (plan.having) {
      const Value holds = row.of(*plan.having);
      if (!std::holds_alternative<bool>(holds) || !std::get<bool>(holds)) continue;
    }
    std::vector<Value> order;
    for (const auto& [expression, descending] : plan.order) order.push_back(row.of(expression));
    kept.emplace_back(std::move(order), one);
  }
  if (!plan.order.empty()) {
    std::stable_sort(kept.begin(), kept.end(),
                     [&](const auto& a, const auto& b) { return comes_before(a.first, b.first, plan.order); });
  }
  std::vector<ShownRow> shown;
  for (std::size_t i = std::min<std::uint64_t>(plan.offset, kept.size()); i < kept.size(); ++i) {
    if (plan.limit && shown.size() >= *plan.limit) break;
    shown.push_back(kept[i].second);
  }
  return shown;
}

// The quantity that an output shows as it is; nothing if it computes with it.
const Quantity* plain_quantity(const Plan& plan, const Expression& e) {
  return e.function == Function::kColumn && e.name[0] == 'q' ? &plan.quantities[std::stoul(e.name.substr(1))] : nullptr;
}

bool is_whole(const Quantity& quantity) {
  return quantity.kind != Quantity::Kind::kSum && quantity.kind != Quantity::Kind::kQuantile;
}

template <class Cells, class Datum>
void add_cell(AnswerColumn& column, Cells& cells, std::optional<Datum> value) {
  if (!value) column.missing.push_back(cells.size());
  cells.push_back(value ? std::move(*value) : Datum{});
}

std::optional<std::int64_t> whole_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return std::llround(std::clamp(*number, -9e18, 9e18));
  return std::nullopt;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number + 0.0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::optional<std::string> text_of(const Value& value, Type type) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* days = std::get_if<std::int64_t>(&value);
      days != nullptr && type == Type::kDate && engine::is_date(*days)) {
    return engine::date_text(*days);
  }
  return std::nullopt;
}

// A column of cells of one type, without rows yet.
AnswerColumn empty_column(std::string name, Type type, bool whole) {
  AnswerColumn column{std::move(name), {}};
  if (type == Type::kText || type == Type::kDate) {
    column.cells = AnswerColumn::Texts{};
  } else if (type == Type::kTruth) {
    column.cells = AnswerColumn::Truths{};
  } else if (type == Type::kInteger || whole) {
    column.cells = AnswerColumn::Integers{};
  } else {
    column.cells = AnswerColumn::Numbers{};
  }
  return column;
}

void add_value(AnswerColumn& column, const Value& value, Type type) {
  if (auto* texts = std::get_if<AnswerColumn::Texts>(&column.cells))
    return add_cell(column, *texts, text_of(value, type));
  if (auto* wholes = std::get_if<AnswerColumn::Integers>(&column.cells))
    return add_cell(column, *wholes, whole_of(value));
  if (auto* numbers = std::get_if<AnswerColumn::Numbers>(&column.cells))
    return add_cell(column, *numbers, number_of(value));
  auto& truths = std::get<AnswerColumn::Truths>(column.cells);
  const auto* truth = std::get_if<bool>(&value);
  add_cell(column, truths, truth == nullptr ? std::optional<bool>() : std::optional<bool>(*truth));
}

// A name that no column before it has.
std::string unused(std::string name, std::set<std::string>& names) {
  if (name.empty()) name = "column";
  std::string one = name;
  for (int i = 2; !names.insert(one).second; ++i) one = fmt::format("{} {}", name, i);
  return one;
}

}  // namespace

AnswerTable shown_table(const Plan& plan, const NoisedGroups& noised, Confidence confidence) {
  std::vector<std::vector<NoisedGroup>> sums;
  std::vector<ShownRow> rows;
  if (plan.groupings.empty()) {
    for (const NoisedGroup& group : noised.groups) rows.push_back({&group, nullptr});
  }
  for (const std::vector<std::size_t>& keys : plan.groupings) sums.push_back(merged(noised.groups, keys));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (const NoisedGroup& group : sums[i]) rows.push_back({&group, &plan.groupings[i]});
  }
  rows = picked(plan, rows);
  AnswerTable table;
  std::set<std::string> names;
  Ranges ranges(plan, noised);
  for (const OutputColumn& output : plan.outputs) {
    const Expression& e = output.value;
    const Quantity* const plain = plain_quantity(plan, e);
    AnswerColumn column = empty_column(unused(output.name, names), e.type, plain != nullptr && is_whole(*plain));
    const std::vector<std::size_t> under = quantities_under(plan, e);
    const bool is_number = e.type == Type::kNumber || e.type == Type::kInteger;
    const bool has_errors = is_number && !under.empty() &&
                            std::all_of(under.begin(), under.end(), [&](std::size_t i) { return noised.has_error[i]; });
    if (plain != nullptr && !is_whole(*plain) && std::holds_alternative<AnswerColumn::Numbers>(column.cells)) {
      column.grid = plain->step;
    }
    const double each = 1 - (1 - confidence.value()) / static_cast<double>(std::max<std::size_t>(under.size(), 1));
    if (has_errors) column.confidence = confidence;
    for (const ShownRow& one : rows) {
      const Row row(plan, *one.group, one.keys);
      add_value(column, row.of(e), e.type);
      if (has_errors) column.ranges.push_back(ranges.of(e, row, each));
    }
    if (has_errors && rows.empty()) column.confidence.reset();
    table.columns.push_back(std::move(column));
  }
  return table;
}

AnswerTable bought_table(const Plan& plan, const NoisedGroups& noised) {
  AnswerTable table;
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    AnswerColumn column = empty_column(unused(plan.keys[i].label, names), plan.keys[i].type, false);
    for (const NoisedGroup& group : noised.groups) {
      add_value(column, cell_value(group.keys[i], plan.keys[i].type), plan.keys[i].type);
    }
    table.columns.push_back(std::move(column));
  }
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    const Quantity& quantity = plan.quantities[i];
    AnswerColumn column = empty_column(unused(quantity.label, names), Type::kNumber, is_whole(quantity));
    if (!is_whole(quantity)) column.grid = quantity.step;
    for (const NoisedGroup& group : noised.groups) add_value(column, group.numbers[i], Type::kNumber);
    table.columns.push_back(std::move(column));
  }
  return table;
}

Result<std::vector<NoisedGroup>> groups_in(const AnswerTable& table, std::span<const engine::Type> keys,
                                           std::size_t numbers) {
  const Error wrong = verification_failed("a bought table has other columns than its question");
  if (table.columns.size() != keys.size() + numbers) return wrong;
  std::vector<NoisedGroup> groups(table.rows());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const AnswerColumn& column = table.columns[c];
    for (std::size_t row = 0; row < groups.size(); ++row) {
      const bool missing = std::binary_search(column.missing.begin(), column.missing.end(), row);
      if (c >= keys.size()) {
        if (missing) return wrong;
        if (const auto* wholes = std::get_if<AnswerColumn::Integers>(&column.cells)) {
          groups[row].numbers.push_back(static_cast<double>((*wholes)[row]));
        } else if (const auto* reals = std::get_if<AnswerColumn::Numbers>(&column.cells)) {
          groups[row].numbers.push_back((*reals)[row]);
        } else {
          return wrong;
        }
        continue;
      }
      Cell cell;
      if (!missing) {
        if (const auto* wholes = std::get_if<AnswerColumn::Integers>(&column.cells)) {
          cell = (*wholes)[row];
        } else if (const auto* truths = std::get_if<AnswerColumn::Truths>(&column.cells)) {
          cell = static_cast<std::int64_t>((*truths)[row]);
        } else if (const auto* texts = std::get_if<AnswerColumn::Texts>(&column.cells)) {
          if (keys[c] == Type::kDate) {
            const auto days = engine::parse_date((*texts)[row]);
            if (!days) return wrong;
            cell = static_cast<std::int64_t>(*days);
          } else {
            cell = (*texts)[row];
          }
        } else {
          return wrong;
        }
      }
      groups[row].keys.push_back(std::move(cell));
    }
  }
  return groups;
}

}  // namespace noisefloor::query
