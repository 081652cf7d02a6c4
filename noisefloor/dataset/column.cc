#include "noisefloor/dataset/column.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/table/number_column.h"

namespace noisefloor {
namespace {

// A person's numbers so far: a uniform sample of at most `most` of them.
struct Share {
  std::uint64_t seen = 0;
  std::vector<std::size_t> places = {};  // in the list of numbers
};

class Collector {
 public:
  // `for_none` stands for a record without a number; nothing: the record is not there.
  Collector(std::uint64_t most_each, std::optional<double> for_none, SecureRandom& random)
      : most_each_(most_each), for_none_(for_none), random_(random) {}

  Result<void> add(std::optional<double> number, std::string_view person) {
    if (!number) number = for_none_;
    if (!number) return success();
    const double value = *number;
    if (person.empty()) return append(value);
    Share& share = shares_[std::string(person)];
    ++share.seen;
    if (share.places.size() < most_each_) {
      share.places.push_back(numbers_.size());
      return append(value);
    }
    const std::uint64_t place = uniform_below(random_, share.seen);
    if (place < most_each_) numbers_[share.places[place]] = value;
    return success();
  }

  [[nodiscard]] std::vector<double> finish() && { return std::move(numbers_); }

 private:
  Result<void> append(double value) {
    numbers_.push_back(value);
    return success();
  }

  std::uint64_t most_each_;
  std::optional<double> for_none_;
  SecureRandom& random_;
  std::vector<double> numbers_;
  std::unordered_map<std::string, Share> shares_;
};

}  // namespace

Result<NumericColumn> find_column(const DatasetDescription& description, const std::string& name) {
  const auto* table = std::get_if<CsvTable>(&description.format);
  if (table == nullptr) {
    return invalid_argument(
        fmt::format("the dataset {} is no single CSV table: ask about tables with `noisefloor query`, in SQL",
                    shown(description.name)));
  }
  return find_numeric_column(table->schema, name);
}

Result<std::vector<double>> read_column(const DescribedRows& rows, const NumericColumn& column, SecureRandom& random) {
  const DataFormat format = chosen_format(rows.description);
  const auto& table = std::get<CsvTable>(format);
  Schema schema = table.schema;
  // Whose a row is follows from the unit, whatever the schema is used for elsewhere.
  schema.person.reset();
  if (rows.description.unit.unit == PrivacyUnit::kPerson) {
    schema.person = PersonColumn{rows.description.unit.person, rows.description.unit.rows_per_person};
  }
  std::optional<double> for_none;
  if (rows.description.budget && rows.description.budget->adjacency == Adjacency::kReplaceOne) for_none = column.lower;
  Collector collector(rows.description.unit.rows_per_person, for_none, random);
  for (const std::string& file : chosen_files(rows.description)) {
    NF_TRY(ByteSource source, ByteSource::open(resolved(rows.folder, file)));
    NF_TRY_VOID(for_each_number(
        std::move(source), schema, table.format, column,
        [&](std::optional<double> value, std::string_view person) { return collector.add(value, person); }));
  }
  return std::move(collector).finish();
}

}  // namespace noisefloor
