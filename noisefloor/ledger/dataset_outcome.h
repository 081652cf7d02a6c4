// Questions to the ledger about a dataset, and its answers: who owns the rows, and which budget pays for them.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/row_sketch.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor {

struct NewDataset {
  std::string name;
  Digest description;                 // digest of what is publicly stated about the dataset
  std::optional<BudgetTerms> budget;  // none: the data are public, or share the budget of `same_as`
  std::string same_as = {};           // a dataset that holds the same rows, or some of them; its budget pays
  std::string person = {};            // the column that tells persons apart; empty: rows are protected
};

struct DatasetUse {
  std::string name;
  Digest description;
  bool is_public = false;                 // whoever uses the dataset declares it public
  std::string person = {};                // as for NewDataset
  std::optional<BlockTerms> blocks = {};  // how the rows are divided into blocks; none: not at all
};

// The rows of one block. Rows keep their block, so those of a block by date are also known without their dates.
struct BlockRows {
  std::string block;
  RowSketch rows;
  std::optional<RowSketch> undated = {};
};

struct DatasetGrant {
  std::string dataset;
  std::string budget;       // reserve from this one; empty: the rows are public and cost nothing
  bool new_rows = false;    // the dataset was not seen with these rows before
  bool new_budget = false;  // the budget was made for this dataset
};

// Why rows may not be used like this. Nothing was written; yet the refusal itself reveals that rows are shared.
struct DatasetConflict {
  enum class Kind : std::uint8_t {
    kUnknown,         // the ledger has no dataset of this name
    kOtherDataset,    // the rows belong to `owner`
    kRetired,         // the rows belong to `owner`, or the dataset is `owner`, which was retired
    kDeclaredPublic,  // the rows are declared public but belong to `owner`, which is private
    kNotPublic,       // the use declares the dataset public and the ledger has it as private, or vice versa
    kOtherPerson,     // the use tells persons apart by another column than the ledger has
    kOtherBlocks,     // the use divides the rows into other blocks than the ledger has
    kOtherBlock,      // rows of `block` are known under the block `owner` of the same dataset
  };
  Kind kind;
  std::string dataset;
  std::string owner = {};
  std::string reason = {};  // why `owner` was retired
  std::string person = {};  // the column that the ledger has; empty: it protects rows
  std::string block = {};
  std::optional<BlockTerms> blocks = {};  // those that the ledger has; none: it has no blocks
};

using DatasetOutcome = std::variant<DatasetGrant, DatasetConflict>;

// The refusal in words, for callers that cannot name a better remedy.
[[nodiscard]] Error to_error(const DatasetConflict& conflict);
[[nodiscard]] Result<DatasetGrant> granted(const DatasetOutcome& outcome);

}  // namespace noisefloor
