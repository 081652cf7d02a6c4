// What a job may look at without noise, and what that leaves behind in the ledger.
//
// Guarantee:     rows that are not declared public are looked at without noise only after the ledger has recorded it,
//                durably, as an exposure of their dataset: trainings without noise or with noise that can be repeated,
//                utility graphs, and measures of quality on rows that were kept from the training file for tests. The
//                certificates of all later releases from these rows name it (release/exposures.h). Rows of other files
//                that are taken as public (tests, proxies) are refused if they belong to a private dataset of the
//                ledger, as far as sketches can tell (ledger/row_sketch.h), or if they are the training's own.
// Not covered:   looking at the rows by other means, and declarations that no ledger can contradict.
// Thread safety: as the ledger.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/training/observer.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

// Whether the file, or the dataset that it names, declares the rows that it learns from public.
[[nodiscard]] bool learns_from_public_rows(const Training& training);

// Whether the rows for tests or validation are kept from a training file that is private.
[[nodiscard]] bool measures_private_rows(const Training& training);

// What a certificate says of how the rows were chosen.
[[nodiscard]] std::string data_declaration(const Training& training);

// What is done to the rows without noise, if they are private.
struct Unnoised {
  ExposureKind kind;
  std::string what;  // everything that distinguishes it; its digest is recorded
  std::string key;
};

struct RowsWish {
  DatasetDescription dataset;                 // that the file learns from
  std::span<const ReserveRequest> uses = {};  // what will be charged
  std::optional<Unnoised> unnoised = {};
  std::function<Result<Outlook>()> outlook = {};  // whether the budget allows for the uses
  NewDatasets unknown = NewDatasets::kRefuse;
};

struct ClaimedRows {
  std::string budget;                     // pays for the uses; empty if there are none and the rows are public
  std::optional<std::uint64_t> exposure;  // the entry of `unnoised`, if the rows are private
  // To be recorded before the first measure of quality, if that is by private rows; the caller records it.
  std::optional<ExposureEntry> evaluation;
};

// Claims the rows that a file learns from (dataset/paying.h) and records what is done to them without noise. Nothing is
// recorded beside uses that the budget would not allow for. kInvalidArgument without a ledger, unless the rows are
// public or will be charged; kInvalidArgument if test rows of their own file are private.
[[nodiscard]] Result<ClaimedRows> claim_rows(Ledger* ledger, const TrainingFile& file, const RowsWish& wish,
                                             const JobControl& control);

// Checks that rows of another file in the format of the training's may be taken as public. `what` names them in the
// refusal: "the test rows".
[[nodiscard]] Result<void> expect_public(Ledger& ledger, const TrainingFile& file, const ExampleFiles& rows,
                                         const std::string& what);

// For measuring a model again on the test rows of a file: records it if they are private, and checks otherwise that
// they are public.
[[nodiscard]] Result<void> claim_test_rows(Ledger& ledger, const TrainingFile& file);

}  // namespace noisefloor
