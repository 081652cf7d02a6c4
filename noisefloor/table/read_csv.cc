#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "noisefloor/table/cells.h"
#include "noisefloor/table/header_check.h"
#include "noisefloor/table/schema.h"
#include "noisefloor/table/text_index.h"

namespace noisefloor {
namespace {

using internal::cell_of;
using internal::TextIndex;

// A column of the schema and its place in the file. The encoders are the schema's rules, made ready for many records.
struct Numeric {
  const NumericColumn* column;
};
struct Categorical {
  TextIndex values;
  std::size_t width;
  bool other;
};
struct Encoder {
  std::size_t cell;
  std::variant<Numeric, Categorical> kind;
};

class TableReader {
 public:
  TableReader(CsvReader reader, const Schema& schema, const OddRecords& odd)
      : reader_(std::move(reader)), schema_(schema), odd_(odd) {}

  Result<Dataset> read() {
    NF_TRY_VOID(internal::check_header(reader_, schema_));
    for (const FeatureColumn& column : schema_.features) {
      NF_TRY_VOID(std::visit([&](const auto& c) { return add_encoder(c); }, column));
    }
    const auto outcome = std::visit([&](const auto& c) { return cell_of(reader_, c.name); }, schema_.outcome);
    if (outcome.has_value()) {
      outcome_ = outcome.value();
    } else if (!schema_.outcome_may_lack) {
      return outcome.error();
    }
    if (schema_.group && outcome_) {
      NF_TRY(group_, cell_of(reader_, *schema_.group));
    }
    if (schema_.person && !schema_.outcome_may_lack) {
      NF_TRY(person_, cell_of(reader_, schema_.person->name));
      data_.rows_per_person = schema_.person->rows_each;
    }
    data_.shape = {schema_.dimension()};
    if (const auto* label = std::get_if<LabelColumn>(&schema_.outcome)) {
      classes_.emplace(label->classes);
      data_.classes = static_cast<std::int32_t>(label->classes.size());
    }
    while (true) {
      NF_TRY(const CsvReader::Found found, reader_.next(odd_));
      if (found == CsvReader::Found::kEnd) break;
      if (found == CsvReader::Found::kOdd) {
        add_null({});
      } else {
        NF_TRY_VOID(add_record());
      }
    }
    if (data_.rows == 0 && odd_.precise()) return reader_.error("the table holds no records");
    return std::move(data_);
  }

 private:
  Result<void> add_encoder(const NumericColumn& column) {
    NF_TRY(const std::size_t cell, cell_of(reader_, column.name));
    encoders_.push_back({cell, Numeric{&column}});
    return success();
  }

  Result<void> add_encoder(const CategoricalColumn& column) {
    NF_TRY(const std::size_t cell, cell_of(reader_, column.name));
    const bool other = column.unlisted == Unlisted::kOther;
    encoders_.push_back({cell, Categorical{TextIndex(column.values), column.values.size() + (other ? 1 : 0), other}});
    return success();
  }

  Result<void> add_record() {
    const Result<std::string_view> person = person_ ? internal::person_in(reader_, schema_, reader_.cells()[*person_])
                                                    : Result<std::string_view>(std::string_view());
    const std::size_t begin = data_.features.size();
    data_.features.resize(begin + data_.shape.front());
    Result<Outcome> outcome = read_features(data_.features.data() + begin);
    if (outcome.has_value() && person.has_value()) {
      add_row(person.value(), outcome.value(), false);
      return success();
    }
    data_.features.resize(begin);
    NF_TRY_VOID(odd_.meet(outcome.has_value() ? person.error() : outcome.error()));
    add_null(person.has_value() ? person.value() : std::string_view());
    return success();
  }

  // What is to be predicted: a class or a number.
  struct Outcome {
    std::int32_t label = 0;
    float target = 0;
  };

  // A record that does not fit. The person is empty if nothing says whose it is.
  void add_null(std::string_view person) {
    data_.features.resize(data_.features.size() + data_.shape.front());
    add_row(person, {}, true);
  }

