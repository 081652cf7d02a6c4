#include "noisefloor/query/noise_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/base/text.h"
#include "noisefloor/numerics/gaussian_profile.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {
namespace {

// σ is at least 2^16 fine steps: then the discrete law costs hardly more than the continuous one.
constexpr int kSigmaBits = 16;
constexpr int kMostFineBits = 40;
// The share of δ that Gaussian noise leaves to the choice of groups.
constexpr double kKeyDelta = 0.5;
// How often the noise of several kinds of parts is tried to be smaller.
constexpr int kImprovements = 4;

double as_double(Uint128 n) { return next_up(static_cast<double>(n)); }

// Δ₁ of whole numbers: exact where a double holds it.
double l1_of(const Quantity& quantity) {
  const double value = static_cast<double>(quantity.l1);
  return quantity.l1 <= (Uint128{1} << 53) ? value : as_double(quantity.l1);
}

// How many groups neighbours may differ in.
std::uint64_t changed_groups(const Plan& plan, const Quantity& quantity) {
  if (plan.keys.empty()) return 1;
  std::uint64_t changed = quantity.groups;
  if (plan.adjacency == Adjacency::kReplaceOne) changed *= 2;
  if (plan.measurement.listed) changed = std::min<std::uint64_t>(changed, plan.measurement.listed->size());
  return std::max<std::uint64_t>(changed, 1);
}

// A part of the budget: one quantity.
struct Piece {
  std::size_t plan;
  std::size_t quantity;
  bool is_quantile = false;
  double weight = 1;  // over the square of the public scale
  double l1 = 1;      // in the units of the answer
  double l2 = 1;
  double share = 0;  // of the plan's pieces, for Laplace noise
  double epsilon = 0;
};

struct Budget {
  std::vector<Piece> pieces;
  std::vector<double> plan_epsilon;  // for keys
};

// The weights of all columns of numbers, in the order of the lists: for each plan and quantity the largest of the
// columns that it is in.
Result<std::vector<std::vector<double>>> weights_of(std::span<const Plan> plans, const std::vector<double>& stated) {
  std::vector<std::vector<double>> weights;
  std::size_t next = 0;
  for (const Plan& plan : plans) {
    std::vector<double> of_plan(plan.quantities.size(), 0);
    for (const OutputColumn& column : plan.outputs) {
      const std::vector<std::size_t> under = quantities_under(plan, column.value);
      if (under.empty()) continue;
      double weight = 1;
      if (!stated.empty()) {
        if (next < stated.size()) weight = stated[next];
        ++next;
      }
      for (const std::size_t i : under) of_plan[i] = std::max(of_plan[i], weight);
    }
    // Those that no column shows.
    for (double& weight : of_plan) {
      if (weight == 0) weight = 1;
    }
    weights.push_back(std::move(of_plan));
  }
  for (const double weight : stated) {
    if (!(weight > 0) || !(weight < 1e12)) {
      return invalid_argument(fmt::format("a weight must be above 0 and below 1e12; got {}", weight));
    }
  }
  if (!stated.empty() && next != stated.size()) {
    return invalid_argument(fmt::format("{} weights are stated, and {} columns hold noised numbers: state one for each",
                                        stated.size(), next));
  }
  return weights;
}

Result<Budget> divided(std::span<const Plan> plans, const NoiseTerms& terms) {
  NF_TRY(const auto weights, weights_of(plans, terms.weights));
  const double key_share = terms.key_share.value_or(kUsualKeyShare);
  if (!(key_share > 0 && key_share < 1)) {
    return invalid_argument(fmt::format("the share for keys must be above 0 and below 1; got {}", key_share));
  }
  Budget budget;
  std::vector<double> plan_share;  // of the numbers of a plan
  std::vector<double> key_part;
  double sum = 0;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const Plan& plan = plans[p];
    double share = 0;
    double units = 0;
    for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
      const Quantity& quantity = plan.quantities[i];
      Piece piece{p, i, quantity.kind == Quantity::Kind::kQuantile};
      piece.weight = weights[p][i] / (quantity.scale * quantity.scale);
      piece.l1 = l1_of(quantity) * quantity.step;
      piece.l2 = quantity.l2 * quantity.step;
      if (piece.is_quantile) {
        piece.weight = weights[p][i];
        piece.l1 = piece.l2 =
            static_cast<double>(quantity.per_group) * static_cast<double>(changed_groups(plan, quantity));
      }
      piece.share = std::cbrt(piece.weight * piece.l1 * piece.l1);
      if (plan.private_keys && counts_units(plan, quantity)) {
        units = std::max(units, piece.share);
        continue;
      }
      share += piece.share;
      budget.pieces.push_back(piece);
    }
    double keys = 0;
    if (plan.private_keys)
      keys = share > 0 ? (share + units) * key_share / (1 - key_share) + units : std::max(units, 1.0);
    key_part.push_back(keys);
    sum += share + keys;
  }
  const double whole = terms.epsilon.value() * (1 - 0x1p-46);  // roundings of the parts
  for (Piece& piece : budget.pieces) piece.epsilon = whole * piece.share / sum;
  for (const double keys : key_part) budget.plan_epsilon.push_back(whole * keys / sum);
  return budget;
}

