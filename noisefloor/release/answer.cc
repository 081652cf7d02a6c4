#include "noisefloor/release/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

Error bad(std::string_view where, std::string_view why) {
  return invalid_argument(fmt::format("{} of the answer {}", shown(where), why));
}

// Checks that names are UTF-8, not empty and not repeated.
class Names {
 public:
  Result<void> add(const std::string& name) {
    if (name.empty() || !is_utf8(name)) return bad(name, "needs a name that is UTF-8 text");
    if (!seen_.insert(name).second) return bad(name, "is there twice; each name must be unique");
    return success();
  }

 private:
  std::set<std::string> seen_;
};

bool is_good_grid(const std::optional<double>& grid) { return !grid || (std::isfinite(*grid) && *grid > 0); }

// An infinite end must be on its own side.
bool is_good_range(const Interval& range) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return range.lower <= range.upper && range.lower < kInfinite && range.upper > -kInfinite;
}

struct IsGoodDatum {
  bool operator()(double value) const { return std::isfinite(value); }
  bool operator()(const std::string& text) const { return is_utf8(text); }
  bool operator()(std::int64_t) const { return true; }
  bool operator()(bool) const { return true; }
};

bool are_good_cells(const AnswerColumn& column) {
  return std::visit(
      [](const auto& cells) {
        for (const auto& cell : cells) {
          if (!IsGoodDatum{}(cell)) return false;
        }
        return true;
      },
      column.cells);
}

// Missing rows are ascending, within the table, and their cells are empty.
bool are_good_gaps(const AnswerColumn& column) {
  const bool ascending = std::is_sorted(column.missing.begin(), column.missing.end(), std::less_equal<>());
  if (!ascending || (!column.missing.empty() && column.missing.back() >= column.rows())) return false;
  return std::visit(
      [&](const auto& cells) {
        using Cell = typename std::decay_t<decltype(cells)>::value_type;
        return std::all_of(column.missing.begin(), column.missing.end(),
                           [&](std::size_t row) { return cells[row] == Cell{}; });
      },
      column.cells);
}

Result<void> check_column(const AnswerColumn& column, std::size_t rows) {
  if (column.rows() != rows) return bad(column.name, "is a column of another length than the first");
  if (!are_good_cells(column)) return bad(column.name, "has a cell that is not a finite number or not UTF-8 text");
  if (!are_good_gaps(column)) return bad(column.name, "has missing rows that are out of order or not empty");
  const bool is_number = std::holds_alternative<AnswerColumn::Numbers>(column.cells);
  const bool has_range = is_number || std::holds_alternative<AnswerColumn::Integers>(column.cells);
  if (!is_good_grid(column.grid) || (column.grid && !is_number))
    return bad(column.name, "has a grid that is not a finite number above 0, or has no numbers");
  if (column.ranges.empty()) {
    if (column.confidence && rows > 0) return bad(column.name, "has a confidence and no ranges");
    return success();
  }
  const bool good = has_range && column.confidence && column.ranges.size() == rows &&
                    std::all_of(column.ranges.begin(), column.ranges.end(), is_good_range);
  if (!good) return bad(column.name, "has ranges that do not fit its cells");
  return success();
}

Result<void> check_table(const AnswerValue& value, const AnswerTable& table) {
  if (table.columns.empty()) return bad(value.name, "is a table without columns");
  if (value.grid || value.error_bars) return bad(value.name, "is a table: grids and error bars belong to its columns");
  Names names;
  for (const AnswerColumn& column : table.columns) {
    NF_TRY_VOID(names.add(column.name));
    NF_TRY_VOID(check_column(column, table.rows()));
  }
  return success();
}

Result<void> check_value(const AnswerValue& value) {
  if (const auto* table = std::get_if<AnswerTable>(&value.value)) return check_table(value, *table);
  const bool good = std::visit(
      [](const auto& datum) {
        if constexpr (std::is_same_v<std::decay_t<decltype(datum)>, AnswerTable>) {
          return false;
        } else {
          return IsGoodDatum{}(datum);
        }
      },
      value.value);
  if (!good) return bad(value.name, "is not a finite number or not UTF-8 text");
  const bool is_number = std::holds_alternative<double>(value.value);
  if (!is_good_grid(value.grid) || (value.grid && !is_number))
    return bad(value.name, "has a grid that is not a finite number above 0, or is not a number");
  const bool may_have_bars = is_number || std::holds_alternative<std::int64_t>(value.value);
  if (value.error_bars && (!may_have_bars || !is_good_range(value.error_bars->range))) {
    return bad(value.name, "has error bars that do not fit it");
  }
  return success();
}

Result<void> check_content(const AnswerContent& content) {
  Names names;  // one set for all parts: readers find each thing by its name
  for (const AnswerValue& value : content.values) {
    NF_TRY_VOID(names.add(value.name));
    NF_TRY_VOID(check_value(value));
  }
  for (const AnswerBound& bound : content.bounds) {
    NF_TRY_VOID(names.add(bound.name));
    if (!std::isfinite(bound.at_most)) return bad(bound.name, "is not a finite number");
  }
  for (const AnswerFact& fact : content.facts) {
    NF_TRY_VOID(names.add(fact.name));
    if (!std::visit(IsGoodDatum{}, fact.value) || !is_utf8(fact.meaning)) {
      return bad(fact.name, "is not a finite number or not UTF-8 text");
    }
  }
  return success();
}

}  // namespace

std::size_t AnswerColumn::rows() const {
  return std::visit([](const auto& all) { return all.size(); }, cells);
}

const AnswerColumn* AnswerTable::find(std::string_view name) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const AnswerColumn& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

const AnswerValue* find_value(const Answer& answer, std::string_view name) {
  for (const AnswerValue& value : answer.content.values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

const AnswerFact* find_fact(const Answer& answer, std::string_view name) {
  for (const AnswerFact& fact : answer.content.facts) {
    if (fact.name == name) return &fact;
  }
  return nullptr;
}

Result<void> check_answer(const Answer& answer) {
  NF_TRY_VOID(check_content(answer.content));
  if (answer.mechanism.empty() || !is_utf8(answer.mechanism)) return bad("mechanism", "needs a name");
  if (answer.replayed && !contains<NonPrivateEvent>(answer.statement.event)) {
    return bad("statement", "claims privacy for noise that can be repeated");
  }
  const auto configuration = nlohmann::ordered_json::parse(answer.configuration, nullptr, false);
  if (!configuration.is_object() || configuration.dump() != answer.configuration) {
    return bad("configuration", "must be a JSON object without spaces");
  }
  const bool good_text = is_utf8(answer.data) && is_utf8(answer.program_version) &&
                         (!answer.dataset || (is_utf8(answer.dataset->name) && is_utf8(answer.dataset->digest)));
  if (!good_text) return bad("provenance", "must be UTF-8 text");
  return success();
}

}  // namespace noisefloor
