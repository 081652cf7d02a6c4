#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/config/dataset_file.h"
#include "noisefloor/config/training_sections.h"

namespace noisefloor::internal {
namespace {

constexpr std::size_t kMaxIdxClasses = 256;  // labels are bytes
constexpr std::size_t kMaxDimension = std::size_t{1} << 24;

constexpr std::size_t kMaxSequence = 65536;

constexpr Names<DataKind, 5> kFormats{{{"idx", DataKind::kIdx},
                                       {"csv", DataKind::kCsv},
                                       {"libsvm", DataKind::kLibsvm},
                                       {"text", DataKind::kText},
                                       {"tables", DataKind::kTables}}};
constexpr Names<Scaling, 3> kScalings{
    {{"symmetric", Scaling::kSymmetric}, {"unit", Scaling::kUnit}, {"none", Scaling::kNone}}};
constexpr Names<Unlisted, 2> kUnlisted{{{"zeros", Unlisted::kZeros}, {"other", Unlisted::kOther}}};

constexpr Names<PrivacyUnit, 2> kUnits{{{"row", PrivacyUnit::kRow}, {"person", PrivacyUnit::kPerson}}};
constexpr std::size_t kMaxRowsPerPerson = std::size_t{1} << 32;
constexpr std::size_t kMaxStated = std::size_t{1} << 53;

constexpr const char* kPublicBounds = "known without looking at the data";

void expect_order(SectionReader& reader, const std::string& what, const Located<double>& lower,
                  const Located<double>& upper) {
  if (!lower.has() || !upper.has()) return;
  if (const auto checked = check_bounds(what, *lower, *upper); !checked.has_value()) {
    reader.error("bounds_out_of_order", std::max(lower.place, upper.place), checked.error().message,
                 "give the lower bound as lower and the upper one as upper");
  }
}

// --- [[data.column]] -------------------------------------------------------------------------------------------------

// One column, or several that are alike.
struct Columns {
  Located<std::vector<std::string>> names;
  FeatureColumn feature;  // has the first name
};

FeatureColumn read_numeric(SectionReader& reader, const std::string& name, const Located<double>& lower,
                           const Located<double>& upper) {
  NumericColumn column;
  Located<double> missing;
  Located<Scaling> scaling;
  reader.number("missing", missing);
  reader.choice("scaling", kScalings, scaling);
  if (!lower.stated() && !upper.stated()) {
    reader.missing("key_missing", "lower and upper, and no values",
                   fmt::format("add lower and upper, {}; or values = […] for a column of texts", kPublicBounds));
  } else {
    reader.require("lower", lower, fmt::format("add lower = …, a bound that is {}", kPublicBounds));
    reader.require("upper", upper, fmt::format("add upper = …, a bound that is {}", kPublicBounds));
  }
  expect_order(reader, "column " + shown(name), lower, upper);
  if (missing.has() && lower.has() && upper.has() && *lower < *upper && !(*missing >= *lower && *missing <= *upper)) {
    reader.error("out_of_range", missing.place,
                 fmt::format("missing of column {} is {}, and must be in its bounds, {} to {}", shown(name), *missing,
                             *lower, *upper),
                 "give the number that stands for a missing value, within the bounds");
  }
  column.name = name;
  column.lower = lower.value.value_or(0);
  column.upper = upper.value.value_or(0);
  column.missing = missing.value;
  column.scaling = scaling.value.value_or(Scaling::kSymmetric);
  return column;
}

Columns read_columns(const toml::table& table, std::size_t number, Findings& findings) {
  SectionReader reader(table, fmt::format("[[data.column]] number {}", number), findings);
  Columns column;
  if (reader.holds_list("name")) {
    reader.texts("name", column.names);
  } else {
    Located<std::string> one;
    reader.text("name", one);
    column.names.place = one.place;
    if (one.has()) column.names.value = {*one};
  }
  reader.require("name", column.names, "add name = \"…\", as it stands in the file's first line");
  const std::string name = column.names.has() && !column.names.value->empty() ? column.names.value->front() : "";
  Located<double> lower;
  Located<double> upper;
  Located<std::vector<std::string>> values;
  Located<Unlisted> unlisted;
  reader.texts("values", values);
  reader.number("lower", lower);
  reader.number("upper", upper);
  reader.choice("unlisted", kUnlisted, unlisted);
  const char* one_kind =
      "a column of numbers has lower and upper, and a column of texts has values: keep what fits the column";
  reader.exclude("values", values, "lower", lower, one_kind);
  if (!lower.stated()) reader.exclude("values", values, "upper", upper, one_kind);
  if (values.stated()) {
    for (const char* key : {"missing", "scaling"})
      reader.unused(key, "a column of numbers, and this column lists texts");
    column.feature = CategoricalColumn{name, values.value.value_or(std::vector<std::string>{}),
                                       unlisted.value.value_or(Unlisted::kZeros)};
  } else {
    if (unlisted.stated()) reader.unused("unlisted", "a column of texts, and this column has no values");
    column.feature = read_numeric(reader, name, lower, upper);
  }
  reader.finish();
  return column;
}

// --- [data] ----------------------------------------------------------------------------------------------------------

class DataReader {
 public:
  DataReader(const toml::table& table, Findings& findings) : reader_(table, "[data]", findings), findings_(findings) {}

