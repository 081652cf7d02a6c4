#include "noisefloor/training/public_count.h"

#include <fmt/format.h>

#include <optional>

#include "noisefloor/sgd/sampler.h"
#include "noisefloor/table/split.h"

namespace noisefloor {
namespace {

Error nothing_stated(const Training& training, PrivacyUnit unit) {
  const bool person = unit == PrivacyUnit::kPerson;
  // A description cannot say how many rows are in the blocks that a training chooses.
  const bool in_description = training.data.dataset && !training.data.dataset->blocks;
  return invalid_argument(fmt::format(
      "the number of {} is private, and the training would show it: add {} = … {}, a number that you are ready to "
      "publish (a rounded one is fine); or sample_rate = … to [training]",
      plural_of(unit), person ? "people" : "rows",
      in_description ? "at the top of the description that dataset names" : "to [data]"));
}

Error people_move() {
  return invalid_argument(
      "exchanging a person can move that person to the part that is kept for tests, and batches of a fixed size are "
      "for parts whose size is public: take a file of its own as test, or sampler = \"poisson\"");
}

}  // namespace

Result<PublicCount> public_count_of(const Training& training, const Dataset& data) {
  const TrainingData& stated = training.data;
  if (description_of(training).is_public()) {
    NF_TRY(const Rows units, Rows::make(data.units()));
    return PublicCount{units, CountBasis::kPublicRows};
  }
  const bool person = data.unit() == PrivacyUnit::kPerson;
  const bool split = stated.test_fraction > 0 || stated.validation_fraction > 0;
  const bool exact = training.descent.sampler == SamplerKind::kFixedSize;
  if (exact && person && split) return people_move();
  if (training.descent.rows_by_rate) return PublicCount{*training.descent.rows_by_rate, CountBasis::kByRate};
  if (const std::optional<std::uint64_t> all = person ? stated.people : stated.rows) {
    NF_TRY(const std::uint64_t left,
           count_for_training(*all, stated.validation_fraction, stated.test_fraction, stated.split_seed));
    NF_TRY(const Rows units, Rows::make(left));
    return PublicCount{units, CountBasis::kStated};
  }
  if (training.privacy.adjacency != Adjacency::kReplaceOne || (person && split)) {
    return nothing_stated(training, data.unit());
  }
  NF_TRY(const Rows units, Rows::make(data.units()));
  return PublicCount{units, CountBasis::kReplaceOne};
}

std::string in_words(const PublicCount& count, PrivacyUnit unit) {
  const std::string number = fmt::format("the number of {} to learn from, {}, ", plural_of(unit), count.units.value());
  switch (count.basis) {
    case CountBasis::kStated:
      return number + "is taken as public";
    case CountBasis::kByRate:
      return number + "follows from a sampling rate that is taken as public";
    case CountBasis::kReplaceOne:
      return number + "is public because all neighbours have it";
    case CountBasis::kPublicRows:
      break;
  }
  return number + "is public like the rows";
}

}  // namespace noisefloor
