#include "noisefloor/training/exposing.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/dataset/registry.h"

namespace noisefloor {
namespace {

constexpr const char* kTestRows = "the test rows";

Error no_ledger(const Unnoised& unnoised) {
  return invalid_argument(
      fmt::format("{} looks at rows that are not declared public, and no epsilon covers it: give the ledger of the "
                  "dataset, which records it (`dataset add` makes one); or, if the rows are public, say public = true",
                  name_of(unnoised.kind)));
}

std::string name_of_rows(const ExampleFiles& rows) {
  if (const auto* idx = std::get_if<IdxFiles>(&rows)) return idx->images;
  return std::get<TextFile>(rows).path;
}

Error is_private(const std::string& what, const ExampleFiles& rows, const std::string& owner) {
  return invalid_argument(fmt::format(
      "{} {} are taken as public, but they are rows of {}: give rows that are public; for tests, test_fraction keeps "
      "some of the training file, which the ledger records. Nothing was spent",
      what, shown(name_of_rows(rows)), owner));
}

DatasetDescription other_rows(const TrainingFile& file, const ExampleFiles& rows, const std::string& what) {
  return {.name = what, .format = file.training.data.format, .files = rows};
}

Result<void> expect_no_owner(Ledger& ledger, const RowSketch& sketch, const std::string& what,
                             const ExampleFiles& rows) {
  NF_TRY(const std::optional<std::string> owner, ledger.private_owner(sketch));
  if (!owner) return success();
  return is_private(what, rows, fmt::format("the private dataset {}", shown(*owner)));
}

// Rows that the training file declares public, before they are looked at without being charged.
Result<void> expect_declaration(Ledger& ledger, const TrainingFile& file, const DatasetDescription& dataset) {
  bool known_as_private = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const LedgerState::Dataset* const known = state.find_dataset(dataset.name);
    known_as_private = known != nullptr && !known->is_public();
    return success();
  }));
  using Kind = DatasetConflict::Kind;
  if (known_as_private) return to_error({.kind = Kind::kNotPublic, .dataset = dataset.name});
  NF_TRY(const RowSketch sketch, sketch_for(ledger, dataset, file.folder));
  NF_TRY(const std::optional<std::string> owner, ledger.private_owner(sketch));
  if (!owner) return success();
  return to_error({.kind = Kind::kDeclaredPublic, .dataset = dataset.name, .owner = *owner});
}

// The test file of a training, which is taken as public. It is compared before the training's rows are added, so that a
// refusal leaves nothing behind, and again when the ledger knows them.
class TestFile {
 public:
  static Result<TestFile> of(Ledger& ledger, const TrainingFile& file) {
    TestFile test;
    if (!file.training.data.test) return test;
    NF_TRY(test.sketch_, sketch_for(ledger, other_rows(file, *file.training.data.test, kTestRows), file.folder));
    return test;
  }

  [[nodiscard]] Result<void> expect_public(Ledger& ledger, const TrainingFile& file) const {
    return sketch_ ? expect_no_owner(ledger, *sketch_, kTestRows, *file.training.data.test) : success();
  }
  // Compares with the training's own rows if the ledger does not know them yet.
  [[nodiscard]] Result<void> expect_others(Ledger& ledger, const TrainingFile& file,
                                           const DatasetDescription& dataset) const {
    if (!sketch_ || dataset.is_public()) return success();
    bool known = false;
    NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
      known = state.find_dataset(dataset.name) != nullptr;
      return success();
    }));
    if (known) return success();
    NF_TRY(const RowSketch own, sketch_for(ledger, dataset, file.folder));
    if (!compare(own, *sketch_).is_shared()) return success();
    return is_private(kTestRows, *file.training.data.test, "this training");
  }

 private:
  std::optional<RowSketch> sketch_;
};

ExposureEntry evaluation_of(const Training& training, const DatasetDescription& dataset) {
  const TrainingData& data = training.data;
  const std::string split = fmt::format("test_fraction {}, validation_fraction {}, split_seed {}", data.test_fraction,
                                        data.validation_fraction, data.split_seed);
  return {dataset.name, ExposureKind::kEvaluation, blake2b(split), split, training.name};
}

}  // namespace

