#include "noisefloor/dataset/inspection.h"

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string_view>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/dataset/registry.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/table/idx.h"

namespace noisefloor {
namespace {

// A row without a unit is nobody's, and takes part in nothing. Cells that do not fit are missing values, not odd rows.
Result<void> inspect_tables(const TablesFormat& format, const std::string& folder, RowInspection& found) {
  NF_TRY(const std::unique_ptr<engine::Engine> engine, engine::open_engine(source_of(format, folder)));
  NF_TRY(const std::vector<engine::CatalogueTable> catalogue, engine->catalogue());
  found.records = 0;
  for (const DescribedTable& table : format.tables) {
    if (table.is_public) continue;
    std::optional<std::size_t> unit;
    for (const engine::CatalogueTable& one : catalogue) {
      if (one.name != table.name || !table.unit) continue;
      for (std::size_t i = 0; i < one.columns.size(); ++i) {
        if (one.columns[i].name == table.unit->column) unit = i;
      }
    }
    std::size_t row = 0;
    NF_TRY_VOID(engine->read_rows(table.name, [&](std::span<const std::string_view> cells) -> Result<void> {
      ++row;
      ++*found.records;
      if (!unit || !cells[*unit].empty()) return success();
      ++found.nulls;
      if (found.first.size() < RowInspection::kMostTold) {
        found.first.push_back(fmt::format("{}: row {} has no {}, and belongs to nobody; fill it in", shown(table.name),
                                          row, shown(table.unit->column)));
      }
      return success();
    }));
  }
  return success();
}

}  // namespace

Result<RowInspection> inspect_rows(const DescribedRows& rows) {
  RowInspection found;
  const OddRecords odd = OddRecords::are_shown([&](const Error& error) {
    ++found.nulls;
    if (found.first.size() < RowInspection::kMostTold) found.first.push_back(error.message);
  });
  const DatasetDescription& description = rows.description;
  const auto count = [&](const Result<Dataset>& read) -> Result<void> {
    if (!read.has_value()) return read.error();
    found.records = read.value().rows;
    return success();
  };
  const auto single = [&] { return resolved(rows.folder, std::get<TextFile>(description.files).path); };
  NF_TRY_VOID(std::visit(
      Overloaded{
          [&](const IdxFormat& format) -> Result<void> {
            const auto& files = std::get<IdxFiles>(description.files);
            return count(read_idx(resolved(rows.folder, files.images), resolved(rows.folder, files.labels),
                                  format.classes, odd));
          },
          [&](const CsvTable& table) -> Result<void> {
            Schema schema = table.schema;
            schema.person.reset();
            if (description.unit.unit == PrivacyUnit::kPerson) {
              schema.person = PersonColumn{description.unit.person, description.unit.rows_per_person};
            }
            return count(read_csv(single(), schema, table.format, odd));
          },
          [&](const LibsvmOptions& options) -> Result<void> { return count(read_libsvm(single(), options, odd)); },
          [&](const TextFormat&) -> Result<void> { return success(); },
          [&](const TablesFormat& format) { return inspect_tables(format, rows.folder, found); }},
      description.format));
  return found;
}

Result<std::optional<std::uint64_t>> record_inspection(Ledger& ledger, const DescribedRows& rows) {
  NF_TRY(const RowSketch sketch, sketch_for(ledger, rows.description, rows.folder));
  NF_TRY(const std::optional<std::string> owner, ledger.private_owner(sketch));
  if (!owner) return std::optional<std::uint64_t>();
  const std::string& name = rows.description.name;
  NF_TRY(const std::uint64_t entry,
         ledger.expose({*owner, ExposureKind::kInspection, digest_of(rows.description), name, ""}));
  return std::optional(entry);
}

}  // namespace noisefloor
