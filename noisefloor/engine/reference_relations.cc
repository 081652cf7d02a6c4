#include "noisefloor/engine/reference_relations.h"

#include <algorithm>
#include <map>
#include <set>

#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/wide_int.h"

namespace noisefloor::engine {
namespace {

using Rows = std::vector<ValueRow>;
using Columns = std::vector<NamedColumn>;

struct RowOrder {
  bool operator()(const ValueRow& a, const ValueRow& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (const auto order = compare(a[i], b[i]); order != 0) return order < 0;
    }
    return false;
  }
};

bool is_null(const Value& value) { return std::holds_alternative<std::monostate>(value); }

std::size_t place_of(const Columns& columns, const std::string& name) {
  const auto at = std::ranges::find(columns, name, &NamedColumn::name);
  NF_CHECK(at != columns.end(), "an expression names columns of the relation below it");
  return static_cast<std::size_t>(at - columns.begin());
}

class Reader {
 public:
  explicit Reader(const ScanRows& scan) : scan_(scan) {}

  Result<Rows> rows(const Relation& relation) const {
    return std::visit([&](const auto& node) { return rows_of(node); }, relation.node);
  }

 private:
  Result<Rows> rows_of(const Scan& scan) const {
    NF_TRY(Rows rows, scan_(scan));
    for (ValueRow& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = fitted(scan.columns[i].type, std::move(row[i]));
    }
    return rows;
  }

  Result<Rows> rows_of(const Filter& filter) const {
    NF_TRY(const Rows input, rows(*filter.input));
    const Columns columns = columns_of(*filter.input);
    Rows kept;
    for (const ValueRow& row : input) {
      if (value_in(filter.condition, columns, row) == Value(true)) kept.push_back(row);
    }
    return kept;
  }

  Result<Rows> rows_of(const Project& project) const {
    NF_TRY(const Rows input, rows(*project.input));
    const Columns columns = columns_of(*project.input);
    Rows made;
    for (const ValueRow& row : input) {
      ValueRow& out = made.emplace_back();
      for (const NamedExpression& e : project.columns) out.push_back(value_in(e.expression, columns, row));
    }
    return made;
  }

  Result<Rows> rows_of(const Join& join) const {
    NF_TRY(const Rows left, rows(*join.left));
    NF_TRY(const Rows right, rows(*join.right));
    const Columns left_columns = columns_of(*join.left);
    const Columns right_columns = columns_of(*join.right);
    const auto match = [&](const ValueRow& a, const ValueRow& b) {
      return std::ranges::all_of(join.equal, [&](const auto& pair) {
        const Value& x = a[place_of(left_columns, pair.first)];
        const Value& y = b[place_of(right_columns, pair.second)];
        return !is_null(x) && !is_null(y) && compare(x, y) == 0;
      });
    };
    Rows made;
    for (const ValueRow& a : left) {
      bool matched = false;
      for (const ValueRow& b : right) {
        if (!match(a, b)) continue;
        matched = true;
        if (join.kind == JoinKind::kInner || join.kind == JoinKind::kLeft) {
          made.push_back(a);
          made.back().insert(made.back().end(), b.begin(), b.end());
        }
      }
      if ((join.kind == JoinKind::kSemi && matched) || (join.kind == JoinKind::kAnti && !matched)) made.push_back(a);
      if (join.kind == JoinKind::kLeft && !matched) {
        made.push_back(a);
        made.back().resize(a.size() + right_columns.size());
      }
    }
    return made;
  }

  Result<Rows> rows_of(const UnionAll& all) const {
    Rows made;
    const Columns first = columns_of(*all.inputs.front());
    for (const RelationPtr& input : all.inputs) {
      NF_TRY(const Rows more, rows(*input));
      const Columns columns = columns_of(*input);
      for (const ValueRow& row : more) {
        ValueRow& out = made.emplace_back();
        for (const NamedColumn& column : first) out.push_back(row[place_of(columns, column.name)]);
      }
    }
    return made;
  }

  Result<Rows> rows_of(const GroupRows& groups) const {
    NF_TRY(const Rows input, rows(*groups.input));
    const Columns columns = columns_of(*groups.input);
    std::map<ValueRow, Rows, RowOrder> parts;
    if (groups.keys.empty()) parts[{}];
    for (const ValueRow& row : input) {
      ValueRow key;
      for (const NamedExpression& e : groups.keys) key.push_back(value_in(e.expression, columns, row));
      parts[key].push_back(row);
    }
    Rows made;
    for (const auto& [key, part] : parts) {
      ValueRow& out = made.emplace_back(key);
      for (const GroupRows::Folded& fold : groups.folds) out.push_back(folded_value(fold, columns, part));
    }
    return made;
  }

  static Value folded_value(const GroupRows::Folded& fold, const Columns& columns, const Rows& part) {
    using Fold = GroupRows::Fold;
    if (fold.fold == Fold::kCountRows) return static_cast<std::int64_t>(part.size());
    std::vector<Value> values;
    for (const ValueRow& row : part) {
      if (Value value = value_in(fold.argument, columns, row); !is_null(value)) values.push_back(std::move(value));
    }
    std::ranges::sort(values, [](const Value& a, const Value& b) { return compare(a, b) < 0; });
    if (fold.fold == Fold::kCount) return static_cast<std::int64_t>(values.size());
    if (fold.fold == Fold::kCountDistinct) {
      const auto same = [](const Value& a, const Value& b) { return compare(a, b) == 0; };
      values.erase(std::unique(values.begin(), values.end(), same), values.end());
      return static_cast<std::int64_t>(values.size());
    }
    if (values.empty()) return {};
    if (fold.fold == Fold::kMin) return values.front();
    if (fold.fold == Fold::kMax) return values.back();
    Int128 sum = 0;
    for (const Value& value : values) sum += std::get<std::int64_t>(value);
    return saturate_to_int64(sum);
  }

  Result<Rows> rows_of(const NumberRows& numbered) const {
    NF_TRY(Rows input, rows(*numbered.input));
    const Columns columns = columns_of(*numbered.input);
    const auto before = [&](const ValueRow& a, const ValueRow& b) {
      for (const auto& [e, descending] : numbered.order) {
        const Value x = value_in(e, columns, a);
        const Value y = value_in(e, columns, b);
        const auto order = descending && !is_null(x) && !is_null(y) ? compare(y, x) : compare(x, y);
        if (order != 0) return order < 0;
      }
      return RowOrder()(a, b);
    };
    std::ranges::stable_sort(input, before);
    std::map<ValueRow, std::int64_t, RowOrder> places;
    for (ValueRow& row : input) {
      ValueRow partition;
      for (const Expression& e : numbered.partition) partition.push_back(value_in(e, columns, row));
      row.push_back(++places[partition]);
    }
    return input;
  }

  Result<Rows> rows_of(const Distinct& distinct) const {
    NF_TRY(const Rows input, rows(*distinct.input));
    const std::set<ValueRow, RowOrder> different(input.begin(), input.end());
    return Rows(different.begin(), different.end());
  }

  const ScanRows& scan_;
};

}  // namespace

Value value_in(const Expression& e, const std::vector<NamedColumn>& columns, const ValueRow& row) {
  return evaluate(e, [&](std::string_view name) { return row[place_of(columns, std::string(name))]; });
}

Result<std::vector<ValueRow>> reference_rows(const Relation& relation, const ScanRows& scan) {
  return Reader(scan).rows(relation);
}

}  // namespace noisefloor::engine
