// What the ledger is asked about a dataset, and what it says: whose the rows are, and which budget pays for them.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor {

struct NewDataset {
  std::string name;
  Digest description;                 // of what is publicly stated about it
  std::optional<BudgetTerms> budget;  // nothing: the data are public, or share the budget of `same_as`
  std::string same_as = {};           // a dataset that holds the same rows, or some of them: its budget pays
};

struct DatasetUse {
  std::string name;
  Digest description;
  bool is_public = false;  // by declaration of whoever uses it
};

struct DatasetGrant {
  std::string dataset;
  std::string budget;       // to reserve from; empty: the rows are public and cost nothing
  bool new_rows = false;    // the dataset was not seen with these rows before
  bool new_budget = false;  // made for it
};

// Why rows may not be used like this. Nothing was written, except that the refusal itself tells that rows are shared.
struct DatasetConflict {
  enum class Kind : std::uint8_t {
    kUnknown,         // the ledger has no dataset of this name
    kOtherDataset,    // the rows belong to `owner`
    kRetired,         // they belong to `owner`, or are `owner`, which was retired
    kDeclaredPublic,  // they are declared public, and belong to `owner`, which is private
    kNotPublic,       // the use declares the dataset public and the ledger has it as private, or the other way round
  };
  Kind kind;
  std::string dataset;
  std::string owner = {};
  std::string reason = {};  // why `owner` was retired
};

using DatasetOutcome = std::variant<DatasetGrant, DatasetConflict>;

// The refusal in words, for callers that know no remedy of their own.
[[nodiscard]] Error to_error(const DatasetConflict& conflict);
[[nodiscard]] Result<DatasetGrant> granted(const DatasetOutcome& outcome);

}  // namespace noisefloor