bool learns_from_public_rows(const Training& training) { return description_of(training).is_public(); }

bool measures_private_rows(const Training& training) {
  const TrainingData& data = training.data;
  const bool has_split = data.validation_fraction > 0 || (!data.test && data.test_fraction > 0);
  return has_split && !learns_from_public_rows(training);
}

std::string data_declaration(const Training& training) {
  const std::string stated =
      "bounds, categories, classes and splits are those of the training file, stated without looking at the data; "
      "nothing was fitted to the data before training; ";
  return stated + (measures_private_rows(training)
                       ? "rows that were kept from the same data for tests or validation were measured without noise, "
                         "and epsilon does not cover what that shows of them"
                       : "test and validation examples are taken as public");
}

Result<ClaimedRows> claim_rows(Ledger* ledger, const TrainingFile& file, const RowsWish& wish,
                               const JobControl& control) {
  const Training& training = file.training;
  const DatasetDescription& dataset = wish.dataset;
  ClaimedRows claimed;
  if (ledger == nullptr) {
    // Whoever reserves refuses uses without a ledger.
    if (wish.unnoised && !dataset.is_public()) return no_ledger(*wish.unnoised);
    return claimed;
  }
  NF_TRY(const TestFile test, TestFile::of(*ledger, file));
  NF_TRY_VOID(test.expect_public(*ledger, file));
  NF_TRY_VOID(test.expect_others(*ledger, file, dataset));
  if (dataset.is_public() && wish.uses.empty()) {
    NF_TRY_VOID(expect_declaration(*ledger, file, dataset));
    return claimed;
  }
  NF_TRY(claimed.budget, find_payer(*ledger, file, dataset, wish.uses, wish.unknown, control));
  if (dataset.is_public()) return claimed;
  NF_TRY_VOID(test.expect_public(*ledger, file));
  if (measures_private_rows(training)) {
    claimed.evaluation = evaluation_of(training, dataset);
    // It is recorded after the reservation, so a member who may not is refused before that.
    NF_TRY_VOID(ledger->rehearse(*claimed.evaluation));
  }
  if (!wish.unnoised) return claimed;
  if (wish.outlook) {
    NF_TRY(const Outlook outlook, wish.outlook());
    NF_TRY_VOID(expect_fits(outlook));
  }
  const Unnoised& unnoised = *wish.unnoised;
  NF_TRY(claimed.exposure,
         ledger->expose({dataset.name, unnoised.kind, blake2b(unnoised.what), unnoised.key, training.name}));
  return claimed;
}

Result<void> expect_public(Ledger& ledger, const TrainingFile& file, const ExampleFiles& rows,
                           const std::string& what) {
  NF_TRY(const RowSketch sketch, sketch_for(ledger, other_rows(file, rows, what), file.folder));
  NF_TRY_VOID(expect_no_owner(ledger, sketch, what, rows));
  const DatasetDescription dataset = description_of(file.training);
  if (dataset.is_public()) return success();
  NF_TRY(const RowSketch own, sketch_for(ledger, dataset, file.folder));
  if (!compare(own, sketch).is_shared()) return success();
  return is_private(what, rows, "this training");
}

Result<void> claim_test_rows(Ledger& ledger, const TrainingFile& file) {
  if (file.training.data.test) {
    // The training file may be elsewhere: its rows are known to the ledger that has paid for the model.
    NF_TRY(const TestFile test, TestFile::of(ledger, file));
    return test.expect_public(ledger, file);
  }
  const DatasetDescription dataset = description_of(file.training);
  if (dataset.is_public()) return expect_declaration(ledger, file, dataset);
  if (!measures_private_rows(file.training)) return success();  // there are no test rows
  NF_TRY_VOID(find_payer(ledger, file, dataset, {}, NewDatasets::kRefuse, {}));
  NF_TRY_VOID(ledger.expose(evaluation_of(file.training, dataset)));
  return success();
}

}  // namespace noisefloor