  // Reads the section of a dataset's description.
  DataSection read_dataset() {
    reader_.choice("format", kFormats, format_);
    reader_.require("format", format_, R"(add format = "idx", "csv", "libsvm", "text" or "tables")");
    section_.kind = format_.value;
    section_.data.train = read_files("file", "labels", true).value_or(ExampleFiles{});
    read_format();
    reader_.elsewhere("train", "a dataset is one file: say file = \"…\"");
    for (const char* key : {"test", "test_labels", "test_fraction", "validation_fraction", "split_seed"}) {
      reader_.elsewhere(key, "data for tests are stated in [data] of a training file");
    }
    for (const char* key : {"rows", "people"}) {
      reader_.elsewhere(key, "what is public about a dataset stands at the top of its description, above [data]");
    }
    reader_.finish();
    return std::move(section_);
  }

  DataSection read(const ReadNamedFile& named) {
    Located<std::string> dataset;
    reader_.text("dataset", dataset);
    if (dataset.stated()) return read_named(dataset, named);
    reader_.elsewhere("blocks", "blocks are those of a dataset: name its description, with dataset = \"…\"");
    reader_.choice("format", kFormats, format_);
    reader_.require("format", format_, R"(add format = "idx", "csv", "libsvm" or "text")");
    if (format_.value == DataKind::kTables) {
      refuse_tables(format_.place);
      format_.value.reset();
    }
    section_.kind = format_.value;
    section_.data.train = read_files("train", "train_labels", true).value_or(ExampleFiles{});
    section_.data.test = read_files("test", "test_labels", false);
    Located<bool> is_public;
    reader_.flag("public", is_public);
    section_.data.is_public = is_public.value.value_or(false);
    read_split();
    read_counts_ = true;
    read_format();
    reader_.finish();
    return std::move(section_);
  }

 private:
  using Kinds = std::initializer_list<DataKind>;

  // Reads data that another file describes. This file states which data are for tests.
  DataSection read_named(const Located<std::string>& path, const ReadNamedFile& named) {
    section_.dataset_place = path.place;
    for (const char* key :
         {"format", "train",     "train_labels",    "label",        "target", "group",    "classes",
          "column", "separator", "target_lower",    "target_upper", "trim",   "missing",  "dimension",
          "lower",  "upper",     "scaling",         "normalise",    "length", "alphabet", "replacement",
          "unit",   "person",    "rows_per_person", "people",       "public"}) {
      reader_.elsewhere(key, "the description that dataset names states it: remove it here");
    }
    if (path.has()) read_description(*path, path.place, named);
    read_blocks();
    // Only this file can say how many rows are in the blocks that it names.
    if (section_.data.dataset && section_.data.dataset->blocks) {
      section_.data.rows.reset();
      read_count("rows", section_.data.rows);
    } else {
      reader_.elsewhere("rows", "the description that dataset names states it: remove it here");
    }
    section_.data.test = read_files("test", "test_labels", false);
    read_split();
    reader_.finish();
    return std::move(section_);
  }

