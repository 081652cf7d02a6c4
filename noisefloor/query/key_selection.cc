#include "noisefloor/query/key_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/numerics/gaussian_profile.h"

namespace noisefloor::query {
namespace {

// Probabilities that are compared with δ are computed with relative errors below this.
constexpr double kSafety = 1 - 1e-9;
constexpr double kLeastEpsilon = 0x1p-30;  // of one group
constexpr double kMostEpsilon = 500;
constexpr double kLeastDelta = 1e-60;
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 52;
// σ is at least 2^16 steps: then the discrete law is as good as the continuous one.
constexpr int kSigmaBits = 16;

// P(X ≥ m) of the discrete Laplace law, for any whole m.
double laplace_tail(double scale, double m) {
  const double r = std::exp(-1 / scale);
  return m > 0 ? std::exp(-m / scale) / (1 + r) : 1 - std::exp((m - 1) / scale) / (1 + r);
}

// P(X = k) of the discrete Laplace law conditioned on |X| ≤ k.
double truncated_end(double scale, double k) {
  const double denominator = -std::expm1(-(k + 1) / scale) - std::exp(-1 / scale) * std::expm1(-k / scale);
  return -std::expm1(-1 / scale) * std::exp(-k / scale) / denominator;
}

double normal_tail(double x) { return std::erfc(x / std::numbers::sqrt2) / 2; }

// 1 − (1 − δ)^(1/n), a little less.
double share_of(double delta, double n) { return -std::expm1(std::log1p(-delta) / n) * kSafety; }

}  // namespace

std::string_view name_of(KeyRule rule) {
  switch (rule) {
    case KeyRule::kTruncatedGeometric:
      return "truncated-geometric";
    case KeyRule::kLaplace:
      return "laplace";
    case KeyRule::kGaussian:
      return "gaussian";
  }
  NF_UNREACHABLE("a key rule outside the closed list");
}

std::uint64_t KeySelection::changed() const {
  return terms_.adjacency == Adjacency::kReplaceOne ? 2 * terms_.groups : terms_.groups;
}

Result<KeySelection> KeySelection::create(const KeyTerms& terms, KeyRule rule) {
  if (terms.delta.value() < kLeastDelta) {
    return invalid_argument(fmt::format(
        "private group keys need a delta from {} on; got {}: give a delta, or list the keys in the dataset's "
        "description",
        kLeastDelta, terms.delta.value()));
  }
  if (terms.groups == 0 || terms.groups > (std::uint64_t{1} << 30)) {
    return invalid_argument(fmt::format("a unit is in 1 to 2^30 groups; got {}", terms.groups));
  }
  KeySelection made(rule, terms);
  const double each = terms.epsilon.value() / static_cast<double>(made.changed());
  if (each < kLeastEpsilon || each > kMostEpsilon) {
    return invalid_argument(
        fmt::format("private group keys take an epsilon from {:.3g} to {} for each of a unit's {} "
                    "groups; got {} in all",
                    kLeastEpsilon, kMostEpsilon, made.changed(), terms.epsilon.value()));
  }
  if (rule == KeyRule::kGaussian) {
    NF_TRY_VOID(made.set_gaussian());
  } else if (rule == KeyRule::kLaplace) {
    NF_TRY_VOID(made.set_laplace());
  } else {
    NF_TRY_VOID(made.set_geometric());
  }
  return made;
}

Result<KeySelection> KeySelection::best(const KeyTerms& terms) {
  NF_TRY(KeySelection best, create(terms, KeyRule::kTruncatedGeometric));
  for (KeyRule rule : {KeyRule::kGaussian, KeyRule::kLaplace}) {
    Result<KeySelection> other = create(terms, rule);
    if (other.has_value() && other.value().fewest_units() < best.fewest_units()) best = std::move(other).value();
  }
  return best;
}

Result<void> KeySelection::set_laplace() {
  const double n = static_cast<double>(changed());
  NF_TRY(const NoiseScale scale, NoiseScale::make(divided_up(n, terms_.epsilon.value() * (1 - 0x1p-40))));
  NF_TRY(laplace_, DiscreteLaplace::create(scale));
  // A group of one unit is kept with probability P(1 + noise ≥ threshold).
  const double tail = share_of(terms_.delta.value(), static_cast<double>(terms_.groups));
  const double b = scale.value();
  double above = std::max(1.0, std::floor(std::log(1 / (tail * (1 + std::exp(-1 / b)))) * b));
  while (laplace_tail(b, above) > tail) above += 1;
  threshold_ = 1 + static_cast<Int128>(above);
  NF_TRY(const L1Sensitivity l1, L1Sensitivity::make(n));
  NF_TRY(const Delta failure, Delta::make(terms_.delta.value() * (1 - 1e-10)));
  event_ = ComposedEvent{{DiscreteLaplaceEvent{scale, l1}, EpsilonDeltaEvent{PrivacyLoss::of(0), failure}}};
  return success();
}

Result<void> KeySelection::set_geometric() {
  const double n = static_cast<double>(changed());
  const double epsilon = terms_.epsilon.value() / n * (1 - 1e-12);
  const double delta = share_of(terms_.delta.value(), n);
  const double b = divided_up(1, epsilon);
  NF_TRY(const NoiseScale scale, NoiseScale::make(b));
  NF_TRY(laplace_, DiscreteLaplace::create(scale));
  const double one_minus_r = -std::expm1(-1 / b);
  const double ratio = one_minus_r / (delta * (2 - one_minus_r)) + 2 * std::exp(-1 / b) / (2 - one_minus_r);
  double k = std::max(0.0, std::floor(std::log(ratio) * b) - 2);
  while (truncated_end(b, k) > delta) k += 1;
  truncation_ = static_cast<std::int64_t>(k);
  threshold_ = truncation_ + 1;
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(next_up(epsilon)));
  NF_TRY(const Delta stated, Delta::make(delta * (1 + 1e-10)));
  NF_TRY(const Steps steps, Steps::make(changed()));
  event_ = SelfComposedEvent{steps, EpsilonDeltaEvent{loss, stated}};
  return success();
}