double squared_error(const Piece& piece, double variance) { return piece.weight * variance; }

struct Attempt {
  std::vector<PlanNoise> plans;
  DpEvent event = ZeroCostEvent{};
  Delta delta = Delta::of(0);
  Interval epsilon{0, 0};
  double error = 0;  // Σ weight · variance
};

// One kind of noise for the numbers.
class Splitter {
 public:
  Splitter(std::span<const Plan> plans, const NoiseTerms& terms, const Budget& budget, NoiseKind kind)
      : plans_(plans), terms_(terms), budget_(budget), kind_(kind) {}

  Result<Attempt> attempt() {
    private_plans_ = static_cast<std::size_t>(
        std::count_if(plans_.begin(), plans_.end(), [](const Plan& plan) { return plan.private_keys; }));
    const bool has_numbers = std::any_of(budget_.pieces.begin(), budget_.pieces.end(),
                                         [](const Piece& piece) { return !piece.is_quantile; });
    const bool gaussian = kind_ == NoiseKind::kGaussian && has_numbers;
    if (gaussian && terms_.delta.value() == 0) {
      return invalid_argument("Gaussian noise needs a delta above 0: state one, or take Laplace noise");
    }
    NF_TRY_VOID(choose_keys(gaussian ? kKeyDelta : 1 - 0x1p-30));
    if (gaussian) {
      NF_TRY_VOID(find_multiplier());
    }
    gaussian_ = gaussian;
    return with(1);
  }

  // The attempt with what the accountant says of it: a little more noise if its bound is above what was asked for, and
  // less where it finds that parts together cost less than their sum.
  Result<Attempt> certified(Attempt made) {
    double holds = 1;
    for (int tries = 0;; ++tries) {
      NF_TRY(made.epsilon, pld_epsilon(made.event, plans_[0].adjacency, made.delta));
      if (made.epsilon.upper <= terms_.epsilon.value()) break;
      if (tries == 40 || budget_.pieces.empty()) {
        return invalid_argument(fmt::format(
            "no division of epsilon {} at delta {:g} over these numbers could be certified: ask for fewer at a time",
            terms_.epsilon.value(), terms_.delta.value()));
      }
      holds *= 1 + std::min(0.05, std::ldexp(1e-9, 2 * tries));
      NF_TRY(made, with(holds));
    }
    const bool has_quantiles =
        std::any_of(budget_.pieces.begin(), budget_.pieces.end(), [](const Piece& piece) { return piece.is_quantile; });
    if (!gaussian_ || (private_plans_ == 0 && !has_quantiles)) return made;
    double fails = holds / 2;
    for (int i = 0; i < kImprovements; ++i) {
      const double middle = std::sqrt(fails * holds);
      NF_TRY(Attempt other, with(middle));
      NF_TRY(other.epsilon, pld_epsilon(other.event, plans_[0].adjacency, other.delta));
      if (other.epsilon.upper <= terms_.epsilon.value()) {
        holds = middle;
        made = std::move(other);
      } else {
        fails = middle;
      }
    }
    return made;
  }