  void read_description(const std::string& path, Place place, const ReadNamedFile& named) {
    const auto refuse = [&](std::string what, std::string remedy) {
      reader_.error("dataset_not_readable", place, std::move(what), std::move(remedy));
    };
    if (!named)
      return refuse(fmt::format("the dataset {} is another file, and other files cannot be read here", shown(path)),
                    "describe the data in [data]");
    const Result<std::string> text = named(path);
    if (!text.has_value())
      return refuse(text.error().message, "give the path of a dataset's description, from this file's folder");
    DatasetText dataset = noisefloor::read_dataset(text.value());
    for (const Finding& finding : dataset.findings) {
      if (finding.severity != Severity::kError) continue;
      refuse(fmt::format("{}, line {}: {}", shown(path), finding.place.line, finding.message), finding.remedy);
    }
    if (!dataset.description) return;
    if (std::holds_alternative<TablesFormat>(dataset.description->format)) return refuse_tables(place);
    take_description(*std::move(dataset.description), path);
  }

  void refuse_tables(Place place) {
    reader_.error("data_do_not_fit", place, "a training learns from one file of examples, and these data are tables",
                  R"(describe the file in another description with format = "csv" and the same name and [budget]: )"
                  "both then spend from one budget");
  }

  void take_description(DatasetDescription description, const std::string& path) {
    const auto from_here = [folder = std::filesystem::path(path).parent_path()](std::string& file) {
      file = (folder / file).lexically_normal().string();
    };
    if (auto* idx = std::get_if<IdxFiles>(&description.files)) {
      from_here(idx->images);
      from_here(idx->labels);
    } else {
      from_here(std::get<TextFile>(description.files).path);
    }
    if (auto* text = std::get_if<TextFormat>(&description.format); text != nullptr && text->alphabet) {
      from_here(*text->alphabet);
    }
    // The alternatives of DataFormat, in their order.
    constexpr std::array kinds{DataKind::kIdx, DataKind::kCsv, DataKind::kLibsvm, DataKind::kText};
    format_ = {kinds.at(description.format.index()), section_.dataset_place};
    section_.kind = format_.value;
    if (const auto* idx = std::get_if<IdxFormat>(&description.format)) {
      section_.outputs = static_cast<std::size_t>(idx->classes);
    } else if (const auto* libsvm = std::get_if<LibsvmOptions>(&description.format)) {
      section_.outputs = libsvm->classes.size();
    } else if (const auto* csv = std::get_if<CsvTable>(&description.format)) {
      const auto* label = std::get_if<LabelColumn>(&csv->schema.outcome);
      section_.has_target = label == nullptr;
      section_.outputs = label == nullptr ? 1 : label->classes.size();
    }
    section_.data.format = description.format;
    if (auto* csv = std::get_if<CsvTable>(&section_.data.format);
        csv != nullptr && description.unit.unit == PrivacyUnit::kPerson) {
      csv->schema.person = PersonColumn{description.unit.person, description.unit.rows_per_person};
      section_.unit = PrivacyUnit::kPerson;
    }
    section_.data.rows = description.rows;
    section_.data.people = description.people;
    section_.data.train = description.files;
    section_.data.dataset = std::move(description);
  }

  // The blocks that this training touches, of a dataset whose rows are in blocks.
  void read_blocks() {
    Located<std::vector<std::string>> blocks;
    reader_.texts("blocks", blocks);
    if (!section_.data.dataset) return;
    std::string list;
    for (const std::string& one : blocks.value.value_or(std::vector<std::string>{})) {
      list += (list.empty() ? "" : ",") + one;
    }
    const Result<void> chosen = choose_blocks(*section_.data.dataset, list);
    if (chosen.has_value()) return;
    reader_.error("blocks_do_not_fit", blocks.stated() ? blocks.place : section_.dataset_place, chosen.error().message,
                  R"(write blocks = ["2026-01..2026-03"] under [data] for a dataset with [blocks], and only there)");
  }

  bool takes(std::string_view key, Kinds kinds) {
    return reader_.takes(key, selector("format", kFormats, format_), kinds);
  }

  // Requires that the keys live as long as the reader, which remembers them.
  std::optional<ExampleFiles> read_files(const char* key, const char* labels_key, bool needed) {
    Located<std::string> path;
    Located<std::string> labels;
    reader_.text(key, path);
    if (takes(labels_key, {DataKind::kIdx})) reader_.text(labels_key, labels);
    if (needed)
      reader_.require(key, path, fmt::format("add {} = \"…\", the file with the examples to learn from", key));
    const bool idx = format_.value == DataKind::kIdx;
    if (idx && (needed || path.stated())) {
      reader_.require(labels_key, labels,
                      fmt::format("add {} = \"…\", the file with the labels of {}", labels_key, key));
    }
    if (!needed && labels.stated() && !path.stated()) {
      reader_.error("key_not_used", labels.place, fmt::format("[data] has {} without {}", labels_key, key),
                    fmt::format("add {} = \"…\", or remove {}", key, labels_key));
    }
    if (!needed) test_ = path;
    if (!path.has()) return std::nullopt;
    if (idx) return IdxFiles{*path, labels.value.value_or("")};
    return TextFile{*path};
  }

