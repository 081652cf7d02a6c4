#include "noisefloor/query/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"
#include "noisefloor/query/contribution.h"
#include "noisefloor/query/grouping.h"
#include "noisefloor/query/measured.h"
#include "noisefloor/query/parse.h"

namespace noisefloor::query {

namespace {

constexpr const char* kOfChosenRows = " of chosen rows";

using engine::Expression;
using engine::Function;
using engine::Type;

// What is computed from the noised numbers: the list, HAVING and ORDER BY.
struct Answered {
  std::vector<OutputColumn> outputs;
  std::optional<Expression> having;
  std::vector<std::pair<Expression, bool>> order;
};

class Planner {
 public:
  Planner(const DescribedTables& policy, const PlanOptions& options)
      : policy_(policy), options_(options), binder_(policy, options) {}

  Result<Plan> plan(const Statement& statement);

 private:
  Result<void> check_select(const Select& select) const;
  Result<Bound> bind_answer(const Term& term, const Select& select, bool hidden);
  Result<Answered> bind_answers(const Select& select);
  Result<void> bound_contributions();
  Result<std::uint64_t> tightened(std::optional<std::uint64_t> asked, std::uint64_t allowed,
                                  std::string_view what) const;
  Result<void> add_quantities(Answered& answered);
  Result<void> add_rows();
  void add_origin();
  void add_notes();
  [[nodiscard]] std::string canonical() const;

