#include "noisefloor/mechanisms/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

Result<void> check_neighbours(Neighbours neighbours) {
  if (neighbours.unit == PrivacyUnit::kRow && neighbours.rows_per_unit.value() != 1) {
    return invalid_argument(fmt::format("a row contributes one row; got {}. For more rows per unit protect persons",
                                        neighbours.rows_per_unit.value()));
  }
  return success();
}

double rows_of(Neighbours neighbours) { return static_cast<double>(neighbours.rows_per_unit.value()); }

}  // namespace

Result<void> check_rows_are_public(Neighbours neighbours, std::string_view query) {
  if (neighbours.adjacency == Adjacency::kReplaceOne) {
    if (neighbours.rows_per_unit.value() == 1) return success();
    return invalid_argument(
        fmt::format("the {} has no useful sensitivity for persons of up to {} rows under replace-one: exchanging a "
                    "person changes how many rows there are. Use add-remove, or give every person one row",
                    query, neighbours.rows_per_unit.value()));
  }
  return invalid_argument(
      fmt::format("the {} has no useful sensitivity under add-remove, where the number of rows is private. Release a "
                  "sum and a count, or "
                  "use replace-one with a public number of rows",
                  query));
}

Result<Bounds> Bounds::make(double lower, double upper) {
  if (!std::isfinite(lower) || !std::isfinite(upper) || !(lower < upper) || !std::isfinite(upper - lower)) {
    return invalid_argument(
        fmt::format("bounds must be finite numbers with lower < upper; got [{}, {}]", lower, upper));
  }
  return Bounds(lower, upper);
}

double Bounds::width() const {
  // Rounded up: what is lost in the difference is found exactly (Knuth's two-sum).
  const double difference = upper_ - lower_;
  const double part = difference - upper_;
  const double lost = (upper_ - (difference - part)) - (lower_ + part);
  return lost > 0 ? next_up(difference) : difference;
}

double Bounds::largest_magnitude() const { return std::max(std::fabs(lower_), std::fabs(upper_)); }

double Bounds::clamp(double value) const { return std::clamp(std::isnan(value) ? 0.0 : value, lower_, upper_); }

Result<Sensitivity> Sensitivity::of_scalar(Neighbours neighbours, double change) {
  return of_vector(neighbours, change, change);
}

Result<Sensitivity> Sensitivity::of_vector(Neighbours neighbours, double l1, double l2) {
  NF_TRY_VOID(check_neighbours(neighbours));
  NF_TRY(const L1Sensitivity norm1, L1Sensitivity::make(l1));
  NF_TRY(const L2Sensitivity norm2, L2Sensitivity::make(l2));
  return Sensitivity{neighbours, norm1, norm2};
}

Result<Sensitivity> count_sensitivity(Neighbours neighbours) {
  return Sensitivity::of_scalar(neighbours, rows_of(neighbours));
}

Result<Sensitivity> sum_sensitivity(Neighbours neighbours, Bounds bounds) {
  const bool replace = neighbours.adjacency == Adjacency::kReplaceOne;
  const double m = rows_of(neighbours);
  // A row is exchanged for a row; persons of up to m rows may have more of them or fewer.
  if (replace && m == 1) return Sensitivity::of_scalar(neighbours, bounds.width());
  const double one = replace ? std::max(bounds.width(), bounds.largest_magnitude()) : bounds.largest_magnitude();
  return Sensitivity::of_scalar(neighbours, times_up(m, one));
}

Result<Sensitivity> mean_sensitivity(Neighbours neighbours, Bounds bounds, Rows rows) {
  NF_TRY_VOID(check_rows_are_public(neighbours, "mean"));
  return Sensitivity::of_scalar(neighbours, divided_up(bounds.width(), static_cast<double>(rows.value())));
}

Result<Sensitivity> variance_sensitivity(Neighbours neighbours, Bounds bounds, Rows rows) {
  NF_TRY_VOID(check_rows_are_public(neighbours, "variance"));
  // (b − a)² (n − 1)/n² for one row and the 1/n variance; (b − a)²/n bounds that and the 1/(n − 1) variance as well.
  const double width = bounds.width();
  return Sensitivity::of_scalar(neighbours, divided_up(times_up(width, width), static_cast<double>(rows.value())));
}

Result<Sensitivity> histogram_sensitivity(Neighbours neighbours, std::uint64_t bins_per_row) {
  const bool replace = neighbours.adjacency == Adjacency::kReplaceOne;
  const double m = rows_of(neighbours);
  const double k = static_cast<double>(bins_per_row) * (replace ? 2 : 1);
  return Sensitivity::of_vector(neighbours, times_up(m, k), times_up(m, sqrt_up(k)));
}

Result<Sensitivity> max_sensitivity(Neighbours neighbours, Bounds bounds) {
  return Sensitivity::of_scalar(neighbours, bounds.width());
}

Result<void> check_monotonic(Adjacency adjacency) {
  if (adjacency == Adjacency::kAddRemove) return success();
  return invalid_argument(
      "answers are not monotonic under replace-one, where one unit comes and one goes: use add-remove, or leave "
      "monotonic out");
}

Result<Sensitivity> clipped_gradient_sensitivity(Neighbours neighbours, ClipNorm clip, Dimension dimension) {
  const bool replace = neighbours.adjacency == Adjacency::kReplaceOne;
  const double l2 = times_up(rows_of(neighbours), clip.value() * (replace ? 2 : 1));
  return Sensitivity::of_vector(neighbours, times_up(l2, sqrt_up(static_cast<double>(dimension.value()))), l2);
}

}  // namespace noisefloor