  void read_split() {
    Located<double> test;
    Located<double> validation;
    Located<std::uint64_t> seed;
    reader_.number("test_fraction", test, kBelowOne);
    reader_.number("validation_fraction", validation, kBelowOne);
    reader_.count("split_seed", seed);
    if (test.value.value_or(0) > 0) {
      reader_.exclude("test", test_, "test_fraction", test,
                      "keep one: a file of its own, or a part of the training file");
    }
    if (test.has() && validation.has() && *test + *validation >= 1) {
      reader_.error("out_of_range", std::max(test.place, validation.place),
                    fmt::format("test_fraction = {} and validation_fraction = {} leave nothing to train with", *test,
                                *validation),
                    "their sum must be below 1");
    }
    section_.data.test_fraction = test.value.value_or(0);
    section_.data.validation_fraction = validation.value.value_or(0);
    section_.data.split_seed = seed.value.value_or(0);
  }

  void read_format() {
    read_unit();
    read_outcome_keys();
    const bool csv = format_.value == DataKind::kCsv;
    const bool libsvm = format_.value == DataKind::kLibsvm;
    if (takes("separator", {DataKind::kCsv})) reader_.text("separator", separator_);
    if (takes("trim", {DataKind::kCsv})) reader_.flag("trim", trim_);
    if (takes("missing", {DataKind::kCsv})) reader_.texts("missing", missing_);
    if (takes("column", {DataKind::kCsv})) columns_ = reader_.sections("column", "data.column");
    if (takes("dimension", {DataKind::kLibsvm})) reader_.size("dimension", 1, kMaxDimension, dimension_);
    if (takes("lower", {DataKind::kLibsvm})) reader_.number("lower", lower_);
    if (takes("upper", {DataKind::kLibsvm})) reader_.number("upper", upper_);
    if (takes("scaling", {DataKind::kLibsvm})) reader_.choice("scaling", kScalings, scaling_);
    if (takes("normalise", {DataKind::kLibsvm})) reader_.flag("normalise", normalise_);
    if (takes("length", {DataKind::kText})) reader_.size("length", 1, kMaxSequence, length_);
    if (takes("alphabet", {DataKind::kText})) reader_.text("alphabet", alphabet_);
    if (takes("replacement", {DataKind::kText})) reader_.text("replacement", replacement_);
    if (csv) read_csv_table();
    if (libsvm) read_libsvm_options();
    if (format_.value == DataKind::kText) read_text_options();
    if (format_.value == DataKind::kIdx) {
      section_.data.format = IdxFormat{static_cast<std::int32_t>(class_count_.value.value_or(0))};
      section_.outputs = class_count_.value;
    }
  }

  // Reads how many there are, as far as that is public. A dataset's description states it at its top.
  void read_count(const char* key, std::optional<std::uint64_t>& count) {
    Located<std::size_t> stated;
    reader_.size(key, 1, kMaxStated, stated);
    if (stated.has()) count = *stated;
  }

  // Reads whose data are protected.
  void read_unit() {
    if (read_counts_) read_count("rows", section_.data.rows);
    if (!takes("unit", {DataKind::kCsv})) {
      for (const char* key : {"person", "rows_per_person"}) (void)takes(key, {DataKind::kCsv});
      if (read_counts_) (void)takes("people", {DataKind::kCsv});
      return;
    }
    reader_.choice("unit", kUnits, unit_);
    const auto unit = selector("unit", kUnits, unit_, std::optional(PrivacyUnit::kRow));
    if (reader_.takes("person", unit, {PrivacyUnit::kPerson})) reader_.text("person", person_);
    if (read_counts_ && reader_.takes("people", unit, {PrivacyUnit::kPerson})) {
      read_count("people", section_.data.people);
    }
    if (reader_.takes("rows_per_person", unit, {PrivacyUnit::kPerson})) {
      reader_.size("rows_per_person", 1, kMaxRowsPerPerson, rows_per_person_);
    }
    if (unit.value != PrivacyUnit::kPerson) return;
    reader_.require("person", person_, "add person = \"…\", the column that says whose row it is");
    reader_.require("rows_per_person", rows_per_person_,
                    "add rows_per_person = …, how many rows of one person take part in a step at most");
    section_.unit = PrivacyUnit::kPerson;
  }

