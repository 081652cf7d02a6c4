#include "noisefloor/accounting/rdp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "noisefloor/accounting/lowering.h"
#include "noisefloor/accounting/renyi_arithmetic.h"
#include "noisefloor/accounting/renyi_tree.h"

namespace noisefloor {
namespace {

using internal::dominating_event;
using internal::kInfinity;
using internal::pure_epsilon;
using internal::tree_bound;
using internal::up;
using internal::WholeOrders;

// Total variation is δ at ε = 0, and δ falls with ε. Bretagnolle-Huber and Pinsker take the Kullback-Leibler
// divergence, which is at most D_α; TV ≤ √(e^{D₂} − 1)/2.
double total_variation_bound(double order, double divergence) {
  double bound = std::min(std::sqrt(-std::expm1(-divergence)), std::sqrt(divergence / 2));
  if (order >= 2) bound = std::min(bound, std::sqrt(std::expm1(std::min(divergence, 2.0))) / 2);
  return std::min(1.0, up(bound));
}

// ln(1 − 1/α).
double log_order_gap(double order) {
  return order < 2 ? std::log(order - 1) - std::log(order) : std::log1p(-1 / order);
}

double log_delta_from_renyi(double order, double divergence, double epsilon) {
  if (!(order > 1) || !(divergence >= 0) || !(epsilon >= 0)) return 0;
  if (divergence == 0) return -kInfinity;
  if (divergence == kInfinity) return 0;
  const double log_variation = std::min(0.0, std::log(total_variation_bound(order, divergence)) + 0x1p-48);
  if (order == kInfinity) return divergence <= epsilon ? -kInfinity : log_variation;
  const double a = order - 1;
  const double steep = a * (divergence - epsilon);
  const double gap = a * log_order_gap(order);
  const double last = std::log(order);
  const double size = std::fabs(steep) + std::fabs(gap) + last;
  return std::min(log_variation, steep + gap - last + size * 0x1p-49 + 0x1p-48);
}

struct Best {
  double value;
  double order;
};

// The least value of f over the orders. f may be rugged: a grid over ln(α−1), then a golden-section search around its
// best point, then the whole orders beside that (bounds which are interpolated have their kinks there). Whatever is
// found is a valid bound, the search only makes it small.
template <class F>
Result<Best> minimise(F f) {
  Best best{kInfinity, kInfinity};
  double at = 0;
  const auto try_order = [&](double order) -> Result<double> {
    NF_TRY(const double value, f(order));
    if (value < best.value) best = {value, order};
    return value;
  };
  const auto order_at = [](double x) { return 1 + std::exp(x); };
  constexpr double kStep = 1.2;
  for (double x = -36; x < 35; x += kStep) {
    const double before = best.value;
    NF_TRY_VOID(try_order(order_at(x)));
    if (best.value < before) at = x;
  }
  if (best.value == kInfinity) return best;
  double low = at - kStep;
  double high = at + kStep;
  constexpr double kGolden = 0.6180339887498949;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  NF_TRY(double at_left, try_order(order_at(left)));
  NF_TRY(double at_right, try_order(order_at(right)));
  while (high - low > 2e-5) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kGolden * (high - low);
      NF_TRY(at_left, try_order(order_at(left)));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kGolden * (high - low);
      NF_TRY(at_right, try_order(order_at(right)));
    }
  }
  if (best.order < 1e6) {
    const double below = std::floor(best.order);
    if (below >= 2) NF_TRY_VOID(try_order(below));
    NF_TRY_VOID(try_order(below + 1));
  }
  return best;
}

Result<void> check_order(double order) {
  if (order > 1) return success();
  return invalid_argument(fmt::format("a Rényi order must be above 1; got {}", order));
}

// The δ that is left for the conversion: spent + (1 − spent) δ' ≤ delta.
double remaining_delta(double delta, double spent) {
  if (spent == 0) return delta;
  return (delta - spent) / (1 - spent) * (1 - 0x1p-50);
}

}  // namespace

Result<RenyiBound> renyi_bound(const DpEvent& event, Adjacency adjacency, double order) {
  NF_TRY(const std::vector<RenyiBound> bounds, renyi_bounds(event, adjacency, std::span(&order, 1)));
  return bounds.front();
}

Result<std::vector<RenyiBound>> renyi_bounds(const DpEvent& stated, Adjacency adjacency,
                                             std::span<const double> orders) {
  NF_TRY(const DpEvent event, dominating_event(stated, adjacency));
  WholeOrders known;
  std::vector<RenyiBound> bounds;
  for (const double order : orders) {
    NF_TRY_VOID(check_order(order));
    NF_TRY(RenyiBound bound, tree_bound(event, adjacency, order < kInfinity ? order : 2, {known}));
    if (order == kInfinity) bound.divergence = pure_epsilon(event, adjacency);
    bounds.push_back(bound);
  }
  return bounds;
}

