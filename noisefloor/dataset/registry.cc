#include "noisefloor/dataset/registry.h"

#include <fmt/format.h>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"

namespace noisefloor {

Result<DatasetOutcome> add_dataset(Ledger& ledger, const DatasetDescription& description, const std::string& folder,
                                   const std::string& same_as) {
  if (!same_as.empty() && description.is_public()) {
    return invalid_argument(fmt::format("the dataset {} is declared public: it has no budget to share with {}",
                                        shown(description.name), shown(same_as)));
  }
  NF_TRY(const Secret32 key, ledger.row_key());
  NF_TRY(const RowSketch rows, sketch_rows(key, description, folder));
  NewDataset dataset{description.name, digest_of(description), std::nullopt, same_as};
  if (!description.is_public() && same_as.empty()) dataset.budget = terms_of(description);
  return ledger.add_dataset(dataset, rows);
}

Result<DatasetOutcome> claim_dataset(Ledger& ledger, const DatasetDescription& description, const std::string& folder) {
  NF_TRY(const Secret32 key, ledger.row_key());
  NF_TRY(const RowSketch rows, sketch_rows(key, description, folder));
  return ledger.claim_dataset({description.name, digest_of(description), description.is_public()}, rows);
}

}  // namespace noisefloor