  // Reads what the model predicts.
  void read_outcome_keys() {
    if (takes("label", {DataKind::kCsv})) reader_.text("label", label_);
    if (takes("target", {DataKind::kCsv})) reader_.text("target", target_);
    if (takes("group", {DataKind::kCsv})) reader_.text("group", group_);
    if (takes("target_lower", {DataKind::kCsv})) reader_.number("target_lower", target_lower_);
    if (takes("target_upper", {DataKind::kCsv})) reader_.number("target_upper", target_upper_);
    section_.has_target = target_.stated() && !label_.stated();
    if (!format_.has()) {
      reader_.skip("classes");
    } else if (format_.value == DataKind::kText) {
      reader_.unused("classes", "labels, and a text has none: the model predicts its characters");
    } else if (format_.value == DataKind::kIdx) {
      reader_.size("classes", 2, kMaxIdxClasses, class_count_);
      reader_.require("classes", class_count_, "add classes = 10, the number of classes: labels are 0 to 9");
    } else {
      if (section_.has_target) {
        reader_.unused("classes", "label, and there is a target, which is a number");
      } else {
        reader_.texts("classes", classes_);
        reader_.require("classes", classes_, R"(add classes = ["…", "…"], all that the label can be, in quotes)");
      }
      if (classes_.has() && classes_.value->size() < 2) {
        reader_.error("out_of_range", classes_.place, "classes of [data] lists 1, and at least 2 are needed",
                      "list all that the label can be");
      }
    }
    if (classes_.has()) section_.outputs = classes_.value->size();
  }

  void read_csv_table() {
    CsvTable table;
    read_csv_format(table);
    std::map<std::string, Place, std::less<>> names;
    const auto expect_new = [&](const std::string& name, const Place& place) {
      if (names.emplace(name, place).second) return;
      reader_.error("duplicate_name", place, fmt::format("column {} is listed twice", shown(name)),
                    "a column is one feature, or what is to be predicted: remove one of the two");
    };
    std::size_t number = 0;
    for (const toml::table* one : columns_) {
      const Columns columns = read_columns(*one, ++number, findings_);
      for (const std::string& name : columns.names.value.value_or(std::vector<std::string>{})) {
        expect_new(name, columns.names.place);
        table.schema.features.push_back(columns.feature);
        std::visit([&](auto& feature) { feature.name = name; }, table.schema.features.back());
      }
    }
    if (columns_.empty() && !reader_.holds("column")) {
      reader_.missing("key_missing", "[[data.column]]",
                      "add one for each column to learn from: other columns of the file are left out");
    }
    for (const Located<std::string>* outcome : {&label_, &target_}) {
      if (outcome->has()) expect_new(**outcome, outcome->place);
    }
    table.schema.group = group_.value;
    if (person_.has()) {
      if (names.contains(*person_)) {
        reader_.error(
            "duplicate_name", person_.place,
            fmt::format("column {} says whose row it is, and the model would also learn from it or predict it",
                        shown(*person_)),
            "remove its [[data.column]]: there is nothing to learn from an id");
      }
      table.schema.person = PersonColumn{*person_, rows_per_person_.value.value_or(1)};
    }
    read_outcome(table.schema);
    if (!has_errors(findings_.list())) {
      if (const auto checked = check_schema(table.schema); !checked.has_value()) {
        reader_.error("out_of_range", {}, checked.error().message, "correct the columns of [data]");
      }
    }
    section_.data.format = std::move(table);
  }

  void read_csv_format(CsvTable& table) {
    if (separator_.has()) {
      const bool usable = separator_.value->size() == 1 &&
                          separator_.value->find_first_of("\"\r\n") == std::string::npos &&
                          separator_.value->front() != '\0';
      if (usable) {
        table.format.separator = separator_.value->front();
      } else {
        reader_.error("out_of_range", separator_.place,
                      fmt::format("separator of [data] cannot be {}", shown(*separator_)),
                      R"(give one character, such as "," or ";" or "\t")");
      }
    }
    table.format.trim = trim_.value.value_or(false);
    if (missing_.has()) table.schema.missing = *missing_;
  }