double epsilon_from_renyi(double order, double divergence, double delta) {
  if (!(order > 1) || !(divergence >= 0) || !(delta >= 0)) return kInfinity;
  if (divergence == 0 || delta >= 1) return 0;
  if (divergence == kInfinity) return kInfinity;
  if (total_variation_bound(order, divergence) <= delta) return 0;
  if (order == kInfinity) return divergence;
  if (delta == 0) return kInfinity;
  const double a = order - 1;
  const double gap = log_order_gap(order);
  const double log_delta = std::log(delta);
  const double log_order = std::log(order);
  const double epsilon = divergence + gap - (log_delta + log_order) / a;
  const double size = divergence + std::fabs(gap) + (std::fabs(log_delta) + log_order) / a;
  return std::max(0.0, epsilon + size * 0x1p-50);
}

double delta_from_renyi(double order, double divergence, double epsilon) {
  const double log_delta = log_delta_from_renyi(order, divergence, epsilon);
  return log_delta == -kInfinity ? 0 : std::min(1.0, up(std::exp(log_delta)));
}

namespace {

// What both forms of renyi_epsilon do before they search: the answer, or the δ that is left to search with.
struct Start {
  std::optional<RenyiEpsilon> answer;
  double delta;
};

Result<Start> start(const DpEvent& event, Adjacency adjacency, Delta delta) {
  NF_TRY(const RenyiBound at_two, renyi_bound(event, adjacency, 2));
  if (contains<NonPrivateEvent>(event)) return Start{RenyiEpsilon{kInfinity, kInfinity}, 0};
  if (delta.value() > at_two.delta) return Start{std::nullopt, remaining_delta(delta.value(), at_two.delta)};
  const double pure = pure_epsilon(event, adjacency);
  if (delta.value() == at_two.delta && pure < kInfinity) return Start{RenyiEpsilon{pure, kInfinity}, 0};
  return invalid_argument(fmt::format("delta {} is not above the {} that these events spend; ask for a larger delta",
                                      delta.value(), at_two.delta));
}

}  // namespace

Result<RenyiEpsilon> renyi_epsilon(const DpEvent& stated, Adjacency adjacency, Delta delta) {
  NF_TRY(const DpEvent event, dominating_event(stated, adjacency));
  NF_TRY(const Start begin, start(event, adjacency, delta));
  if (begin.answer.has_value()) return *begin.answer;
  WholeOrders known;
  NF_TRY(const Best best, minimise([&](double order) -> Result<double> {
           NF_TRY(const RenyiBound at, tree_bound(event, adjacency, order, {known}));
           return epsilon_from_renyi(order, at.divergence, begin.delta);
         }));
  const double pure = epsilon_from_renyi(kInfinity, pure_epsilon(event, adjacency), begin.delta);
  if (pure <= best.value) return RenyiEpsilon{pure, kInfinity};
  return RenyiEpsilon{best.value, best.order};
}

Result<RenyiEpsilon> renyi_epsilon(const DpEvent& stated, Adjacency adjacency, Delta delta,
                                   std::span<const double> orders) {
  NF_TRY(const DpEvent event, dominating_event(stated, adjacency));
  if (orders.empty()) return invalid_argument("Rényi accounting needs at least one order; got none");
  for (const double order : orders) NF_TRY_VOID(check_order(order));
  NF_TRY(const Start begin, start(event, adjacency, delta));
  if (begin.answer.has_value()) return *begin.answer;
  NF_TRY(const std::vector<RenyiBound> bounds, renyi_bounds(event, adjacency, orders));
  RenyiEpsilon best{kInfinity, orders.front()};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double epsilon = epsilon_from_renyi(orders[i], bounds[i].divergence, begin.delta);
    if (epsilon < best.epsilon) best = {epsilon, orders[i]};
  }
  return best;
}

Result<double> renyi_delta(const DpEvent& stated, Adjacency adjacency, double epsilon) {
  NF_TRY(const DpEvent event, dominating_event(stated, adjacency));
  if (!(epsilon >= 0 && epsilon < kInfinity)) {
    return invalid_argument(fmt::format("epsilon must be a finite number, 0 or above; got {}", epsilon));
  }
  WholeOrders known;
  NF_TRY(const RenyiBound at_two, tree_bound(event, adjacency, 2, {known}));
  NF_TRY(const Best best, minimise([&](double order) -> Result<double> {
           NF_TRY(const RenyiBound at, tree_bound(event, adjacency, order, {known}));
           return log_delta_from_renyi(order, at.divergence, epsilon);
         }));
  const double pure = log_delta_from_renyi(kInfinity, pure_epsilon(event, adjacency), epsilon);
  const double log_delta = std::min(best.value, pure);
  const double delta = log_delta == -kInfinity ? 0 : std::min(1.0, up(std::exp(log_delta)));
  if (at_two.delta == 0) return delta;
  if (delta == 0) return at_two.delta;
  return std::min(1.0, up(at_two.delta + delta * (1 - at_two.delta)));
}

std::span<const double> default_orders() {
  static const auto orders = [] {
    std::array<double, 99 + 53 + 4> list{};
    std::size_t n = 0;
    for (int i = 1; i < 100; ++i) list[n++] = 1 + i / 10.0;
    for (int i = 11; i < 64; ++i) list[n++] = i;
    for (const int i : {128, 256, 512, 1024}) list[n++] = i;
    return list;
  }();
  return orders;
}

}  // namespace noisefloor
