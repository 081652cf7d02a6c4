#include "noisefloor/table/header_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "noisefloor/base/spelling.h"

namespace noisefloor::internal {
namespace {

using Names = std::vector<std::string_view>;

std::string_view name_of(const FeatureColumn& column) {
  return std::visit([](const auto& c) -> std::string_view { return c.name; }, column);
}
std::string_view outcome_name(const Schema& schema) {
  return std::visit([](const auto& c) -> std::string_view { return c.name; }, schema.outcome);
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// How many columns of the schema are among the cells of a line, if `separator` divides it.
std::size_t named_when_split(std::string_view line, char separator, const Names& wanted) {
  std::set<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find(separator);
    std::string_view cell = line.substr(0, end);
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    cells.insert(cell);
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return static_cast<std::size_t>(
      std::count_if(wanted.begin(), wanted.end(), [&](std::string_view name) { return cells.contains(name); }));
}

// The remedy for a first line with a single cell that holds a usual separator; "" for any other line.
std::string separator_remedy(const Names& header, char separator, const Names& wanted) {
  if (header.size() != 1) return {};
  char best = '\0';
  std::size_t most = 0;
  for (const char other : kUsualSeparators) {
    if (other == separator || header.front().find(other) == std::string_view::npos) continue;
    const std::size_t named = named_when_split(header.front(), other, wanted);
    if (best != '\0' && named <= most) continue;
    best = other;
    most = named;
  }
  if (best == '\0') return {};
  if (most == 0)
    return fmt::format("it is a single cell; if the file has another separator, set {}", separator_setting(best));
  return fmt::format("the file has another separator: set {}", separator_setting(best));
}

// The name in the first line that was probably meant, or "". See the guarantee.
std::string_view meant_by(std::string_view name, const Names& header, const Names& wanted) {
  Names others;
  std::size_t named = 0;
  for (std::string_view cell : header) {
    const bool known = contains(wanted, cell);
    named += known ? 1 : 0;
    if (known) continue;
    if (same_spelling(cell, name)) return cell;
    others.push_back(cell);
  }
  return 2 * named >= wanted.size() ? nearest_name(name, others) : std::string_view();
}

std::string remedy(std::string_view name, const Names& header, const Names& wanted, char separator) {
  if (std::string other = separator_remedy(header, separator, wanted); !other.empty()) return other;
  if (const std::string_view meant = meant_by(name, header, wanted); !meant.empty()) {
    return fmt::format("did you mean '{}'? Column names must be the file's, letter by letter", meant);
  }
  const bool any = std::any_of(wanted.begin(), wanted.end(), [&](std::string_view w) { return contains(header, w); });
  if (any) return "add it, or take it out of the schema";
  return fmt::format(
      "and none of the other columns of the schema either; if the file has no header, add one as its first "
      "line, such as {}",
      fmt::join(wanted, std::string_view(&separator, 1)));
}

}  // namespace

std::vector<std::string_view> column_names(const Schema& schema) {
  Names names;
  for (const FeatureColumn& column : schema.features) names.push_back(name_of(column));
  names.push_back(outcome_name(schema));
  if (schema.group) names.emplace_back(*schema.group);
  return names;
}

Result<void> check_header(const CsvReader& reader, const Schema& schema) {
  const Names wanted = column_names(schema);
  const Names header(reader.header().begin(), reader.header().end());
  for (std::string_view name : wanted) {
    if (contains(header, name)) continue;
    const bool outcome = name == outcome_name(schema);
    const bool group = schema.group == name;
    // A table without its outcome has no use for the group either.
    if ((outcome || (group && !contains(header, outcome_name(schema)))) && schema.outcome_may_lack) continue;
    return reader.error(fmt::format("the first line names no column '{}'; {}", name,
                                    remedy(name, header, wanted, reader.format().separator)));
  }
  return success();
}

}  // namespace noisefloor::internal
