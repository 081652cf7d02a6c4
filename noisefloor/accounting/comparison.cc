#include "noisefloor/accounting/comparison.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "noisefloor/accounting/composition.h"
#include "noisefloor/accounting/gaussian_dp.h"
#include "noisefloor/accounting/lowering.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/accounting/zcdp.h"
#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/tree_nodes.h"

namespace noisefloor {
namespace {

constexpr std::array kAll = {Accountant::kBasic, Accountant::kAdvanced, Accountant::kZcdp,
                             Accountant::kRdp,   Accountant::kGdp,      Accountant::kPld};

// A part of a tree that is no composition, and how often it is done.
struct Leaf {
  DpEvent event;
  double count;
};

void collect(const DpEvent& event, double count, std::vector<Leaf>& leaves) {
  if (const auto* repeated = std::get_if<SelfComposedEvent>(&event.kind())) {
    collect(repeated->event, count * static_cast<double>(repeated->count.value()), leaves);
  } else if (const auto* list = std::get_if<ComposedEvent>(&event.kind())) {
    for (const DpEvent& part : list->events) collect(part, count, leaves);
  } else if (!std::holds_alternative<ZeroCostEvent>(event.kind())) {
    leaves.push_back({event, count});
  }
}

std::vector<Leaf> leaves_of(const DpEvent& event) {
  std::vector<Leaf> leaves;
  collect(event, 1, leaves);
  return leaves;
}

double steps_of(const std::vector<Leaf>& leaves) {
  double steps = 0;
  for (const Leaf& leaf : leaves) steps += leaf.count;
  return steps;
}

Result<Steps> count_of(double count) { return Steps::make(static_cast<std::uint64_t>(count)); }

// Each step's own (ε, δ). Pure steps need no δ and bounds have theirs; what is left of `delta` is for the others, in
// equal parts, and for `slack_share` of it as the slack of advanced composition: all of it where there are no others.
struct StepBounds {
  std::vector<std::pair<ApproxDp, Steps>> parts;
  double slack;
};
Result<StepBounds> bounds_of(const std::vector<Leaf>& leaves, Adjacency adjacency, double delta, double slack_share) {
  double left = delta;
  double sharers = 0;
  std::vector<std::optional<ApproxDp>> known;
  for (const Leaf& leaf : leaves) {
    known.emplace_back();
    if (const auto* bound = std::get_if<EpsilonDeltaEvent>(&leaf.event.kind())) {
      known.back() = ApproxDp{bound->epsilon, bound->delta};
      left -= times_up(bound->delta.value(), leaf.count);
    } else if (const Result<Interval> pure = pld_epsilon(leaf.event, adjacency, Delta::of(0)); pure.has_value()) {
      NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(pure.value().upper));
      known.back() = ApproxDp{loss, Delta::of(0)};
    } else {
      sharers += leaf.count;
    }
  }
  left *= 1 - 1e-12;
  if (left < 0 || (left == 0 && sharers + slack_share > 0)) {
    return invalid_argument(
        fmt::format("these events fail with a total probability of {:.6g}, which leaves nothing of delta {:g}: ask for "
                    "a larger delta",
                    delta - left, delta));
  }
  StepBounds bounds{{}, sharers > 0 ? left * slack_share : left};
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    NF_TRY(const Steps steps, count_of(leaves[i].count));
    if (!known[i]) {
      NF_TRY(const Delta share, Delta::make((left - bounds.slack) / sharers * (1 - 1e-12)));
      NF_TRY(const Interval epsilon, pld_epsilon(leaves[i].event, adjacency, share));
      NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.upper));
      known[i] = ApproxDp{loss, share};
    }
    bounds.parts.emplace_back(*known[i], steps);
  }
  return bounds;
}

Result<AccountantAnswer> basic(const std::vector<Leaf>& leaves, Adjacency adjacency, Delta delta) {
  NF_TRY(const StepBounds bounds, bounds_of(leaves, adjacency, delta.value(), 0));
  double sum = 0;
  for (const auto& [part, steps] : bounds.parts) {
    sum = add_up(sum, times_up(part.epsilon.value(), static_cast<double>(steps.value())));
  }
  return AccountantAnswer{Accountant::kBasic, sum, std::nullopt, false,
                          "the epsilons of all steps added up, delta divided among them"};
}

Result<AccountantAnswer> advanced(const std::vector<Leaf>& leaves, Adjacency adjacency, Delta delta) {
  NF_TRY(const StepBounds bounds, bounds_of(leaves, adjacency, delta.value(), 0.5));
  NF_TRY(const Delta slack, Delta::make(bounds.slack));
  if (bounds.parts.size() == 1) {
    NF_TRY(const ApproxDp found, advanced_composition(bounds.parts[0].first, bounds.parts[0].second, slack));
    return AccountantAnswer{Accountant::kAdvanced, found.epsilon.value(), std::nullopt, false,
                            fmt::format("advanced composition of equal steps, slack {:.3g} of delta", slack.value())};
  }
  if (steps_of(leaves) > 1e6) {
    return invalid_argument("advanced composition of unequal steps is not computed beyond a million of them");
  }
  std::vector<ApproxDp> list;
  double sum = 0;
  for (const auto& [part, steps] : bounds.parts) {
    list.insert(list.end(), steps.value(), part);
    sum += part.epsilon.value() * static_cast<double>(steps.value());
  }
  NF_TRY(const ApproxDp found, advanced_composition(list, slack));
  const bool no_better = found.epsilon.value() >= sum * (1 - 1e-9);
  return AccountantAnswer{Accountant::kAdvanced, found.epsilon.value(), std::nullopt, false,
                          fmt::format("advanced composition of unequal steps{}, slack {:.3g} of delta",
                                      no_better ? " (no better than adding up)" : "", slack.value())};
}

