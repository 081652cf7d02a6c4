// What is publicly stated about a dataset: where its rows are, whose they are, what is known of them, and the budget that all
// of its uses share. Start here: config/dataset_file.h reads it from a file, registry.h asks the ledger about it.
//
// Guarantee:     equal statements have equal digests, and different ones different digests. Where the rows are is no part of
//                the digest: a file that was moved is the same dataset.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "noisefloor/accounting/rule.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/terms.h"
#include "noisefloor/table/libsvm.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

// Where examples come from. Paths are as they stand in the file; whoever opens them resolves them against its folder.
struct IdxFiles {
  std::string images;
  std::string labels;
};
struct TextFile {
  std::string path;
};
using ExampleFiles = std::variant<IdxFiles, TextFile>;

struct IdxFormat {
  std::int32_t classes = 0;
};
struct CsvTable {
  Schema schema;
  CsvFormat format;
};
// Sequences of length + 1 characters, each a row: all but the first are to be predicted from those before.
struct TextFormat {
  std::size_t length = 0;
  std::optional<std::string> alphabet;  // a public file with its characters; bytes if there is none
  std::string replacement;              // what stands for other characters; one of the alphabet
  std::string characters = {};          // of the alphabet: whoever opens its file fills them in
};
using DataFormat = std::variant<IdxFormat, CsvTable, LibsvmOptions, TextFormat>;

// Whose the rows are: what one step to a neighbouring dataset adds, removes or exchanges.
struct DatasetUnit {
  PrivacyUnit unit = PrivacyUnit::kRow;
  std::string person = {};            // the column that tells persons apart; for persons
  std::uint64_t rows_per_person = 1;  // the most that a person contributes; for persons
  friend bool operator==(const DatasetUnit&, const DatasetUnit&) = default;
};

// What all uses of a dataset may cost together.
struct DatasetBudget {
  std::string name;  // in the ledger
  Epsilon epsilon;
  Delta delta;
  Adjacency adjacency = Adjacency::kAddRemove;
  Rule rule = Rule::kBasic;
};

struct DatasetDescription {
  std::string name;
  DataFormat format;
  ExampleFiles files;
  DatasetUnit unit = {};
  std::optional<std::uint64_t> rows = {};    // where their number is public
  std::optional<DatasetBudget> budget = {};  // nothing: the data are public, and cost nothing

  [[nodiscard]] bool is_public() const { return !budget; }
};

[[nodiscard]] Digest digest_of(const DatasetDescription& description);

// The budget of a private dataset as the ledger takes it. Requires a budget.
[[nodiscard]] BudgetTerms terms_of(const DatasetDescription& description);

}  // namespace noisefloor