  // Everything about a record except its features.
  void add_row(std::string_view person, const Outcome& outcome, bool null) {
    if (null && data_.nulls.empty()) data_.nulls.resize(data_.rows);
    if (null || !data_.nulls.empty()) data_.nulls.push_back(null ? 1 : 0);
    ++data_.rows;
    if (group_) {
      data_.groups.push_back(
          number_of(reader_.cells().empty() ? std::string_view() : reader_.cells()[*group_], groups_));
    }
    if (person_) data_.people.push_back(person.empty() ? kNobody : number_of(person, people_));
    if (classes_) {
      data_.labels.push_back(outcome.label);
    } else {
      data_.targets.push_back(outcome.target);
    }
  }

  Result<Outcome> read_features(float* out) const {
    for (const Encoder& encoder : encoders_) {
      const std::string_view cell = reader_.cells()[encoder.cell];
      if (const auto* numeric = std::get_if<Numeric>(&encoder.kind)) {
        const NumericColumn& column = *numeric->column;
        NF_TRY(const double value, internal::number_in(reader_, schema_, column, cell));
        *out = clamp_and_scale(value, column.lower, column.upper, column.scaling);
        ++out;
      } else {
        const auto& categorical = std::get<Categorical>(encoder.kind);
        if (const auto place = categorical.values.find(cell)) {
          out[*place] = 1;
        } else if (categorical.other) {
          out[categorical.width - 1] = 1;
        }
        out += categorical.width;
      }
    }
    return outcome_ ? outcome_in(reader_.cells()[*outcome_]) : no_outcome();
  }

  using Numbers = std::unordered_map<std::string, std::uint32_t>;
  // The number of the text among those seen before, or the next number if it is new.
  static std::uint32_t number_of(std::string_view text, Numbers& numbers) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    return numbers.try_emplace(std::string(text), next).first->second;
  }

  [[nodiscard]] Outcome no_outcome() const {
    if (classes_) return {};
    return {0, static_cast<float>(std::get<TargetColumn>(schema_.outcome).lower)};
  }

  [[nodiscard]] Result<Outcome> outcome_in(std::string_view cell) const {
    if (classes_) {
      const std::optional<std::size_t> label = classes_->find(cell);
      if (!label) {
        return reader_.error(fmt::format(
            "label column '{}' must hold one of the {} classes that the schema lists; correct the record, or "
            "add its class to classes = […] under [data]",
            std::get<LabelColumn>(schema_.outcome).name, data_.classes));
      }
      return Outcome{static_cast<std::int32_t>(*label), 0};
    }
    const auto& target = std::get<TargetColumn>(schema_.outcome);
    const std::optional<double> value = internal::is_missing(schema_, cell) ? std::nullopt : parse_decimal(cell);
    if (!value) {
      return reader_.error(fmt::format(
          "target column '{}' must hold a decimal number, such as -1.5, in every record; correct this one or "
          "take it out",
          target.name));
    }
    return Outcome{0, clamp_and_scale(*value, target.lower, target.upper, Scaling::kNone)};
  }

  CsvReader reader_;
  const Schema& schema_;
  const OddRecords& odd_;
  std::vector<Encoder> encoders_;
  std::optional<std::size_t> outcome_;
  std::optional<TextIndex> classes_;
  std::optional<std::size_t> group_;
  Numbers groups_;
  std::optional<std::size_t> person_;
  Numbers people_;
  Dataset data_;
};

}  // namespace

Result<void> check_csv_header(const std::string& path, const Schema& schema, const CsvFormat& format,
                              const OddRecords& odd) {
  NF_TRY(ByteSource source, ByteSource::open(path));
  NF_TRY(const CsvReader reader, CsvReader::open(std::move(source), format, odd));
  return internal::check_header(reader, schema);
}

Result<Dataset> read_csv(const std::string& path, const Schema& schema, const CsvFormat& format,
                         const OddRecords& odd) {
  NF_TRY_VOID(check_schema(schema));
  NF_TRY(ByteSource source, ByteSource::open(path));
  return read_csv(std::move(source), schema, format, odd);
}

Result<Dataset> read_csv(ByteSource source, const Schema& schema, const CsvFormat& format, const OddRecords& odd) {
  NF_TRY_VOID(check_schema(schema));
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format, odd));
  return TableReader(std::move(reader), schema, odd).read();
}

}  // namespace noisefloor