Result<AccountantAnswer> zcdp(const DpEvent& event, Adjacency adjacency, Delta delta) {
  NF_TRY(const ZcdpCost cost, zcdp_cost(event, adjacency));
  NF_TRY(const RenyiEpsilon found, renyi_epsilon(ZcdpEvent{cost.rho, cost.delta}, adjacency, delta));
  const bool sampled = contains<PoissonSampledEvent>(event);
  return AccountantAnswer{
      Accountant::kZcdp, found.epsilon, std::nullopt, false,
      fmt::format("rho = {:.6g}{}", cost.rho.value(), sampled ? ", without amplification by sampling" : "")};
}

Result<AccountantAnswer> gdp(const std::vector<Leaf>& leaves, Adjacency adjacency, Delta delta) {
  double mu_squared = 0;
  bool exact = true;
  for (const Leaf& leaf : leaves) {
    if (const auto* e = std::get_if<GaussianEvent>(&leaf.event.kind())) {
      mu_squared += leaf.count / (e->noise_multiplier.value() * e->noise_multiplier.value());
    } else if (const auto* tree = std::get_if<TreeAggregationEvent>(&leaf.event.kind())) {
      const auto nodes = static_cast<double>(tree_nodes(tree->steps, adjacency));
      mu_squared += leaf.count * nodes / (tree->noise_multiplier.value() * tree->noise_multiplier.value());
    } else if (const auto* sampled = std::get_if<PoissonSampledEvent>(&leaf.event.kind());
               sampled != nullptr && std::holds_alternative<GaussianEvent>(sampled->event.kind()) &&
               adjacency == Adjacency::kAddRemove) {
      NF_TRY(const Steps steps, count_of(leaf.count));
      NF_TRY(const GaussianDpEstimate estimate,
             central_limit_estimate_poisson(sampled->sampling_rate,
                                            std::get<GaussianEvent>(sampled->event.kind()).noise_multiplier, steps));
      mu_squared += estimate.mu * estimate.mu;
      exact = false;
    } else {
      return invalid_argument(fmt::format("GDP has no answer for events of kind {}", kind_name(leaf.event)));
    }
  }
  NF_TRY(const GaussianDp total, GaussianDp::of_mu(std::sqrt(mu_squared) * (1 + 1e-13)));
  NF_TRY(const Interval found, total.epsilon_at(delta));
  const std::optional<double> lower = exact ? std::optional<double>(found.lower * (1 - 1e-12)) : std::nullopt;
  return AccountantAnswer{
      Accountant::kGdp, found.upper, lower, !exact,
      exact ? fmt::format("mu = {:.6g}, exact", total.mu())
            : fmt::format("mu = {:.6g} by the central limit theorem: an estimate, often too low", total.mu())};
}

}  // namespace

std::string_view name_of(Accountant accountant) {
  switch (accountant) {
    case Accountant::kBasic:
      return "basic";
    case Accountant::kAdvanced:
      return "advanced";
    case Accountant::kZcdp:
      return "zcdp";
    case Accountant::kRdp:
      return "rdp";
    case Accountant::kGdp:
      return "gdp";
    case Accountant::kPld:
      return "pld";
  }
  NF_UNREACHABLE("an accountant outside the closed list");
}

Result<Accountant> parse_accountant(std::string_view text) {
  for (Accountant one : kAll) {
    if (name_of(one) == text) return one;
  }
  return invalid_argument(
      fmt::format("accountant must be pld, rdp, zcdp, gdp, basic, advanced or all; got {}", shown(text)));
}

std::vector<Accountant> all_accountants() { return {kAll.begin(), kAll.end()}; }

Result<AccountantAnswer> epsilon_by(Accountant accountant, const DpEvent& event, Adjacency adjacency, Delta delta) {
  if (accountant == Accountant::kPld) {
    NF_TRY(const Interval found, pld_epsilon(event, adjacency, delta));
    return AccountantAnswer{accountant, found.upper, found.lower, false,
                            "the law of the privacy loss, certified from both sides"};
  }
  if (contains<NonPrivateEvent>(event)) {
    return AccountantAnswer{accountant, HUGE_VAL, HUGE_VAL, false, "part of this is not private"};
  }
  NF_TRY(const DpEvent plain, internal::dominating_event(event, adjacency));
  const std::vector<Leaf> leaves = leaves_of(plain);
  if (leaves.empty()) return AccountantAnswer{accountant, 0, 0.0, false, "nothing touches private data"};
  switch (accountant) {
    case Accountant::kBasic:
      return basic(leaves, adjacency, delta);
    case Accountant::kAdvanced:
      return advanced(leaves, adjacency, delta);
    case Accountant::kZcdp:
      return zcdp(event, adjacency, delta);
    case Accountant::kGdp:
      return gdp(leaves, adjacency, delta);
    case Accountant::kRdp: {
      NF_TRY(const RenyiEpsilon found, renyi_epsilon(event, adjacency, delta));
      return AccountantAnswer{accountant, found.epsilon, std::nullopt, false,
                              fmt::format("Renyi divergence of order {:.4g}, the best", found.order)};
    }
    case Accountant::kPld:
      break;
  }
  NF_UNREACHABLE("an accountant outside the closed list");
}

}  // namespace noisefloor
