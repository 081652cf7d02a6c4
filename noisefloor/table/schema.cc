#include "noisefloor/table/schema.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <string_view>

namespace noisefloor {
namespace {

constexpr std::size_t kMaxDimension = std::size_t{1} << 24;

Error refused(std::string_view message) { return invalid_argument(one_line(message)); }

Result<void> check_texts(std::string_view what, const std::vector<std::string>& texts, std::size_t least) {
  if (texts.size() < least) return refused(fmt::format("{} must list at least {}", what, least));
  std::set<std::string_view> seen;
  for (const std::string& text : texts) {
    if (!seen.insert(text).second) return refused(fmt::format("{} lists '{}' twice", what, text));
  }
  return success();
}

std::size_t features_of(const NumericColumn& /*column*/) { return 1; }
std::size_t features_of(const CategoricalColumn& column) {
  return column.values.size() + (column.unlisted == Unlisted::kOther ? 1 : 0);
}

Result<void> check_column(const NumericColumn& column) {
  const std::string what = fmt::format("column '{}'", column.name);
  NF_TRY_VOID(check_bounds(what, column.lower, column.upper));
  if (column.missing && !(*column.missing >= column.lower && *column.missing <= column.upper)) {
    return refused(fmt::format("{}: the constant for missing values must be in its bounds, {} to {}; got {}", what,
                               column.lower, column.upper, *column.missing));
  }
  return success();
}

Result<void> check_column(const CategoricalColumn& column) {
  return check_texts(fmt::format("column '{}': values", column.name), column.values, 1);
}

Result<void> check_column(const LabelColumn& column) {
  const std::string what = fmt::format("label column '{}': classes", column.name);
  NF_TRY_VOID(check_texts(what, column.classes, 2));
  if (column.classes.size() > std::numeric_limits<std::int32_t>::max()) return refused(what + ": too many");
  return success();
}

Result<void> check_column(const TargetColumn& column) {
  return check_bounds(fmt::format("target column '{}'", column.name), column.lower, column.upper);
}

}  // namespace

std::size_t Schema::dimension() const {
  std::size_t sum = 0;
  for (const FeatureColumn& column : features) {
    sum += std::visit([](const auto& c) { return features_of(c); }, column);
  }
  return sum;
}

Result<void> check_schema(const Schema& schema) {
  if (schema.features.empty()) return refused("a schema needs at least one feature column");
  std::set<std::string_view> names;
  const auto check_one = [&](const auto& column) -> Result<void> {
    if (!names.insert(column.name).second) {
      return refused(fmt::format("column '{}' is in the schema twice; a column is one feature column or the outcome",
                                 column.name));
    }
    return check_column(column);
  };
  for (const FeatureColumn& column : schema.features) NF_TRY_VOID(std::visit(check_one, column));
  NF_TRY_VOID(std::visit(check_one, schema.outcome));
  if (schema.person) {
    if (names.count(schema.person->name) > 0) {
      return refused(fmt::format("column '{}' says whose record it is: it can be neither a feature nor the outcome",
                                 schema.person->name));
    }
    if (schema.person->rows_each == 0) {
      return refused(fmt::format("column '{}': of each person at least 1 row takes part; got 0", schema.person->name));
    }
  }
  NF_TRY_VOID(check_texts("missing values", schema.missing, 0));
  if (schema.dimension() > kMaxDimension) {
    return refused(fmt::format("a schema may have at most {} features; got {}", kMaxDimension, schema.dimension()));
  }
  return success();
}

}  // namespace noisefloor
