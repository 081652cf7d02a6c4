#include "noisefloor/ledger/dataset_outcome.h"

#include <fmt/format.h>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {

Error to_error(const DatasetConflict& c) {
  const std::string name = shown(c.dataset);
  const std::string owner = shown(c.owner);
  switch (c.kind) {
    case DatasetConflict::Kind::kUnknown:
      return invalid_argument(
          fmt::format("the ledger has no dataset {}: add it first, with the budget for all of its uses", name));
    case DatasetConflict::Kind::kOtherDataset:
      return budget_exhausted(
          fmt::format("the rows of {} belong to the dataset {}: only its budget can pay for them, and {} is not "
                      "declared to share it. Nothing was spent",
                      name, owner, name));
    case DatasetConflict::Kind::kRetired:
      return budget_exhausted(
          fmt::format("the rows of {} belong to the dataset {}, which was retired and has no budget left: {}", name,
                      owner, shown(c.reason)));
    case DatasetConflict::Kind::kDeclaredPublic:
      return budget_exhausted(fmt::format(
          "{} is declared public, but its rows belong to the private dataset {}. Nothing was spent", name, owner));
    case DatasetConflict::Kind::kNotPublic:
      return invalid_argument(fmt::format(
          "the ledger and the description of {} do not agree on whether it is public: correct the description", name));
    case DatasetConflict::Kind::kOtherPerson:
      return invalid_argument(fmt::format(
          "the ledger protects {} of {}, and the description says otherwise: correct its [unit]. Nothing was spent",
          c.person.empty() ? "single rows" : fmt::format("persons, told apart by the column {},", shown(c.person)),
          name));
    case DatasetConflict::Kind::kOtherBlocks:
      return invalid_argument(fmt::format(
          "the ledger has {} for {}, and the description says otherwise: correct its [blocks]. Nothing was spent",
          c.blocks ? in_words(*c.blocks) : "no blocks", name));
    case DatasetConflict::Kind::kOtherBlock:
      return budget_exhausted(
          fmt::format("rows of the block {} of {} are known under the block {}: rows keep the block that they were "
                      "first used in, whatever date or batch they have now. Nothing was spent",
                      shown(c.block), name, owner));
  }
  NF_UNREACHABLE("a conflict outside the closed list");
}

Result<DatasetGrant> granted(const DatasetOutcome& outcome) {
  if (const auto* conflict = std::get_if<DatasetConflict>(&outcome)) return to_error(*conflict);
  return std::get<DatasetGrant>(outcome);
}

}  // namespace noisefloor
