#include "noisefloor/mechanisms/bounded_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace noisefloor {
namespace {

// With values of at most 2^66 steps, 2^60 of them stay within 127 bits.
Result<void> check_range(Bounds bounds, const Lattice& lattice) {
  if (bounds.largest_magnitude() / lattice.step() <= 0x1p66) return success();
  return invalid_argument(fmt::format("the bounds [{}, {}] are too narrow for their distance from 0: shift the values",
                                      bounds.lower(), bounds.upper()));
}

}  // namespace

Result<BoundedSum> BoundedSum::create(Neighbours neighbours, Bounds bounds, Epsilon epsilon, Delta delta) {
  NF_TRY(const Sensitivity sensitivity, sum_sensitivity(neighbours, bounds));
  if (delta.value() == 0) {
    NF_TRY(LaplaceMechanism laplace, LaplaceMechanism::create_for_sum(sensitivity, epsilon, neighbours.rows_per_unit));
    NF_TRY_VOID(check_range(bounds, laplace.lattice()));
    return BoundedSum(bounds, std::move(laplace));
  }
  NF_TRY(GaussianMechanism gaussian,
         GaussianMechanism::create_for_sum(sensitivity, epsilon, delta, neighbours.rows_per_unit));
  NF_TRY_VOID(check_range(bounds, gaussian.lattice()));
  return BoundedSum(bounds, std::move(gaussian));
}

const DpStatement& BoundedSum::statement() const {
  return std::visit([](const auto& noise) -> const DpStatement& { return noise.statement(); }, noise_);
}

const Lattice& BoundedSum::lattice() const {
  return std::visit([](const auto& noise) -> const Lattice& { return noise.lattice(); }, noise_);
}

double BoundedSum::noise_scale() const {
  if (const auto* laplace = std::get_if<LaplaceMechanism>(&noise_)) return laplace->scale();
  return std::get<GaussianMechanism>(noise_).sigma();
}

double BoundedSum::error_bound(Confidence confidence) const {
  return std::visit([&](const auto& noise) { return noise.error_bound(confidence); }, noise_);
}

Result<BoundedMean> BoundedMean::create(Neighbours neighbours, Bounds bounds, Epsilon epsilon, Delta delta) {
  if (neighbours.adjacency == Adjacency::kReplaceOne) {
    NF_TRY_VOID(check_rows_are_public(neighbours, "mean"));
    NF_TRY(BoundedSum sum, BoundedSum::create(neighbours, bounds, epsilon, delta));
    DpStatement statement = sum.statement();
    return BoundedMean(bounds, 0, std::move(sum), std::nullopt, std::move(statement));
  }
  NF_TRY(const Epsilon half, Epsilon::make(epsilon.value() / 2));
  const double centre = bounds.middle();
  // Both ends as doubles round them, so that every centred value lies between them.
  NF_TRY(const Bounds centred, Bounds::make(bounds.lower() - centre, bounds.upper() - centre));
  NF_TRY(BoundedSum sum, BoundedSum::create(neighbours, centred, half, delta));
  NF_TRY(const Sensitivity count_change, count_sensitivity(neighbours));
  NF_TRY(GeometricMechanism count, GeometricMechanism::create(count_change, half));
  NF_TRY(DpStatement statement, compose({sum.statement(), count.statement()}));
  return BoundedMean(bounds, centre, std::move(sum), std::move(count), std::move(statement));
}

BoundedMean::BoundedMean(Bounds bounds, double centre, BoundedSum sum, std::optional<GeometricMechanism> count,
                         DpStatement statement)
    : bounds_(bounds),
      centre_(centre),
      sum_(std::move(sum)),
      count_(std::move(count)),
      statement_(std::move(statement)) {}

Result<void> BoundedMean::check_rows(std::size_t rows) const {
  if (rows == 0 && !count_) return input_data_error("there are no values, and the mean of none is not defined");
  return success();
}

double BoundedMean::error_bound(Rows rows, Confidence confidence) const {
  const double n = static_cast<double>(rows.value());
  const double grid = sum_.lattice().step() / 2;
  if (!count_) return sum_.error_bound(confidence) / n + grid;
  // Each part fails with half the probability. With the count off by c: |mean − m'| ≤ (noise + c · half the width) / (n
  // − c).
  const Confidence each = Confidence::make(1 - (1 - confidence.value()) / 2).value();
  const double c = static_cast<double>(count_->error_bound(each));
  const double half_width = bounds_.width() / 2;
  if (c >= n) return bounds_.width();
  return std::min(bounds_.width(), (sum_.error_bound(each) + n * grid + c * half_width) / (n - c));
}

}  // namespace noisefloor
