// Amplification by shuffling: the central privacy of locally private reports whose order is random.
//
// Guarantee:     upper bounds on δ at ε and ε at δ, for neighbours that differ in one user's value (replace-one), and
//                never worse than the local ε₀. Rounding and everything left out of sums is added. Add-remove is
//                refused: the number of reports is published, and the theorem compares data sets of the same size.
// Implements:    Feldman, McMillan and Talwar 2021, "Hiding Among the Clones", in its numerical form. With µ₀, µ₁ the
//                laws of the changed user's report, µ₀ = aQ₀ + (1−a)Q₁ and µ₁ = (1−a)Q₀ + aQ₁ for a = e^ε₀/(1 + e^ε₀)
//                (Kairouz, Oh and Viswanath). If every value's law is at least c(Q₀ + Q₁)/2 = c(µ₀ + µ₁)/2 everywhere,
//                each other user is a clone with probability c, and the reports are a function of how many of Q₀ and Q₁
//                were drawn: with C ~ Bin(n−1, c), A ~ Bin(C, ½), B ~ Bernoulli(a), the pair (A + B, C−A + 1−B) against
//                (A + 1−B, C−A + B).
//                  any ε₀-DP randomizer:      c = e^-ε₀;
//                  k-ary randomized response: c = 2/(e^ε₀ + 1), since each report has probability 1/Z at least with
//                      Z = e^ε₀ + k−1, while µ₀ + µ₁ is (e^ε₀ + 1)/Z at most. Or by category: only reports of the two
//                      values in question count, c = 2/Z, and δ gets the factor (e^ε₀ + 1)/Z. The lesser δ counts.
//                "Stronger Privacy Amplification by Shuffling" (the same authors, 2023) claims c = 2/(e^ε₀ + 1) for
//                every randomizer. Its errata say that this holds for some only, so it is used only where shown above.
// Requires:      all users run the same randomizer, independently, once; the shuffler is trusted.
// Speed:         a δ in about a millisecond for a million reports; above 2^32 reports the bound is that of 2^32.
// Thread safety: const after construction.
#pragma once

#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

class ShuffledReports {
 public:
  // For every ε₀-DP randomizer.
  [[nodiscard]] static Result<ShuffledReports> of_any_randomizer(Epsilon local, Rows reports, Adjacency adjacency);
  // For k-ary randomized response, which amplifies better.
  [[nodiscard]] static Result<ShuffledReports> of_randomized_response(Epsilon local, Categories categories,
                                                                      Rows reports, Adjacency adjacency);

  // The reports together are (ε, this)-DP. In [0, 1]; 0 from ε₀ on.
  [[nodiscard]] double delta_at(PrivacyLoss epsilon) const;
  // The reports together are (this, δ)-DP. At most ε₀; within a relative 1e-6 of the least that delta_at allows.
  [[nodiscard]] PrivacyLoss epsilon_at(Delta delta) const;

 private:
  // The number of clones is at least `clones` with this probability, as part of a partition of all numbers.
  struct Bucket {
    double clones;
    long double mass;
  };
  struct Bound {
    std::vector<Bucket> buckets;
    long double factor;
  };

  explicit ShuffledReports(Epsilon local) : local_(local) {}

  [[nodiscard]] static Bound make_bound(Rows reports, long double clone, long double no_clone, long double factor);
  [[nodiscard]] long double divergence(double clones, double epsilon) const;

  Epsilon local_;
  std::vector<Bound> bounds_;
};

}  // namespace noisefloor