Result<void> KeySelection::set_gaussian() {
  // The share of δ is tuned by the threshold: it has one valley.
  double best = 0.5;
  Int128 least = kInt128Max;
  int bits = 0;
  for (double share : {0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}) {
    NF_TRY_VOID(set_gaussian(share, false));
    bits = std::max(bits, bits_);
    const Int128 at = threshold_ << (bits - bits_);
    if (at < least) {
      least = at;
      best = share;
    }
  }
  return set_gaussian(best, true);
}

Result<void> KeySelection::set_gaussian(double share, bool with_sampler) {
  const double n = static_cast<double>(changed());
  const double failure = share * terms_.delta.value();
  NF_TRY(const Delta rest, Delta::make((terms_.delta.value() - failure) / (1 - failure) * (1 - 1e-9)));
  // The discrete law costs (√n + 18)²/24 · 2^-32 of ε more than the continuous one; a relative 1e-9 is for roundings.
  const double grid = (std::sqrt(n) + 18) * (std::sqrt(n) + 18) / 24 * 0x1p-32;
  NF_TRY(const Epsilon target, Epsilon::make(terms_.epsilon.value() * (1 - 1e-9) - 1.01 * grid));
  NF_TRY(const NoiseMultiplier multiplier, analytic_gaussian_multiplier(target, rest));
  const double sigma = multiplier.value() * sqrt_up(n);
  bits_ = std::max(0, kSigmaBits - static_cast<int>(std::floor(std::log2(sigma))));
  const double step_sigma = std::ldexp(sigma, bits_);
  NF_TRY(const NoiseScale scale, NoiseScale::make(step_sigma));
  const double p = share_of(failure, static_cast<double>(terms_.groups));
  // Σ_{x ≥ t} of the discrete law is at most P(N(0, σ²) ≥ t − 1).
  const double reach = std::numbers::sqrt2 * boost::math::erfc_inv(2 * p) * step_sigma;
  threshold_ = (Int128{1} << bits_) + static_cast<Int128>(std::ceil(std::max(reach, 1.0) * (1 + 1e-12))) + 2;
  const double unit = std::ldexp(1.0, bits_);
  NF_TRY(const L1Sensitivity l1, L1Sensitivity::make(n * unit));
  NF_TRY(const L2Sensitivity l2, L2Sensitivity::make(sqrt_up(n) * unit));
  NF_TRY(const Dimension dimension, Dimension::make(changed()));
  NF_TRY(const Delta stated, Delta::make(failure));
  event_ = ComposedEvent{{DiscreteGaussianEvent{scale, Contributors::of(1), l1, l2, dimension},
                          EpsilonDeltaEvent{PrivacyLoss::of(0), stated}}};
  if (with_sampler) {
    NF_TRY(gaussian_, DiscreteGaussian::create(scale));
  }
  return success();
}

std::optional<std::int64_t> KeySelection::keep(std::uint64_t units, BitStream& stream) const {
  if (units == 0) return std::nullopt;
  Int128 value = static_cast<Int128>(std::min(units, kMostUnits)) << bits_;
  if (gaussian_) {
    value += gaussian_->sample(stream);
  } else if (rule_ == KeyRule::kTruncatedGeometric) {
    value += laplace_->sample_within(stream, truncation_);
  } else {
    value += laplace_->sample(stream);
  }
  if (value < threshold_) return std::nullopt;
  const Int128 half = bits_ == 0 ? 0 : Int128{1} << (bits_ - 1);
  return saturate_to_int64((value + half) >> bits_);
}

double KeySelection::threshold() const { return std::ldexp(static_cast<double>(threshold_), -bits_); }

double KeySelection::keep_probability(std::uint64_t units) const {
  if (units == 0) return 0;
  const double need = threshold() - static_cast<double>(units);
  if (gaussian_) return normal_tail(std::ldexp(need, bits_) / gaussian_->sigma().value());
  const double b = laplace_->scale().value();
  if (rule_ == KeyRule::kLaplace) return laplace_tail(b, need);
  const double k = static_cast<double>(truncation_);
  if (need <= -k) return 1;
  const double beyond = laplace_tail(b, k + 1);
  return (laplace_tail(b, need) - beyond) / (1 - 2 * beyond);
}

std::uint64_t KeySelection::fewest_units() const { return static_cast<std::uint64_t>(std::ceil(threshold())); }

ErrorLaw KeySelection::error() const {
  if (gaussian_) {
    const double sigma = std::ldexp(gaussian_->sigma().value(), -bits_);
    return {sigma * sigma, {}, 0.5};
  }
  return {0, {{laplace_->scale().value(), 1}}, 0.5};
}

}  // namespace noisefloor::query
