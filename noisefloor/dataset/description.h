// The public statement about a dataset: where its rows are, whose they are, what is known of them, and the budget that
// all of its uses share. Start here: config/dataset_file.h reads the statement from a file, registry.h asks the ledger
// about it.
//
// Guarantee:     equal statements have equal digests, and different ones different digests. The place of the rows is
//                not part of the digest: a file that was moved is the same dataset, and so are tables that another
//                engine has now. Nor are the blocks that one use
//                touches; how the rows are divided into blocks is.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/accounting/rule.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/dataset/tables.h"
#include "noisefloor/ledger/terms.h"
#include "noisefloor/table/libsvm.h"
#include "noisefloor/table/schema.h"

namespace noisefloor {

// The source of examples. Paths are as the file states them; whoever opens them resolves them against the folder of the
// file.
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
// Sequences of length + 1 characters, each a row. The model predicts every character except the first from those before
// it.
struct TextFormat {
  std::size_t length = 0;
  std::optional<std::string> alphabet;  // a public file with the characters; without one, bytes are read
  std::string replacement;              // the character of the alphabet that stands for all others
  std::string characters = {};          // the alphabet; whoever opens its file fills this in
};
// Tables for queries: they cannot be trained on.
using DataFormat = std::variant<IdxFormat, CsvTable, LibsvmOptions, TextFormat, TablesFormat>;

// The protected unit: what one step to a neighbouring dataset adds, removes or exchanges.
struct DatasetUnit {
  PrivacyUnit unit = PrivacyUnit::kRow;
  std::string person = {};            // the column that tells persons apart; only for persons
  std::uint64_t rows_per_person = 1;  // the most that a person contributes; only for persons
  friend bool operator==(const DatasetUnit&, const DatasetUnit&) = default;
};

// The total cost that all uses of a dataset may have together.
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
  ExampleFiles files;  // an empty path for tables, which have places of their own
  DatasetUnit unit = {};
  std::optional<std::uint64_t> rows = {};    // the number of rows that is taken as public, if there is one
  std::optional<DatasetBudget> budget = {};  // none: the data are public, and cost nothing
  std::optional<std::uint64_t> people = {};  // the number of people that is taken as public; only for persons
  std::optional<BlockTerms> blocks = {};     // how the rows are divided; the budget then holds for each block
  std::vector<std::string> chosen = {};      // the blocks that a use touches (choose_blocks); it reads no other rows

  [[nodiscard]] bool is_public() const { return !budget; }
};

[[nodiscard]] Digest digest_of(const DatasetDescription& description);

// Chooses the blocks of a use from a list such as "2026-01..2026-03,2026-06": from then on only their rows are read. A
// row without a readable date is in no block. kInvalidArgument if there are blocks and none is named, or the other way
// round.
[[nodiscard]] Result<void> choose_blocks(DatasetDescription& description, std::string_view list);
// The format that reads the rows of the chosen blocks by date, and no others.
[[nodiscard]] DataFormat chosen_format(const DatasetDescription& description);
// The files to be read, one after the other: those of the chosen batches, or the one that there is.
[[nodiscard]] std::vector<std::string> chosen_files(const DatasetDescription& description);
// Stands for a batch's name in the path of its file.
inline constexpr std::string_view kBatchInPath = "{block}";

// The budget of a private dataset, in the form that the ledger takes. Requires a budget.
[[nodiscard]] BudgetTerms terms_of(const DatasetDescription& description);

}  // namespace noisefloor
