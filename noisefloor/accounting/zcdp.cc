#include "noisefloor/accounting/zcdp.h"

#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "noisefloor/accounting/lowering.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/event/tree_nodes.h"

namespace noisefloor {
namespace {

struct Sum {
  double rho = 0;
  double delta = 0;
};

// x²/2: of a Gaussian whose centres are x standard deviations apart, and of x-DP. Halves of the least numbers are
// rounded.
Sum half_square(double x) {
  const double half = times_up(x, x) / 2;
  return {half < 1e-280 && x > 0 ? next_up(half) : half};
}
Sum times(Sum one, double count) { return {times_up(one.rho, count), times_up(one.delta, count)}; }

Result<Sum> cost(const DpEvent& event, Adjacency adjacency);

Result<Sum> cost_of(const GaussianEvent& e, Adjacency /*adjacency*/) {
  return half_square(divided_up(1, e.noise_multiplier.value()));
}
Result<Sum> cost_of(const TreeAggregationEvent& e, Adjacency adjacency) {
  return times(half_square(divided_up(1, e.noise_multiplier.value())),
               static_cast<double>(tree_nodes(e.steps, adjacency)));
}
Result<Sum> cost_of(const DiscreteGaussianEvent& e, Adjacency /*adjacency*/) {
  if (e.summands.value() > 1) return invalid_argument("zCDP has no bound for sums of discrete Gaussians");
  return half_square(divided_up(e.l2_sensitivity.value(), e.sigma.value()));
}
Result<Sum> cost_of(const LaplaceEvent& e, Adjacency /*adjacency*/) {
  return half_square(divided_up(1, e.noise_multiplier.value()));
}
Result<Sum> cost_of(const DiscreteLaplaceEvent& e, Adjacency /*adjacency*/) {
  // Whole answers differ by a whole number.
  const double shift = std::floor(e.l1_sensitivity.value());
  return shift < 1 ? Sum{} : half_square(divided_up(shift, e.scale.value()));
}
Result<Sum> cost_of(const RandomizedResponseEvent& e, Adjacency /*adjacency*/) {
  return half_square(e.epsilon.value());
}
Result<Sum> cost_of(const PermuteAndFlipEvent& e, Adjacency /*adjacency*/) { return half_square(e.epsilon.value()); }
Result<Sum> cost_of(const ExponentialEvent& e, Adjacency /*adjacency*/) { return half_square(e.epsilon.value() / 2); }
Result<Sum> cost_of(const ZcdpEvent& e, Adjacency /*adjacency*/) { return Sum{e.rho.value(), e.delta.value()}; }
Result<Sum> cost_of(const EpsilonDeltaEvent& e, Adjacency /*adjacency*/) {
  return Sum{half_square(e.epsilon.value()).rho, e.delta.value()};
}
Result<Sum> cost_of(const ZeroCostEvent& /*e*/, Adjacency /*adjacency*/) { return Sum{}; }
Result<Sum> cost_of(const SelfComposedEvent& e, Adjacency adjacency) {
  NF_TRY(const Sum one, cost(e.event, adjacency));
  const auto count = static_cast<double>(e.count.value());
  return times(one, count <= 0x1p53 ? count : next_up(count));
}
Result<Sum> cost_of(const ComposedEvent& e, Adjacency adjacency) {
  Sum sum;
  for (const DpEvent& part : e.events) {
    NF_TRY(const Sum one, cost(part, adjacency));
    sum = {add_up(sum.rho, one.rho), add_up(sum.delta, one.delta)};
  }
  return sum;
}
Result<Sum> cost_of(const PoissonSampledEvent& e, Adjacency adjacency) {
  if (adjacency == Adjacency::kReplaceOne) {
    return invalid_argument("zCDP is computed for Poisson samples under add-remove only");
  }
  return cost(e.event, adjacency);
}

Result<Sum> cost(const DpEvent& event, Adjacency adjacency) {
  return std::visit(
      [&](const auto& kind) -> Result<Sum> {
        if constexpr (requires { cost_of(kind, adjacency); }) {
          return cost_of(kind, adjacency);
        } else {
          return invalid_argument(fmt::format("zCDP has no bound for events of kind {}", kind_name(event)));
        }
      },
      event.kind());
}

}  // namespace

Result<ZcdpCost> zcdp_cost(const DpEvent& event, Adjacency adjacency) {
  NF_TRY(const DpEvent plain, internal::dominating_event(event, adjacency));
  NF_TRY(const Sum sum, cost(plain, adjacency));
  NF_TRY(const Rho rho, Rho::make(sum.rho));
  NF_TRY(const Delta delta, Delta::make(sum.delta));
  return ZcdpCost{rho, delta};
}

}  // namespace noisefloor
