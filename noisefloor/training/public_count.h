// How many rows (or people) a training learns from, as far as that is public: the number N from which the sampling rate
// batch/N, the steps of an epoch, and the largest delta follow, and the only one that anybody is shown.
//
// Guarantee:     for private rows under add-remove, N is stated by the owner, and does not depend on the rows: nothing
//                that a training says, stores or certifies shows how many there are. The event holds all the same: each
//                row that is there, one more or one less, joins a batch by its own coin of the probability batch/N
//                (sgd/sampler.h). A number that is far off costs accuracy or time, and never privacy.
//                Under replace-one all neighbours have the same number, which is therefore public: without a statement
//                N is the number itself. It is also for public rows.
//                Where parts are kept for tests and validation, N is the number that the public split leaves of the
//                stated number (table/split.h). So it is exact where the statement is.
// Refused:       private rows under add-remove without a statement; people under replace-one of whom a part is kept for
//                tests, without a statement, because exchanging a person can move that person to the other part; and
//                the same with batches of a fixed size.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

// Why the number may be shown.
enum class CountBasis : std::uint8_t {
  kStated,      // the owner states it as public
  kByRate,      // the owner states the sampling rate as public, and the number follows
  kReplaceOne,  // all neighbours have it
  kPublicRows,  // the rows are public
};

struct PublicCount {
  Rows units;  // rows, or people
  CountBasis basis;
};

// `data`: the examples to learn from.
[[nodiscard]] Result<PublicCount> public_count_of(const Training& training, const Dataset& data);

// "the number of rows to learn from, 60000, is taken as public", for certificates.
[[nodiscard]] std::string in_words(const PublicCount& count, PrivacyUnit unit);

}  // namespace noisefloor
