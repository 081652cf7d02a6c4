// Sums and means of values within public bounds, exact up to the noise.
//
// A sum of doubles rounds, by an amount that depends on the order and on the other values, and one person can move it
// by more than the bound of the values (Casacuberta et al. 2022). So each value is clamped to the bounds and rounded to
// the grid of the noise, and the grid points are added up as integers: the sensitivity is exactly that of one value.
//
// Guarantee:     with δ = 0, ε-DP by discrete Laplace noise; with δ > 0, (ε, δ)-DP by discrete Gaussian noise.
//                Neither NaN, infinities nor overflow break it: values are clamped, and fewer than 2^60 of them
//                cannot overflow.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "noisefloor/mechanisms/gaussian.h"
#include "noisefloor/mechanisms/geometric.h"
#include "noisefloor/mechanisms/laplace.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"

namespace noisefloor {

class BoundedSum {
 public:
  [[nodiscard]] static Result<BoundedSum> create(Neighbours neighbours, Bounds bounds, Epsilon epsilon, Delta delta);

  // A running exact sum, for data that come as a stream.
  class Accumulator {
   public:
    void add(double value) { total_ += sum_->lattice().nearest(sum_->bounds_.clamp(value)); }

   private:
    friend class BoundedSum;
    explicit Accumulator(const BoundedSum& sum) : sum_(&sum) {}
    const BoundedSum* sum_;
    Int128 total_ = 0;
  };
  [[nodiscard]] Accumulator accumulator() const { return Accumulator(*this); }

  template <RandomSource Source>
  [[nodiscard]] Release<Source, double> release(const Accumulator& data, Source& source) const {
    return std::visit([&](const auto& noise) { return noise.release_point(data.total_, source); }, noise_);
  }

  template <RandomSource Source>
  [[nodiscard]] Release<Source, double> release(std::span<const double> values, Source& source) const {
    Accumulator data = accumulator();
    for (double value : values) data.add(value);
    return release(data, source);
  }

  [[nodiscard]] const DpStatement& statement() const;
  [[nodiscard]] const Lattice& lattice() const;

  // Scale (Laplace) or standard deviation (Gaussian) of the noise on the sum.
  [[nodiscard]] double noise_scale() const;

  // The noise on the sum is at most this with at least the given probability. Rounding adds at most half a grid step a
  // value.
  [[nodiscard]] double error_bound(Confidence confidence) const;

 private:
  using Noise = std::variant<LaplaceMechanism, GaussianMechanism>;
  BoundedSum(Bounds bounds, Noise noise) : bounds_(bounds), noise_(std::move(noise)) {}

  Bounds bounds_;
  Noise noise_;
};

// The mean. Under replace-one the number of rows is public: the noised sum is divided by it. (So persons of several
// rows are refused there.) Under add-remove it is private: half of the budget goes to the sum of distances from the
// middle of the bounds, half to the count.
class BoundedMean {
 public:
  [[nodiscard]] static Result<BoundedMean> create(Neighbours neighbours, Bounds bounds, Epsilon epsilon, Delta delta);

  // Under replace-one `values` must not be empty: their number is public.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, double>> release(std::span<const double> values, Source& source) const {
    NF_TRY_VOID(check_rows(values.size()));
    BoundedSum::Accumulator data = sum_.accumulator();
    for (double value : values) data.add(bounds_.clamp(value) - centre_);
    const double total = sum_.release(data, source).value();
    double rows = static_cast<double>(values.size());
    if (count_) rows = static_cast<double>(count_->release(static_cast<std::int64_t>(values.size()), source).value());
    return Release<Source, double>(bounds_.clamp(centre_ + total / (rows < 1 ? 1 : rows)), statement_);
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }

  // Scale or standard deviation of the noise on the mean of `rows` values. (Under add-remove: of the sum's part.)
  [[nodiscard]] double noise_scale(Rows rows) const { return sum_.noise_scale() / static_cast<double>(rows.value()); }

  // A released mean of `rows` values is within this of the mean of the clamped values with at least the given
  // probability.
  [[nodiscard]] double error_bound(Rows rows, Confidence confidence) const;

 private:
  BoundedMean(Bounds bounds, double centre, BoundedSum sum, std::optional<GeometricMechanism> count,
              DpStatement statement);

  [[nodiscard]] Result<void> check_rows(std::size_t rows) const;

  Bounds bounds_;
  double centre_;  // what is taken off each value before summing
  BoundedSum sum_;
  std::optional<GeometricMechanism> count_;  // under add-remove
  DpStatement statement_;
};

}  // namespace noisefloor