 private:
  Result<void> choose_keys(double delta_share) {
    for (std::size_t p = 0; p < plans_.size(); ++p) {
      keys_.emplace_back();
      if (!plans_[p].private_keys) continue;
      const double part = terms_.delta.value() * delta_share / static_cast<double>(private_plans_);
      NF_TRY(const Epsilon epsilon, Epsilon::make(budget_.plan_epsilon[p]));
      NF_TRY(const Delta delta, Delta::make(part));
      NF_TRY(keys_[p], KeySelection::best({epsilon, delta, plans_[p].max_groups, plans_[p].adjacency}));
    }
    return success();
  }

  // The noise multiplier of all Gaussian numbers together, if they get what is left of ε and δ by adding up.
  Result<void> find_multiplier() {
    double left = terms_.epsilon.value();
    for (const double keys : budget_.plan_epsilon) left -= keys;
    for (const Piece& piece : budget_.pieces) {
      if (piece.is_quantile) left -= piece.epsilon;
    }
    const double share = private_plans_ == 0 ? 1 : 1 - kKeyDelta;
    NF_TRY(const Epsilon epsilon, Epsilon::make(left));
    NF_TRY(const Delta delta, Delta::make(terms_.delta.value() * share * (1 - 1e-8)));
    NF_TRY(const NoiseMultiplier multiplier, analytic_gaussian_multiplier(epsilon, delta));
    multiplier_ = multiplier.value();
    rho_sum_ = 0;
    for (const Piece& piece : budget_.pieces) {
      if (!piece.is_quantile) rho_sum_ += piece.l2 * std::sqrt(piece.weight);
    }
    return success();
  }

  Result<Attempt> with(double factor) const {
    const bool gaussian = gaussian_;
    Attempt made;
    std::vector<DpEvent> all;
    bool needs_delta = gaussian;
    std::vector<std::vector<DpEvent>> events(plans_.size());
    for (std::size_t p = 0; p < plans_.size(); ++p) {
      PlanNoise noise;
      noise.keys = keys_[p];
      noise.quantities.resize(plans_[p].quantities.size());
      if (noise.keys) {
        needs_delta = true;
        events[p].push_back(noise.keys->event());
        for (std::size_t i = 0; i < noise.quantities.size(); ++i) {
          if (!counts_units(plans_[p], plans_[p].quantities[i])) continue;
          noise.quantities[i].kind = QuantityNoise::Kind::kKeySelection;
          noise.quantities[i].error = noise.keys->error();
        }
      }
      made.plans.push_back(std::move(noise));
    }
    for (const Piece& piece : budget_.pieces) {
      const Plan& plan = plans_[piece.plan];
      const Quantity& quantity = plan.quantities[piece.quantity];
      QuantityNoise& noise = made.plans[piece.plan].quantities[piece.quantity];
      NF_TRY(DpEvent event, piece.is_quantile ? quantile(plan, quantity, piece.epsilon, noise)
                            : gaussian        ? gaussian_noise(plan, quantity, piece, factor, noise)
                                              : laplace(quantity, piece.epsilon, factor, noise));
      events[piece.plan].push_back(std::move(event));
      if (!piece.is_quantile) made.error += squared_error(piece, variance_of(noise.error));
    }
    for (std::size_t p = 0; p < plans_.size(); ++p) {
      if (events[p].empty()) return invalid_argument("a query without numbers and private groups asks for nothing");
      made.plans[p].event = events[p].size() == 1 ? events[p][0] : DpEvent(ComposedEvent{events[p]});
      all.push_back(made.plans[p].event);
    }
    made.event = all.size() == 1 ? all[0] : DpEvent(ComposedEvent{std::move(all)});
    made.delta = needs_delta ? terms_.delta : Delta::of(0);
    return made;
  }

