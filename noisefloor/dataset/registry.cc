#include "noisefloor/dataset/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"

namespace noisefloor {

namespace {

DatasetUse use_of(const DatasetDescription& description) {
  return {description.name, digest_of(description), description.is_public(), description.unit.person,
          description.blocks};
}

Result<void> check_sharing(const DatasetDescription& description, const std::string& same_as) {
  if (same_as.empty() || !description.is_public()) return success();
  return invalid_argument(fmt::format("the dataset {} is declared public: it has no budget to share with {}",
                                      shown(description.name), shown(same_as)));
}

// Rows of a private dataset do not become public because a description of tables says so.
Result<void> check_public_tables(Ledger& ledger, const Secret32& key, const DatasetDescription& description,
                                 const std::string& folder) {
  const auto* format = std::get_if<TablesFormat>(&description.format);
  if (format == nullptr || description.is_public()) return success();
  const bool any = std::any_of(format->tables.begin(), format->tables.end(),
                               [](const DescribedTable& table) { return table.is_public; });
  if (!any) return success();
  NF_TRY(const RowSketch rows, sketch_public_tables(key, description, folder));
  NF_TRY(const std::optional<std::string> owner, ledger.private_owner(rows));
  if (!owner) return success();
  return budget_exhausted(
      fmt::format("a table that {} declares public holds rows of the private dataset {}: remove public = true from its "
                  "[[table]]. Nothing was spent",
                  shown(description.name), shown(*owner)));
}

}  // namespace

Result<RowSketch> sketch_for(Ledger& ledger, const DatasetDescription& description, const std::string& folder) {
  NF_TRY(const Secret32 key, ledger.row_key());
  NF_TRY_VOID(check_public_tables(ledger, key, description, folder));
  return sketch_rows(key, description, folder);
}

Result<DatasetOutcome> add_dataset(Ledger& ledger, const DatasetDescription& description, const std::string& folder,
                                   const std::string& same_as) {
  NF_TRY_VOID(check_sharing(description, same_as));
  if (description.blocks && !description.chosen.empty()) {
    NF_TRY(const Secret32 key, ledger.row_key());
    NF_TRY(const SketchedBlocks rows, sketch_blocks(key, description, folder));
    NF_TRY(DatasetOutcome added, add_dataset(ledger, description, rows.all, same_as));
    if (!std::holds_alternative<DatasetGrant>(added)) return added;
    NF_TRY(const DatasetOutcome claimed, claim_blocks(ledger, description, rows.blocks));
    if (!std::holds_alternative<DatasetGrant>(claimed)) return claimed;
    return added;
  }
  NF_TRY(const RowSketch rows, sketch_for(ledger, description, folder));
  return add_dataset(ledger, description, rows, same_as);
}

Result<DatasetOutcome> add_dataset(Ledger& ledger, const DatasetDescription& description, const RowSketch& rows,
                                   const std::string& same_as) {
  NF_TRY_VOID(check_sharing(description, same_as));
  NewDataset dataset{description.name, digest_of(description), std::nullopt, same_as, description.unit.person};
  if (!description.is_public() && same_as.empty()) dataset.budget = terms_of(description);
  return ledger.add_dataset(dataset, rows);
}

Result<DatasetOutcome> claim_dataset(Ledger& ledger, const DatasetDescription& description, const std::string& folder) {
  NF_TRY(const RowSketch rows, sketch_for(ledger, description, folder));
  return claim_dataset(ledger, description, rows);
}

Result<DatasetOutcome> claim_dataset(Ledger& ledger, const DatasetDescription& description, const RowSketch& rows) {
  return ledger.claim_dataset(use_of(description), rows);
}

Result<DatasetOutcome> claim_blocks(Ledger& ledger, const DatasetDescription& description,
                                    std::span<const BlockRows> blocks) {
  return ledger.claim_blocks(use_of(description), blocks);
}

}  // namespace noisefloor