  void read_outcome(Schema& schema) {
    reader_.exclude("label", label_, "target", target_,
                    "keep label for one of several classes, or target for a number");
    if (!label_.stated() && !target_.stated()) {
      reader_.missing("key_missing", "label and no target",
                      "add label = \"…\", the column with the class to predict; or target = \"…\", one with a number");
    }
    if (!section_.has_target) {
      for (const char* key : {"target_lower", "target_upper"}) {
        if (label_.stated() && !target_.stated()) reader_.unused(key, "target, and there is a label");
      }
      schema.outcome = LabelColumn{label_.value.value_or(""), classes_.value.value_or(std::vector<std::string>{})};
      return;
    }
    reader_.require("target_lower", target_lower_,
                    fmt::format("add target_lower = …, a bound of the target that is {}", kPublicBounds));
    reader_.require("target_upper", target_upper_,
                    fmt::format("add target_upper = …, a bound of the target that is {}", kPublicBounds));
    expect_order(reader_, "target", target_lower_, target_upper_);
    section_.outputs = 1;
    schema.outcome =
        TargetColumn{target_.value.value_or(""), target_lower_.value.value_or(0), target_upper_.value.value_or(0)};
  }

  void read_libsvm_options() {
    reader_.require("dimension", dimension_, "add dimension = …, the number of features: the largest index");
    reader_.require("lower", lower_, fmt::format("add lower = …, a bound of all values that is {}", kPublicBounds));
    reader_.require("upper", upper_, fmt::format("add upper = …, a bound of all values that is {}", kPublicBounds));
    expect_order(reader_, "[data]", lower_, upper_);
    std::set<double> numbers;
    for (const std::string& text : classes_.value.value_or(std::vector<std::string>{})) {
      const std::optional<double> number = parse_decimal(text);
      if (!number || numbers.insert(*number).second) continue;
      reader_.error("out_of_range", classes_.place,
                    fmt::format("classes of [data] has {} twice: labels are compared as numbers", shown(text)),
                    "remove one of the two");
    }
    LibsvmOptions options;
    options.dimension = dimension_.value.value_or(0);
    options.classes = classes_.value.value_or(std::vector<std::string>{});
    options.lower = lower_.value.value_or(0);
    options.upper = upper_.value.value_or(0);
    options.scaling = scaling_.value.value_or(Scaling::kNone);
    options.normalise = normalise_.value.value_or(false);
    section_.data.format = std::move(options);
  }

  void read_text_options() {
    reader_.require("length", length_, "add length = 64, how many characters the model looks at");
    if (alphabet_.stated()) {
      reader_.require("replacement", replacement_,
                      R"(add replacement = "?", the character of the alphabet that stands for all others)");
    } else if (replacement_.stated()) {
      reader_.unused("replacement", "an alphabet, and there is none: bytes are read as they are");
    }
    section_.data.format = TextFormat{length_.value.value_or(1), alphabet_.value, replacement_.value.value_or("")};
  }

  SectionReader reader_;
  Findings& findings_;
  DataSection section_;
  bool read_counts_ = false;
  Located<DataKind> format_;
  Located<std::string> test_;
  Located<std::size_t> class_count_;
  Located<std::vector<std::string>> classes_;
  Located<std::string> label_;
  Located<std::string> group_;
  Located<PrivacyUnit> unit_;
  Located<std::string> person_;
  Located<std::size_t> rows_per_person_;
  Located<std::string> target_;
  Located<double> target_lower_;
  Located<double> target_upper_;
  Located<std::string> separator_;
  Located<bool> trim_;
  Located<std::vector<std::string>> missing_;
  std::vector<const toml::table*> columns_;
  Located<std::size_t> dimension_;
  Located<double> lower_;
  Located<double> upper_;
  Located<Scaling> scaling_;
  Located<bool> normalise_;
  Located<std::size_t> length_;
  Located<std::string> alphabet_;
  Located<std::string> replacement_;
};

}  // namespace

DataSection read_data_section(const toml::table& table, const ReadNamedFile& named, Findings& findings) {
  return DataReader(table, findings).read(named);
}

DataSection read_dataset_section(const toml::table& table, Findings& findings) {
  return DataReader(table, findings).read_dataset();
}

}  // namespace noisefloor::internal
