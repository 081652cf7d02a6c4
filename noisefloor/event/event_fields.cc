#include "noisefloor/event/event_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace noisefloor {
namespace {

template <class T>
Result<void> expect_length(const std::vector<T>& list, std::string_view name) {
  if (list.empty()) return invalid_argument(fmt::format("{} is empty; it needs one entry at least", name));
  if (list.size() > kMaxListLength) {
    return invalid_argument(fmt::format("{} has {} entries; at most {} are read", name, list.size(), kMaxListLength));
  }
  return success();
}

Result<void> expect_finite(const std::vector<double>& list, std::string_view name) {
  for (const double number : list) {
    if (!std::isfinite(number)) {
      return invalid_argument(fmt::format("{} must be finite numbers; got {}", name, number));
    }
  }
  return success();
}

// A first coefficient of 0 would make C singular: then C x hides a part of x, and no noise could be made from it.
Result<void> check_coefficients(const std::vector<double>& list, std::uint64_t steps) {
  NF_TRY_VOID(expect_length(list, "coefficients"));
  NF_TRY_VOID(expect_finite(list, "coefficients"));
  if (!(list.front() > 0)) {
    return invalid_argument(fmt::format("the first of the coefficients must be above 0; got {}", list.front()));
  }
  if (list.size() > steps) {
    return invalid_argument(
        fmt::format("there are {} coefficients for {} steps; leave out those that no step has", list.size(), steps));
  }
  return success();
}

Result<void> check(const MatrixFactorizationEvent& e) { return check_coefficients(e.coefficients, e.steps.value()); }

Result<void> check(const SampledFactorizationEvent& e) {
  NF_TRY_VOID(check_coefficients(e.coefficients, e.steps.value()));
  if (e.coefficients.size() > e.groups.value()) {
    return invalid_argument(
        fmt::format("there are {} coefficients for {} groups: sampled batches need at least as many groups as "
                    "coefficients, so that what a unit adds to two steps does not overlap",
                    e.coefficients.size(), e.groups.value()));
  }
  return success();
}

Result<void> check(const TreeRestartsEvent& e) { return expect_length(e.steps, "steps"); }

Result<void> check(const GaussianMixtureEvent& e) {
  NF_TRY_VOID(expect_length(e.sensitivities, "sensitivities"));
  if (e.sensitivities.size() != e.probabilities.size()) {
    return invalid_argument(fmt::format("there are {} sensitivities and {} probabilities; each needs the other",
                                        e.sensitivities.size(), e.probabilities.size()));
  }
  double sum = 0;
  for (std::size_t i = 0; i < e.sensitivities.size(); ++i) {
    const double s = e.sensitivities[i];
    const double p = e.probabilities[i];
    if (!(s >= 0 && std::isfinite(s))) {
      return invalid_argument(fmt::format("sensitivities must be finite numbers, 0 or above; got {}", s));
    }
    if (!(p >= 0 && p <= 1)) return invalid_argument(fmt::format("probabilities must be from 0 to 1; got {}", p));
    sum += p;
  }
  if (!(std::fabs(sum - 1) <= kProbabilitySlack)) {
    return invalid_argument(fmt::format(
        "the probabilities add up to {}, not to 1; a unit that may be absent needs an entry with the sensitivity 0",
        sum));
  }
  return success();
}

Result<void> check(const FixedSizeSampledEvent& e) {
  if (e.sample_size > e.population) return invalid_argument("sample_size is larger than population");
  return success();
}

Result<void> check(const TruncatedPoissonSampledEvent& e) {
  if (e.max_batch > e.population) return invalid_argument("max_batch is larger than population");
  return success();
}

}  // namespace

Result<void> check_fields(const DpEvent& event) {
  return std::visit(
      [](const auto& kind) -> Result<void> {
        if constexpr (requires { check(kind); }) {
          return check(kind);
        } else {
          return success();
        }
      },
      event.kind());
}

}  // namespace noisefloor
