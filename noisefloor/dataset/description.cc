#include "noisefloor/dataset/description.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

// A text from which every part can be read back, because each part has its length before it.
class Statement {
 public:
  Statement& text(std::string_view part) {
    bytes_ += fmt::format("{}:", part.size());
    bytes_ += part;
    return *this;
  }
  Statement& number(double value) { return text(fmt::format("{}", value)); }
  Statement& count(std::uint64_t value) { return text(fmt::format("{}", value)); }
  Statement& texts(const std::vector<std::string>& parts) {
    count(parts.size());
    for (const std::string& part : parts) text(part);
    return *this;
  }
  [[nodiscard]] Digest digest() const { return blake2b(bytes_); }

 private:
  std::string bytes_;
};

std::string_view without_blanks(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return cell.substr(first, cell.find_last_not_of(" \t\r\n") - first + 1);
}

std::uint64_t code_of(auto choice) { return static_cast<std::uint64_t>(choice); }

void state(Statement& out, const NumericColumn& c) {
  out.text("numeric").text(c.name).number(c.lower).number(c.upper).count(code_of(c.scaling));
  out.count(c.missing ? 1 : 0).number(c.missing.value_or(0));
}

void state(Statement& out, const CategoricalColumn& c) {
  out.text("categorical").text(c.name).texts(c.values).count(code_of(c.unlisted));
}

void state(Statement& out, const LabelColumn& c) { out.text("label").text(c.name).texts(c.classes); }

void state(Statement& out, const TargetColumn& c) { out.text("target").text(c.name).number(c.lower).number(c.upper); }

void state(Statement& out, const IdxFormat& f) { out.text("idx").count(static_cast<std::uint64_t>(f.classes)); }

void state(Statement& out, const CsvTable& f) {
  out.text("csv").text(std::string_view(&f.format.separator, 1)).count(f.format.trim ? 1 : 0);
  out.texts(f.schema.missing).text(f.schema.group.value_or("")).count(f.schema.features.size());
  const auto add = [&](const auto& column) { state(out, column); };
  for (const FeatureColumn& column : f.schema.features) std::visit(add, column);
  std::visit(add, f.schema.outcome);
}

void state(Statement& out, const LibsvmOptions& f) {
  out.text("libsvm").count(f.dimension).texts(f.classes).number(f.lower).number(f.upper).count(code_of(f.scaling));
  out.count(f.normalise ? 1 : 0);
}

void state(Statement& out, const TextFormat& f) {
  out.text("text").count(f.length).text(f.alphabet.value_or("")).text(f.replacement);
}

void state(Statement& out, const std::optional<double>& number) {
  out.count(number ? 1 : 0).number(number.value_or(0));
}

void state(Statement& out, const DescribedColumn& c) {
  out.text(c.name).text(name_of(c.type));
  for (const auto* number : {&c.lower, &c.upper, &c.step, &c.missing}) state(out, *number);
  out.count(c.values ? 1 : 0).texts(c.values.value_or(std::vector<std::string>{}));
  out.count(c.public_range ? 1 : 0).count(c.max_length);
}

void state(Statement& out, const DescribedTable& t) {
  out.text(t.name).count(t.is_public ? 1 : 0).count(t.columns.size());
  for (const DescribedColumn& column : t.columns) state(out, column);
  const UnitPath unit = t.unit.value_or(UnitPath{});
  out.text(unit.column).text(unit.table).text(unit.refers).count(t.one_row_per_unit ? 1 : 0).texts(t.unique);
  out.count(t.max_rows).count(t.max_groups).count(t.max_rows_per_group);
  out.count(t.max_rows_per_unit ? 1 : 0).count(t.max_rows_per_unit.value_or(0));
  out.text(std::string_view(&t.separator, 1)).count(t.trim ? 1 : 0).texts(t.missing);
}

void state(Statement& out, const TablesFormat& f) {
  out.text("tables").count(f.tables.size());
  for (const DescribedTable& table : f.tables) state(out, table);
}

}  // namespace

Digest digest_of(const DatasetDescription& description) {
  Statement out;
  out.text("noisefloor dataset description v1").text(description.name);
  std::visit([&](const auto& format) { state(out, format); }, description.format);
  out.text(name_of(description.unit.unit)).text(description.unit.person).count(description.unit.rows_per_person);
  out.count(description.rows ? 1 : 0).count(description.rows.value_or(0));
  out.count(description.budget ? 1 : 0);
  if (const auto& budget = description.budget) {
    out.text(budget->name).number(budget->epsilon.value()).number(budget->delta.value());
    out.text(name_of(budget->adjacency)).text(name_of(budget->rule));
  }
  if (description.people) out.text("people").count(*description.people);
  if (const auto& blocks = description.blocks) {
    out.text("blocks").text(name_of(blocks->by)).text(blocks->column).text(name_of(blocks->period));
    out.count(blocks->unlock);
  }
  return out.digest();
}

Result<void> choose_blocks(DatasetDescription& description, std::string_view list) {
  if (!description.blocks) {
    if (list.empty()) return success();
    return invalid_argument(fmt::format("the dataset {} has no blocks to choose: its description has no [blocks]",
                                        shown(description.name)));
  }
  if (list.empty()) {
    return invalid_argument(
        fmt::format("the dataset {} has {}: name those that this use touches, and its budget is "
                    "spent from them alone",
                    shown(description.name), in_words(*description.blocks)));
  }
  NF_TRY(description.chosen, parse_blocks(*description.blocks, list));
  return success();
}

DataFormat chosen_format(const DatasetDescription& description) {
  DataFormat format = description.format;
  auto* table = std::get_if<CsvTable>(&format);
  if (table == nullptr || !description.blocks || description.blocks->by != BlockKind::kDate ||
      description.chosen.empty()) {
    return format;
  }
  const Result<std::vector<std::string>> names = blocks_in(*description.blocks, description.chosen);
  NF_CHECK(names.has_value(), "choose_blocks() makes canonical lists");
  auto filter = std::make_shared<RecordFilter>();
  filter->column = description.blocks->column;
  filter->takes =
      [period = description.blocks->period,
       chosen = std::unordered_set<std::string>(names.value().begin(), names.value().end())](std::string_view cell) {
        const auto block = block_of_date(period, without_blanks(cell));
        return block && chosen.contains(*block);
      };
  table->format.only = std::move(filter);
  return format;
}

std::vector<std::string> chosen_files(const DatasetDescription& description) {
  const auto* file = std::get_if<TextFile>(&description.files);
  if (file == nullptr) return {};
  if (!description.blocks || description.blocks->by != BlockKind::kBatch) return {file->path};
  std::vector<std::string> files;
  for (const std::string& batch : description.chosen) {
    std::string path = file->path;
    for (std::size_t at = path.find(kBatchInPath); at != std::string::npos; at = path.find(kBatchInPath, at)) {
      path.replace(at, kBatchInPath.size(), batch);
      at += batch.size();
    }
    files.push_back(std::move(path));
  }
  return files;
}

BudgetTerms terms_of(const DatasetDescription& description) {
  NF_CHECK(description.budget.has_value(), "a private dataset has a budget");
  const DatasetBudget& budget = *description.budget;
  BudgetTerms terms{budget.name,
                    budget.epsilon,
                    budget.delta,
                    budget.adjacency,
                    description.unit.unit,
                    budget.rule,
                    default_failures(budget.rule)};
  terms.blocks = description.blocks;
  return terms;
}

}  // namespace noisefloor