  static Result<DpEvent> laplace(const Quantity& quantity, double epsilon, double factor, QuantityNoise& noise) {
    noise.kind = QuantityNoise::Kind::kLaplace;
    const double l1 = l1_of(quantity);
    noise.scale = divided_up(l1 * factor, epsilon);
    if (noise.scale > DiscreteLaplace::kMaxScale) return too_wide(quantity);
    // Less noise than this is none.
    noise.scale = std::max(noise.scale, DiscreteLaplace::kMinScale);
    noise.error = {0, {{noise.scale * quantity.step, 1}}, 0.5 * quantity.step};
    NF_TRY(const NoiseScale scale, NoiseScale::make(noise.scale));
    NF_TRY(const L1Sensitivity sensitivity, L1Sensitivity::make(l1));
    return DpEvent(DiscreteLaplaceEvent{scale, sensitivity});
  }

  Result<DpEvent> gaussian_noise(const Plan& plan, const Quantity& quantity, const Piece& piece, double factor,
                                 QuantityNoise& noise) const {
    noise.kind = QuantityNoise::Kind::kGaussian;
    const double rho_share = piece.l2 * std::sqrt(piece.weight) / rho_sum_;
    const double sigma = multiplier_ * factor * quantity.l2 / std::sqrt(rho_share);
    if (!(sigma <= DiscreteGaussian::kMaxSigma)) return too_wide(quantity);
    noise.fine_bits = std::clamp(kSigmaBits - static_cast<int>(std::floor(std::log2(sigma))), 0, kMostFineBits);
    const double unit = std::ldexp(1.0, noise.fine_bits);
    noise.scale = sigma * unit;
    const double deviation = sigma * quantity.step;
    noise.error = {deviation * deviation, {}, 0.5 * quantity.step};
    NF_TRY(const NoiseScale scale, NoiseScale::make(noise.scale));
    NF_TRY(const L1Sensitivity l1, L1Sensitivity::make(l1_of(quantity) * unit));
    NF_TRY(const L2Sensitivity l2, L2Sensitivity::make(quantity.l2 * unit));
    NF_TRY(const Dimension dimension, Dimension::make(changed_groups(plan, quantity)));
    return DpEvent(DiscreteGaussianEvent{scale, Contributors::of(1), l1, l2, dimension});
  }

  Result<DpEvent> quantile(const Plan& plan, const Quantity& quantity, double epsilon, QuantityNoise& noise) const {
    noise.kind = QuantityNoise::Kind::kExponential;
    const std::uint64_t groups = changed_groups(plan, quantity);
    noise.epsilon = epsilon / static_cast<double>(groups);
    NF_TRY(const Epsilon each, Epsilon::make(noise.epsilon));
    NF_TRY(const CountedQuantile mechanism, CountedQuantile::create(quantile_terms(plan, quantity), each));
    noise.rank_error = mechanism.rank_error_bound(terms_.confidence);
    if (groups == 1) return DpEvent(ExponentialEvent{each});
    NF_TRY(const Steps steps, Steps::make(groups));
    return DpEvent(SelfComposedEvent{steps, ExponentialEvent{each}});
  }

  static Error too_wide(const Quantity& quantity) {
    return invalid_argument(
        fmt::format("the noise on {} would be more than 2^52 of its steps: state narrower bounds, a larger step in the "
                    "description, or a larger epsilon",
                    shown(quantity.label)));
  }

  std::span<const Plan> plans_;
  const NoiseTerms& terms_;
  const Budget& budget_;
  NoiseKind kind_;
  bool gaussian_ = false;
  std::size_t private_plans_ = 0;
  std::vector<std::optional<KeySelection>> keys_;
  double multiplier_ = 0;
  double rho_sum_ = 0;
};

}  // namespace

std::string_view name_of(QuantityNoise::Kind kind) {
  switch (kind) {
    case QuantityNoise::Kind::kLaplace:
      return "laplace";
    case QuantityNoise::Kind::kGaussian:
      return "gaussian";
    case QuantityNoise::Kind::kExponential:
      return "exponential";
    case QuantityNoise::Kind::kKeySelection:
      return "keys";
  }
  NF_UNREACHABLE("a noise outside the closed list");
}

QuantileTerms quantile_terms(const Plan& plan, const Quantity& quantity) {
  const Result<Rows> rows = Rows::make(static_cast<std::uint64_t>(std::max<std::int64_t>(quantity.per_group, 1)));
  return {quantity.level, quantity.lower, quantity.upper, rows.value(), plan.adjacency};
}

