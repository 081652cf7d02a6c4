#include "noisefloor/table/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"
#include "noisefloor/table/header_check.h"
#include "noisefloor/table/text_index.h"

namespace noisefloor {
namespace {

constexpr double kNearlyAll = 0.9;

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(std::size_t part, std::size_t whole) { return fmt::format("{:.0f} %", 100 * share(part, whole)); }

class FitReader {
 public:
  FitReader(CsvReader reader, const Schema& schema, const OddRecords& odd)
      : reader_(std::move(reader)), schema_(schema), odd_(odd) {}

  Result<Fit> read(const std::optional<std::vector<std::uint64_t>>& rows) {
    Schema without_outcome = schema_;
    without_outcome.outcome_may_lack = true;
    NF_TRY_VOID(internal::check_header(reader_, without_outcome));
    for (const FeatureColumn& column : schema_.features) std::visit([&](const auto& c) { add(c); }, column);
    if (const auto* target = std::get_if<TargetColumn>(&schema_.outcome)) add(*target);
    std::size_t next = 0;
    for (std::uint64_t number = 0;; ++number) {
      NF_TRY(const CsvReader::Found found, reader_.next(odd_));
      if (found == CsvReader::Found::kEnd || (rows && next == rows->size())) break;
      if (rows && number != (*rows)[next]) continue;
      ++next;
      if (found == CsvReader::Found::kRecord) look_at_record();
    }
    finish();
    return std::move(fit_);
  }

 private:
  struct Place {
    std::size_t cell;
    std::size_t fit;
  };
  struct Texts {
    Place place;
    const CategoricalColumn* column;
    internal::TextIndex values;
    std::vector<std::size_t> rows;  // counts by value
  };

  std::optional<std::size_t> cell_of(const std::string& name) const {
    const auto& header = reader_.header();
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
  }

  template <class Bounded>  // NumericColumn or TargetColumn
  void add(const Bounded& column) {
    const auto cell = cell_of(column.name);
    if (!cell) return;
    numbers_.push_back({*cell, fit_.numeric.size()});
    fit_.numeric.push_back({.column = column.name, .lower = column.lower, .upper = column.upper});
  }
  void add(const CategoricalColumn& column) {
    texts_.push_back({{cell_of(column.name).value_or(0), fit_.categorical.size()},
                      &column,
                      internal::TextIndex(column.values),
                      std::vector<std::size_t>(column.values.size())});
    fit_.categorical.push_back({column.name, 0, {}, {}});
  }

  void look_at_record() {
    ++fit_.rows;
    for (const Place& place : numbers_) {
      NumericFit& fit = fit_.numeric[place.fit];
      const std::string_view cell = reader_.cells()[place.cell];
      const bool missing = std::find(schema_.missing.begin(), schema_.missing.end(), cell) != schema_.missing.end();
      const std::optional<double> value = missing ? std::nullopt : parse_decimal(cell);
      if (value && *value < fit.lower) ++fit.below;
      if (value && *value > fit.upper) ++fit.above;
    }
    for (Texts& texts : texts_) {
      const std::string_view cell = reader_.cells()[texts.place.cell];
      if (const auto value = texts.values.find(cell)) {
        ++texts.rows[*value];
        continue;
      }
      CategoricalFit& fit = fit_.categorical[texts.place.fit];
      ++fit.unlisted;
      const auto known = fit.unlisted_in.find(std::string(cell));
      if (known != fit.unlisted_in.end()) {
        ++known->second;
      } else if (fit.unlisted_in.size() < CategoricalFit::kMostTexts) {
        fit.unlisted_in.emplace(cell, 1);
      }
    }
  }

  void finish() {
    for (const Texts& texts : texts_) {
      for (std::size_t i = 0; i < texts.rows.size(); ++i) {
        if (texts.rows[i] == 0) fit_.categorical[texts.place.fit].absent.push_back(texts.column->values[i]);
      }
    }
  }

  CsvReader reader_;
  const Schema& schema_;
  const OddRecords& odd_;
  std::vector<Place> numbers_;
  std::vector<Texts> texts_;
  Fit fit_;
};

std::optional<std::string> warning(const NumericFit& fit, std::size_t rows) {
  if (share(fit.below + fit.above, rows) < kNearlyAll) return std::nullopt;
  const std::string where = fit.below == 0 ? fmt::format("above upper = {}", fit.upper)
                            : fit.above == 0
                                ? fmt::format("below lower = {}", fit.lower)
                                : fmt::format("beyond its bounds, lower = {} and upper = {}", fit.lower, fit.upper);
  return fmt::format("column {}: {} of the public test rows lie {}, and are clamped; is the bound in other units?",
                     shown(fit.column), percent(fit.below + fit.above, rows), where);
}

void add_warnings(const CategoricalFit& fit, std::size_t rows, std::vector<std::string>& warnings) {
  std::vector<std::string_view> texts;
  for (const auto& [text, count] : fit.unlisted_in) texts.push_back(text);
  bool explained = false;
  for (const std::string& value : fit.absent) {
    const std::string_view meant = nearest_name(value, texts);
    if (meant.empty()) continue;
    explained = true;
    warnings.push_back(fmt::format(
        "column {}: no public test row holds {}, which values lists, and {} hold {}, which it does not; is it "
        "misspelt?",
        shown(fit.column), shown(value), percent(fit.unlisted_in.at(std::string(meant)), rows), shown(meant)));
  }
  if (explained || share(fit.unlisted, rows) < kNearlyAll || fit.unlisted_in.empty()) return;
  const auto most = std::max_element(fit.unlisted_in.begin(), fit.unlisted_in.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  warnings.push_back(fmt::format(
      "column {}: {} of the public test rows hold texts that values does not list, such as {}; are the values "
      "those of another column, or do the cells need trim = true under [data]?",
      shown(fit.column), percent(fit.unlisted, rows), shown(most->first)));
}

}  // namespace

Result<Fit> fit_of(const PublicRows& rows, const Schema& schema) {
  NF_TRY_VOID(check_schema(schema));
  NF_TRY(ByteSource source, ByteSource::open(rows.path));
  const OddRecords odd = rows.rows ? OddRecords::become_null() : OddRecords::are_errors();
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), rows.format, odd));
  return FitReader(std::move(reader), schema, odd).read(rows.rows);
}

std::vector<std::string> warnings_of(const Fit& fit) {
  std::vector<std::string> warnings;
  for (const NumericFit& column : fit.numeric) {
    if (auto text = warning(column, fit.rows)) warnings.push_back(*std::move(text));
  }
  for (const CategoricalFit& column : fit.categorical) add_warnings(column, fit.rows, warnings);
  return warnings;
}

}  // namespace noisefloor
