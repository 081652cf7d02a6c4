// Randomized response: each person reports the truth or, with some probability, another of k categories. The report
//                      itself is private; no curator is trusted.
//
// Guarantee:     ε-DP in the local model: for any two truths and any report, the odds are at most e^ε. Exact: the
//                probability of the truth is e^ε / (e^ε + k − 1), and that of each other category e^-ε times it.
// Implements:    Warner 1965 (k = 2); Kairouz, Bonawitz, Ramage 2016 (k-ary).
// Requires:      2^-60 ≤ ε ≤ 700, at most 2^52 categories.
// Timing:        does not depend on the truth, except for one comparison; the choice between truth and another category
//                takes more or less time by chance (see docs/threat_model.md).
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/mechanisms/release.h"

namespace noisefloor {

class RandomizedResponse {
 public:
  [[nodiscard]] static Result<RandomizedResponse> create(Epsilon epsilon, Categories categories = kTwoCategories,
                                                         PrivacyUnit unit = PrivacyUnit::kPerson);

  // Requires truth < categories.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::uint64_t>> release(std::uint64_t truth, Source& source) const {
    NF_TRY(const std::uint64_t report, respond(truth, source));
    return Release<Source, std::uint64_t>(report, statement_);
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }

  // Probability that a report is the truth.
  [[nodiscard]] double truth_probability() const;

  // An unbiased estimate of how many people are in each category, from how many reported each, and its standard error
  // at most. Post-processing: costs nothing. Requires one count for each category.
  struct Estimate {
    std::vector<double> counts;
    double standard_error;
  };
  [[nodiscard]] Result<Estimate> estimate(std::span<const std::uint64_t> report_counts) const;

 private:
  RandomizedResponse(Epsilon epsilon, Categories categories, PrivacyUnit unit);

  [[nodiscard]] Result<std::uint64_t> respond(std::uint64_t truth, BitStream& stream) const;

  Epsilon epsilon_;
  Categories categories_;
  Uint128 numerator_;  // ε = numerator / denominator
  Uint128 denominator_;
  DpStatement statement_;
};

}  // namespace noisefloor