std::vector<std::size_t> quantities_under(const Plan& plan, const engine::Expression& value) {
  std::set<std::string> names;
  add_columns(value, names);
  std::set<std::size_t> found;
  for (const std::string& name : names) {
    const std::size_t place = std::stoul(name.substr(1));
    if (name[0] == 'q') found.insert(place);
    if (name[0] != 'd') continue;
    const Derived& derived = plan.derived[place];
    found.insert(derived.sum);
    found.insert(derived.count);
    if (derived.kind != Derived::Kind::kMean) found.insert(derived.squares);
  }
  return {found.begin(), found.end()};
}

bool counts_units(const Plan& plan, const Quantity& quantity) {
  const engine::Aggregate& aggregate = plan.measurement.aggregates[quantity.aggregate];
  if (aggregate.argument) return false;
  if (quantity.kind == Quantity::Kind::kUnits) return true;
  const bool one_row = !plan.measurement.unit || plan.measurement.one_row_per_unit;
  return quantity.kind == Quantity::Kind::kCount && one_row && quantity.per_group == 1;
}

Result<NoiseSplit> split_budget(std::span<const Plan> plans, const NoiseTerms& terms) {
  if (plans.empty()) return invalid_argument("there is no query to divide a budget over");
  for (const Plan& plan : plans) {
    if (plan.unit != plans[0].unit || plan.adjacency != plans[0].adjacency) {
      return invalid_argument("queries of one plan must be about one dataset");
    }
    if (plan.private_keys && terms.delta.value() == 0) {
      std::string names;
      for (const KeyColumn& key : plan.keys) {
        if (!key.is_public) names += (names.empty() ? "" : ", ") + key.label;
      }
      return invalid_argument(fmt::format(
          "groups by {} have private names, and naming them needs a delta above 0: state one such as 1e-6, or list "
          "the values in the description of the dataset or after IN",
          names.empty() ? "so many keys" : shown(names)));
    }
  }
  NF_TRY(const Budget budget, divided(plans, terms));
  Splitter by_laplace(plans, terms, budget, NoiseKind::kLaplace);
  Splitter by_gaussian(plans, terms, budget, NoiseKind::kGaussian);
  std::optional<Attempt> laplace;
  std::optional<Attempt> gaussian;
  std::optional<Error> failure;
  if (terms.noise != NoiseKind::kGaussian) {
    Result<Attempt> made = by_laplace.attempt();
    if (made.has_value()) {
      laplace = std::move(made).value();
    } else {
      failure = std::move(made).error();
    }
  }
  if (terms.noise == NoiseKind::kGaussian || (terms.noise == NoiseKind::kAuto && terms.delta.value() > 0)) {
    Result<Attempt> made = by_gaussian.attempt();
    if (made.has_value()) {
      gaussian = std::move(made).value();
    } else if (!failure) {
      failure = std::move(made).error();
    }
  }
  if (!laplace && !gaussian) return *failure;
  const bool takes_gaussian = gaussian && (!laplace || gaussian->error < laplace->error);
  const auto root = [&](const std::optional<Attempt>& attempt) -> std::optional<double> {
    if (!attempt || budget.pieces.empty()) return std::nullopt;
    return std::sqrt(attempt->error / static_cast<double>(budget.pieces.size()));
  };
  NoiseSplit split{NoiseKind::kLaplace, {}, {plans[0].adjacency, plans[0].unit, ZeroCostEvent{}}};
  split.laplace_error = root(laplace);
  split.gaussian_error = root(gaussian);
  NF_TRY(Attempt chosen,
         takes_gaussian ? by_gaussian.certified(std::move(*gaussian)) : by_laplace.certified(std::move(*laplace)));
  split.noise = takes_gaussian ? NoiseKind::kGaussian : NoiseKind::kLaplace;
  split.plans = std::move(chosen.plans);
  split.statement.event = std::move(chosen.event);
  split.delta = chosen.delta;
  split.epsilon = chosen.epsilon;
  return split;
}

}  // namespace noisefloor::query