  const DescribedTables& policy_;
  const PlanOptions& options_;
  Binder binder_;
  Rows rows_;
  Grouping grouping_;
  std::optional<Measured> measured_;
  Plan plan_;
  // What one unit may do.
  std::uint64_t groups_ = 1;
  std::uint64_t rows_per_group_ = 1;
  std::optional<std::uint64_t> rows_per_unit_;
  bool samples_ = false;  // rows are chosen, and not only clamped
  std::string limits_;    // what a unit is held to, before the query's own groups and rows say less
};

Result<void> Planner::check_select(const Select& select) const {
  if (!select.all.empty())
    return invalid_argument(
        "UNION ALL of answers is not understood: ask the queries one by one, or take UNION ALL of rows in a subquery");
  if (select.limit.has_value() && *select.limit == 0) return invalid_argument("LIMIT 0 shows nothing: leave it out");
  bool aggregates = select.having.has_value() || !select.group.empty() || select.distinct;
  for (const Target& target : select.targets) {
    if (target.term.kind == Term::Kind::kStar)
      return invalid_argument("SELECT * shows rows as they are: ask for an aggregate such as count(*), with GROUP BY");
    aggregates = aggregates || has_aggregate(target.term);
  }
  if (!aggregates)
    return invalid_argument(
        "this query shows rows as they are: ask for an aggregate such as count(*) or avg(…), with GROUP BY");
  if (select.targets.empty())
    return invalid_argument("the list after SELECT is empty: ask for an aggregate such as count(*)");
  if (select.distinct && !select.group.empty())
    return invalid_argument(
        "DISTINCT with GROUP BY is not understood: leave out DISTINCT, because groups differ already");
  if (select.distinct)
    for (const Target& target : select.targets)
      if (has_aggregate(target.term))
        return invalid_argument("DISTINCT with aggregates is not understood: leave out DISTINCT, or count(DISTINCT …)");
  return success();
}

// A term over the answer: keys are k0, k1, …, aggregates are q0, … and d0, …; the rest is arithmetic on noised numbers.
Result<Bound> Planner::bind_answer(const Term& term, const Select& select, bool hidden) {
  return bind_term(term, [&](const Term& each) -> Result<std::optional<Bound>> {
    if (is_aggregate(each)) {
      NF_TRY(Bound bound, measured_->add(each, hidden));
      return std::optional<Bound>(std::move(bound));
    }
    if (each.kind == Term::Kind::kCall && each.over != nullptr)
      return invalid_argument("window functions over groups are not understood: compute them from the released table");
    if (has_aggregate(each) || each.kind == Term::Kind::kStar) return std::optional<Bound>();
    const bool subquery =
        each.kind == Term::Kind::kScalarQuery || each.kind == Term::Kind::kExists || each.kind == Term::Kind::kInQuery;
    if (subquery) return std::optional<Bound>();
    const Result<Bound> bound = binder_.bind_over(rows_, each);
    if (bound.has_value()) {
      for (std::size_t i = 0; i < grouping_.keys.size(); ++i) {
        const Key& key = grouping_.keys[i];
        if (!(key.bound.expression == bound.value().expression)) continue;
        Bound column{.expression = engine::column(fmt::format("k{}", i), key.cell.type)};
        column.integers = key.bound.integers;
        if (column.type() == Type::kInteger) {  // arithmetic on answers is that of numbers
          column.clamp = !column.integers.stated();
        }
        return std::optional<Bound>(std::move(column));
      }
    }
    if (each.kind == Term::Kind::kColumn) {
      if (!bound.has_value()) return bound.error();
      return invalid_argument(
          fmt::format("the column {} must be in GROUP BY or within an aggregate", shown(each.path.back())));
    }
    static_cast<void>(select);
    return std::optional<Bound>();
  });
}

std::string name_of_output(const Target& target) { return target.name.empty() ? label_of(target.term) : target.name; }

Result<Answered> Planner::bind_answers(const Select& select) {
  Answered answered;
  for (const Target& target : select.targets) {
    NF_TRY(Bound bound, bind_answer(target.term, select, false));
    answered.outputs.push_back({name_of_output(target), std::move(bound.expression)});
  }
  if (select.having.has_value()) {
    NF_TRY(Bound bound, bind_answer(*select.having, select, true));
    if (bound.type() != Type::kTruth) return invalid_argument("HAVING takes conditions: compare with something");
    if (!conjuncts_of(bound.expression).empty()) answered.having = std::move(bound.expression);
  }
  for (const SortTerm& each : select.order) {
    if (each.nulls_first.has_value())
      return invalid_argument("NULLS FIRST and NULLS LAST are not understood here: leave them out");
    const Term* meant = &each.term;
    std::optional<std::size_t> place;
    if (meant->kind == Term::Kind::kInteger) {
      if (meant->integer < 1 || static_cast<std::size_t>(meant->integer) > select.targets.size())
        return invalid_argument(
            fmt::format("ORDER BY {} names no column of the list: it has {}", meant->integer, select.targets.size()));
      place = static_cast<std::size_t>(meant->integer) - 1;
    } else if (meant->kind == Term::Kind::kColumn && meant->path.size() == 1) {
      for (std::size_t i = 0; i < select.targets.size() && !place.has_value(); ++i)
        if (select.targets[i].name == meant->path[0]) place = i;
    }
    if (place.has_value()) {
      answered.order.emplace_back(answered.outputs[*place].value, each.descending);
      continue;
    }
    NF_TRY(Bound bound, bind_answer(*meant, select, true));
    answered.order.emplace_back(std::move(bound.expression), each.descending);
  }
  return answered;
}

Result<std::uint64_t> Planner::tightened(std::optional<std::uint64_t> asked, std::uint64_t allowed,
                                         std::string_view what) const {
  if (!asked.has_value()) return allowed;
  if (*asked == 0) return invalid_argument(fmt::format("{} must be 1 or above", what));
  if (*asked > allowed)
    return invalid_argument(
        fmt::format("{} is {}, and the policy allows at most {}: state no more than that", what, *asked, allowed));
  return *asked;
}

Result<void> Planner::bound_contributions() {
  ContributionLimits limits = rows_.limits;
  NF_TRY(groups_, tightened(options_.max_groups, limits.max_groups, "the number of groups a unit may be in"));
  NF_TRY(rows_per_group_,
         tightened(options_.max_rows_per_group, limits.max_rows_per_group, "the number of rows of a unit in a group"));
  if (limits.max_rows_per_unit.has_value()) {
    NF_TRY(rows_per_unit_,
           tightened(options_.max_rows_per_unit, *limits.max_rows_per_unit, "the number of rows of a unit"));
  } else if (options_.max_rows_per_unit.has_value()) {
    NF_TRY(rows_per_unit_, tightened(options_.max_rows_per_unit, kMostRows, "the number of rows of a unit"));
  }
  limits_ = fmt::format("{} {} {}", groups_, rows_per_group_, rows_per_unit_.value_or(0));
  if (rows_.row_unit) {
    groups_ = rows_per_group_ = 1;
    rows_per_unit_.reset();
    return success();
  }
  const bool grouped = !grouping_.keys.empty();
  if (!grouped) {
    // The one group holds all rows of a unit: what the policy says of all its rows counts, where it says it.
    if (limits.max_rows_per_unit.has_value()) {
      rows_per_group_ = options_.max_rows_per_group.has_value()
                            ? std::min(*options_.max_rows_per_group, *rows_per_unit_)
                            : *rows_per_unit_;
    } else if (rows_per_unit_.has_value()) {
      rows_per_group_ = std::min(rows_per_group_, *rows_per_unit_);
    }
    groups_ = 1;
    rows_per_unit_.reset();
  }
  if (rows_.rows_per_unit.has_value()) {
    rows_per_group_ = std::min(rows_per_group_, *rows_.rows_per_unit);
    groups_ = std::min(groups_, *rows_.rows_per_unit);
  }
  if (!grouped) return success();
  const bool by_unit =
      std::all_of(grouping_.keys.begin(), grouping_.keys.end(), [](const Key& key) { return key.bound.per_unit; });
  if (by_unit) {
    groups_ = 1;
    binder_.add_note("the keys are the same in all rows of a unit: a unit is in one group");
  }
  if (plan_.measurement.listed.has_value())
    groups_ = std::min<std::uint64_t>(groups_, std::max<std::size_t>(plan_.measurement.listed->size(), 1));
  if (rows_.unique_with_unit.has_value()) {
    // Rows of a unit differ in these: where all of them are keys, as they were when this was proved, a unit has one row
    // in a group.
    const auto is_key = [&](const Expression& each) {
      return std::any_of(grouping_.keys.begin(), grouping_.keys.end(),
                         [&](const Key& key) { return key.cell == each; });
    };
    if (std::all_of(rows_.unique_with_unit->begin(), rows_.unique_with_unit->end(), is_key)) rows_per_group_ = 1;
  }
  if (rows_per_unit_.has_value()) {
    rows_per_group_ = std::min(rows_per_group_, *rows_per_unit_);
    groups_ = std::min(groups_, *rows_per_unit_);
    if (static_cast<Uint128>(groups_) * rows_per_group_ <= *rows_per_unit_ ||
        (rows_.rows_per_unit.has_value() && *rows_.rows_per_unit <= *rows_per_unit_))
      rows_per_unit_.reset();
  }
  return success();
}

// Quantities in the order of their canonical texts, with their bounds; outputs are rewritten to that order.
Result<void> Planner::add_quantities(Answered& answered) {
  const std::vector<Measure>& measures = measured_->measures();
  std::vector<std::pair<std::string, std::size_t>> texts;
  for (std::size_t i = 0; i < measures.size(); ++i) {
    const Measure& each = measures[i];
    texts.emplace_back(fmt::format("{} {:.17g} {}", static_cast<int>(each.kind), each.level,
                                   each.argument.has_value() ? canonical_text(*each.argument) : ""),
                       i);
    samples_ = samples_ || each.kind == Quantity::Kind::kQuantile || each.kind == Quantity::Kind::kDistinct;
  }
  samples_ = samples_ || !measured_->derived().empty();
  const bool proved = rows_.row_unit || (rows_.rows_per_unit.has_value() && *rows_.rows_per_unit <= rows_per_group_);
  samples_ = samples_ && !proved;
  std::sort(texts.begin(), texts.end());
  std::map<std::string, Expression> renamed;
  std::vector<std::size_t> places(measures.size());
  for (const auto& [text, at] : texts) {
    const Measure& from = measures[at];
    Quantity quantity;
    engine::Aggregate aggregate;
    quantity.kind = from.kind;
    quantity.label = from.label;
    quantity.hidden = from.hidden;
    quantity.groups = groups_;
    aggregate.argument = from.argument;
    Contribution part{.groups = groups_, .one_group = grouping_.keys.empty(), .max_rows = rows_per_unit_};
    const auto rows = static_cast<std::int64_t>(rows_per_group_);
    switch (from.kind) {
      case Quantity::Kind::kCount:
        aggregate.kind = engine::Aggregate::Kind::kRows;
        part.high = rows;
        break;
      case Quantity::Kind::kUnits:
        aggregate.kind = engine::Aggregate::Kind::kUnits;
        break;
      case Quantity::Kind::kDistinct:
        aggregate.kind = engine::Aggregate::Kind::kDistinct;
        part.high = from.one_value ? 1 : rows;
        break;
      case Quantity::Kind::kQuantile:
        aggregate.kind = engine::Aggregate::Kind::kValues;
        quantity.level = from.level;
        part.high = rows;
        break;
      case Quantity::Kind::kSum: {
        aggregate.kind = engine::Aggregate::Kind::kSum;
        const Int128 low = std::min<Int128>(from.grid.lower, 0) * static_cast<Int128>(rows_per_group_);
        const Int128 high = std::max<Int128>(from.grid.upper, 0) * static_cast<Int128>(rows_per_group_);
        if (low < -(Int128{1} << 62) || high > (Int128{1} << 62))
          return invalid_argument(
              fmt::format("{} of one unit may exceed 2^62 steps: state narrower bounds", shown(from.label)));
        part.low = static_cast<std::int64_t>(low);
        part.high = static_cast<std::int64_t>(high);
        part.each = std::max(std::abs(from.grid.lower), std::abs(from.grid.upper));
        break;
      }
    }
    const Sensitivities sensitivities = sensitivities_of(part, plan_.adjacency);
    quantity.l1 = sensitivities.l1;
    quantity.l2 = sensitivities.l2;
    quantity.per_group = std::max(-part.low, part.high);
    const bool clamped = from.kind == Quantity::Kind::kCount || from.kind == Quantity::Kind::kSum;
    if (clamped && !proved) {
      aggregate.lower = part.low;
      aggregate.upper = part.high;
    }
    if (from.kind == Quantity::Kind::kSum || from.kind == Quantity::Kind::kQuantile) {
      quantity.step = from.grid.step;
      quantity.lower = from.grid.lower;
      quantity.upper = from.grid.upper;
      quantity.scale = std::max({std::abs(from.grid.from), std::abs(from.grid.to), from.grid.step});
    }
    places[at] = plan_.quantities.size();
    // What a unit with many rows adds differs between rows that are chosen and a sum that is clamped; how many rows it
    // has, at most so many, does not.
    const bool differs = from.kind == Quantity::Kind::kSum || (from.kind == Quantity::Kind::kCount && from.argument);
    plan_.origin.quantities.push_back(text_of(from) + (samples_ && differs ? kOfChosenRows : ""));
    quantity.aggregate = plan_.quantities.size();
    renamed.emplace(fmt::format("q{}", at), engine::column(fmt::format("q{}", places[at]), Type::kNumber));
    plan_.quantities.push_back(std::move(quantity));
    plan_.measurement.aggregates.push_back(std::move(aggregate));
  }
  std::vector<std::pair<std::string, std::size_t>> order;
  std::vector<Derived> derived = measured_->derived();
  for (std::size_t i = 0; i < derived.size(); ++i) {
    Derived& each = derived[i];
    each.sum = places[each.sum];
    each.count = places[each.count];
    if (each.kind != Derived::Kind::kMean) each.squares = places[each.squares];
    if (samples_) each.plain_sum += kOfChosenRows;
    order.emplace_back(fmt::format("{} {} {} {}", static_cast<int>(each.kind), each.sum, each.squares, each.count), i);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [text, at] : order) {
    renamed.emplace(fmt::format("d{}", at), engine::column(fmt::format("d{}", plan_.derived.size()), Type::kNumber));
    plan_.derived.push_back(std::move(derived[at]));
  }
  for (OutputColumn& each : answered.outputs) each.value = substituted(each.value, renamed);
  if (answered.having.has_value()) answered.having = substituted(*answered.having, renamed);
  for (auto& [each, descending] : answered.order) each = substituted(each, renamed);
  return success();
}

// Every combination of public keys, if there are not too many.
std::optional<std::vector<std::vector<engine::Cell>>> combinations(const std::vector<Key>& keys) {
  std::vector<std::vector<engine::Cell>> all{{}};
  for (const Key& key : keys) {
    if (!key.values.has_value() || key.values->size() * all.size() > kMostGroups) return std::nullopt;
    std::vector<std::vector<engine::Cell>> next;
    for (const std::vector<engine::Cell>& before : all)
      for (const engine::Cell& cell : *key.values) {
        next.push_back(before);
        next.back().push_back(cell);
      }
    all = std::move(next);
  }
  return all;
}

Result<void> Planner::add_rows() {
  std::vector<engine::NamedExpression> columns;
  std::set<std::string> read;
  if (rows_.unit.has_value()) {
    columns.push_back({"u", *rows_.unit});
    plan_.measurement.unit = "u";
  }
  for (std::size_t i = 0; i < grouping_.keys.size(); ++i) {
    const std::string name = fmt::format("k{}", i);
    columns.push_back({name, grouping_.keys[i].cell});
    plan_.measurement.keys.push_back(name);
  }
  std::map<std::string, Type> types;
  for (const engine::Aggregate& each : plan_.measurement.aggregates)
    if (each.argument.has_value()) add_columns(*each.argument, read);
  Rows probe = rows_;
  collapse(probe);
  for (const engine::NamedColumn& each : engine::columns_of(*probe.leaves[0]))
    if (read.count(each.name) != 0) columns.push_back({each.name, engine::column(each.name, each.type)});
  if (columns.empty()) columns.push_back({"one", engine::constant(std::int64_t{1})});
  std::set<std::string> needed;
  for (const engine::NamedExpression& each : columns) needed.insert(each.name);
  plan_.measurement.rows = pruned(built(rows_, columns), needed);
  plan_.measurement.one_row_per_unit = rows_.rows_per_unit == 1u && rows_.unit.has_value();
  engine::Bounding& bounding = plan_.measurement.bounding;
  const std::size_t listed = plan_.measurement.listed.has_value() ? plan_.measurement.listed->size() : kMostGroups;
  const bool by_unit =
      std::all_of(grouping_.keys.begin(), grouping_.keys.end(), [](const Key& key) { return key.bound.per_unit; });
  const bool few = by_unit || listed <= groups_ || (rows_.rows_per_unit.has_value() && *rows_.rows_per_unit <= groups_);
  if (!grouping_.keys.empty() && !few && !rows_.row_unit) bounding.max_groups = groups_;
  if (samples_) bounding.max_rows_per_group = rows_per_group_;
  bounding.max_rows = rows_per_unit_;
  return success();
}

void Planner::add_origin() {
  Rows all = rows_;
  all.conditions.clear();
  collapse(all);
  plan_.origin.rows = fmt::format("{} of {} by {} {} {}", canonical_text(*all.leaves[0]),
                                  rows_.unit.has_value() ? canonical_text(*rows_.unit) : "rows", limits_,
                                  name_of(plan_.unit), name_of(plan_.adjacency));
  plan_.origin.conditions = rows_.conditions;
  for (const Key& key : grouping_.keys) plan_.origin.keys.push_back(key.cell);
}

void Planner::add_notes() {
  plan_.notes = binder_.notes();
  if (rows_.row_unit) {
    plan_.notes.emplace_back("every row is a unit of its own");
    return;
  }
  if (plan_.measurement.one_row_per_unit) {
    plan_.notes.emplace_back("a unit has one row, by what the policy states or the query asks for");
    return;
  }
  const engine::Bounding& bounding = plan_.measurement.bounding;
  if (bounding.max_groups.has_value())
    plan_.notes.push_back(fmt::format("a unit counts in {} groups, chosen by a secret order", groups_));
  if (bounding.max_rows.has_value())
    plan_.notes.push_back(
        fmt::format("a unit counts with {} rows in all, chosen by a secret order", *bounding.max_rows));
  plan_.notes.push_back(
      bounding.max_rows_per_group.has_value()
          ? fmt::format("a unit counts with {} rows in a group, chosen by a secret order", rows_per_group_)
          : fmt::format("a unit adds to a group no more than {} rows could", rows_per_group_));
}

std::string Planner::canonical() const {
  std::string text = canonical_text(plan_.measurement);
  text += fmt::format(" {} {}", name_of(plan_.unit), name_of(plan_.adjacency));
  if (plan_.private_keys) text += " private";
  for (const Quantity& each : plan_.quantities)
    text += fmt::format(" (q {} {:.17g} {} {} {:.17g})", static_cast<int>(each.kind), each.step, each.per_group,
                        each.groups, each.level);
  for (const Derived& each : plan_.derived)
    text += fmt::format(" (d {} {} {} {} {:.17g} {:.17g} {:.17g})", static_cast<int>(each.kind), each.sum, each.squares,
                        each.count, each.centre, each.lower, each.upper);
  for (const OutputColumn& each : plan_.outputs) text += " out " + canonical_text(each.value);
  for (const std::vector<std::size_t>& each : plan_.groupings) text += fmt::format(" by [{}]", fmt::join(each, " "));
  if (plan_.having.has_value()) text += " having " + canonical_text(*plan_.having);
  for (const auto& [each, descending] : plan_.order) text += (descending ? " desc " : " asc ") + canonical_text(each);
  if (plan_.limit.has_value()) text += fmt::format(" limit {}", *plan_.limit);
  if (plan_.offset != 0) text += fmt::format(" offset {}", plan_.offset);
  return text;
}

Result<Plan> Planner::plan(const Statement& statement) {
  const Select& select = statement.select;
  NF_TRY_VOID(check_select(select));
  plan_.unit = policy_.unit;
  plan_.adjacency = policy_.adjacency;
  plan_.explain = statement.explain;
  binder_.open(select);
  NF_TRY(rows_, binder_.bind_source(select));
  if (rows_.is_public)
    return invalid_argument("the query reads public tables alone, and needs no privacy: ask the database itself");
  NF_TRY(grouping_, bind_grouping(binder_, rows_, select));
  measured_.emplace(binder_, rows_);
  NF_TRY(Answered answered, bind_answers(select));
  NF_TRY_VOID(binder_.check_options_used());

  if (!grouping_.keys.empty()) plan_.measurement.listed = combinations(grouping_.keys);
  plan_.private_keys = !grouping_.keys.empty() && !plan_.measurement.listed.has_value();
  for (const Key& key : grouping_.keys) {
    plan_.keys.push_back({key.label, key.cell.type, key.values.has_value()});
    if (!key.values.has_value())
      binder_.add_note(fmt::format("groups by {} are named only if enough units are in them", key.label));
  }
  if (plan_.private_keys &&
      std::all_of(plan_.keys.begin(), plan_.keys.end(), [](const KeyColumn& key) { return key.is_public; }))
    binder_.add_note(
        fmt::format("the public keys have more than {} combinations: groups are named only if enough units are in them",
                    kMostGroups));
  if (measured_->measures().empty() && !plan_.private_keys)
    return invalid_argument("all groups of this query are public already: ask for an aggregate such as count(*)");
  NF_TRY_VOID(bound_contributions());
  NF_TRY_VOID(add_quantities(answered));
  plan_.max_groups = groups_;
  NF_TRY_VOID(add_rows());
  plan_.outputs = std::move(answered.outputs);
  plan_.having = std::move(answered.having);
  plan_.order = std::move(answered.order);
  plan_.limit = select.limit;
  plan_.offset = select.offset;
  plan_.groupings = grouping_.shown;
  for (const std::vector<std::size_t>& each : plan_.groupings) {
    if (each.size() == plan_.keys.size()) continue;
    for (const Quantity& quantity : plan_.quantities)
      if (quantity.kind != Quantity::Kind::kCount && quantity.kind != Quantity::Kind::kSum)
        return invalid_argument(
            fmt::format("{} of coarser groups does not follow from finer ones: ask for it without ROLLUP, CUBE or "
                        "GROUPING SETS",
                        shown(quantity.label)));
  }
  for (const Quantity& quantity : plan_.quantities)
    if (quantity.hidden)
      binder_.add_note(
          fmt::format("{} is not in the list, but is bought for HAVING, ORDER BY or another number", quantity.label));
  add_origin();
  add_notes();
  plan_.canonical = canonical();
  return std::move(plan_);
}

}  // namespace

Result<Plan> plan_query(const DescribedTables& policy, std::string_view statement, const PlanOptions& options) {
  NF_TRY_VOID(check_policy(policy));
  NF_TRY(const Statement parsed, parse_statement(statement));
  Planner planner(policy, options);
  return planner.plan(parsed);
}

}  // namespace noisefloor::query
