#include "noisefloor/secagg/distributed_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/numerics/bisect.h"
#include "noisefloor/secagg/fixed_point.h"

namespace noisefloor::secagg {
namespace {

constexpr double kLog2Beta = -30;
constexpr int kRoundings = 8;  // the probability that all of them are too long is 2^-240
// A factor larger than all roundings of a sensitivity's formula.
constexpr double kMargin = 1 + 1e-12;

double honest(const DistributedNoiseOptions& options) { return options.minimum_survivors - options.colluders; }

// Variance of one client's noise, in units of γ².
double share_variance(const DistributedNoiseOptions& options, double granularity) {
  const double sigma = options.noise_multiplier.value() * options.clip.value() / granularity;
  return divided_up(times_up(sigma, sigma), honest(options)) * kMargin;
}

double l2_bound(double clip, double granularity, double dimension) {
  const double root = std::sqrt(dimension);
  const double always = clip + granularity * root;
  const double nearly = clip * clip + granularity * granularity * dimension / 4 +
                        std::sqrt(-2 * std::numbers::ln2 * kLog2Beta) * granularity * (clip + granularity * root / 2);
  return std::sqrt(std::min(always * always, nearly)) / granularity * kMargin;
}

// log2 of a bound on the probability that some coordinate of the sum is out of range. For every t > 0,
//   P(S ≥ r) ≤ exp(−t r) E exp(t S),
// and S is what the rotation leaves of the signal (subgaussian, at most clients·c/√d), the roundings (each within an
// interval of length 1, on average 0) and the noise. Roundings are conditioned on events of probability 1 − β.
double log2_out_of_range(const DistributedNoiseOptions& options, double granularity, double dimension) {
  const double clients = options.clients;
  const double range = std::exp2(options.bits - 1.0) - 1;
  const double signal = clients * options.clip.value() / granularity;
  const double quadratic = signal * signal / dimension / 2 + clients / 8;
  const double variance = clients * share_variance(options, granularity);
  const auto exponent = [&](double t) {
    const double noise = options.law == NoiseLaw::kSkellam ? variance * (std::cosh(t) - 1) : variance * t * t / 2;
    return quadratic * t * t + noise - t * range;
  };
  // The function is convex: find the best t by narrowing. Where both are infinite, both are too large.
  double low = 0;
  double high = 1 + 2 * range / (2 * quadratic + variance);
  for (int i = 0; i < 200; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (exponent(a) <= exponent(b)) {
      high = b;
    } else {
      low = a;
    }
  }
  const double conditioned = clients * std::log1p(-std::exp2(kLog2Beta));
  return (exponent((low + high) / 2) - conditioned) / std::numbers::ln2 + 1 + std::log2(dimension);
}

Result<void> check(const DistributedNoiseOptions& o) {
  if (o.dimension < 1 || o.dimension > kMaxDimension / 2) {
    return invalid_argument(fmt::format("the dimension must be from 1 to {}; got {}", kMaxDimension / 2, o.dimension));
  }
  if (o.colluders >= o.minimum_survivors || o.minimum_survivors > o.clients) {
    return invalid_argument(fmt::format("needed: colluders < minimum survivors <= clients; got {}, {} and {}",
                                        o.colluders, o.minimum_survivors, o.clients));
  }
  if (o.bits < 2 || o.bits > 62) return invalid_argument(fmt::format("bits must be from 2 to 62; got {}", o.bits));
  if (!(o.log2_wrap < 0)) return invalid_argument("the probability that a sum wraps must be below 1");
  return success();
}

}  // namespace

Result<DistributedNoise> DistributedNoise::create(const DistributedNoiseOptions& options, const Digest& seed) {
  NF_TRY_VOID(check(options));
  Rotation rotation(options.dimension, seed);
  const auto dimension = static_cast<double>(rotation.padded());
  // With bits to spare the grid could be finer than the law can be drawn on.
  const double most = options.law == NoiseLaw::kSkellam ? Skellam::kMaxVariance
                                                        : DiscreteGaussian::kMaxSigma * DiscreteGaussian::kMaxSigma;
  const auto fits = [&](double granularity) {
    return share_variance(options, granularity) <= most &&
           log2_out_of_range(options, granularity, dimension) <= options.log2_wrap;
  };
  // Goes from coarse to fine; if a step is as long as all vectors together, nothing would be left of them.
  const double coarsest = options.clip.value() * options.clients;
  if (!fits(coarsest)) {
    return invalid_argument(fmt::format("{} bits are too few for {} clients and this much noise. Take more bits",
                                        options.bits, options.clients));
  }
  const double coarse = bisect_ratio({coarsest, coarsest * 0x1p-60}, 1 + 1e-9, 200, fits).holds;
  // Keeps few digits, so that everyone gets the same one.
  int exponent = 0;
  const double mantissa = std::frexp(coarse, &exponent);
  const double granularity = std::ldexp(std::ceil(mantissa * 0x1p12), exponent - 12);
  const double variance = share_variance(options, granularity);
  const double l2 = l2_bound(options.clip.value(), granularity, dimension);
  if (options.law == NoiseLaw::kSkellam) {
    NF_TRY(const NoiseVariance each, NoiseVariance::make(variance));
    NF_TRY(Skellam law, Skellam::create(each));
    return DistributedNoise(options, std::move(rotation), granularity, l2, std::move(law));
  }
  NF_TRY(const NoiseScale each, NoiseScale::make(sqrt_up(variance)));
  NF_TRY(DiscreteGaussian law, DiscreteGaussian::create(each));
  return DistributedNoise(options, std::move(rotation), granularity, l2, std::move(law));
}

DistributedNoise::DistributedNoise(const DistributedNoiseOptions& options, Rotation rotation, double granularity,
                                   double l2, Law law)
    : options_(options),
      rotation_(std::move(rotation)),
      granularity_(granularity),
      l2_(l2),
      l1_(l2 * std::min(std::sqrt(static_cast<double>(rotation_.padded())), l2) * kMargin),
      law_(std::move(law)) {}

std::vector<double> DistributedNoise::prepare(std::span<const double> values) const {
  NF_CHECK(values.size() == options_.dimension, "a vector of the dimension");
  std::vector<double> usable;
  usable.reserve(dimension());
  usable.assign(values.begin(), values.end());
  long double squares = 0;  // no square of a double overflows
  for (double& value : usable) {
    if (!std::isfinite(value)) value = 0;
    squares += static_cast<long double>(value) * value;
  }
  const auto length = static_cast<double>(std::sqrt(squares));  // infinite: the vector becomes zeros
  const double clip = options_.clip.value();
  const double factor = (length > clip ? clip / length : 1) / granularity_;
  for (double& value : usable) value *= factor;
  return rotation_.rotate(std::move(usable));
}

LaneVector DistributedNoise::encode_by(BitStream& stream, std::span<const double> values) const {
  const std::vector<double> real = prepare(values);
  const double limit = l2_ * l2_ / (kMargin * kMargin);
  std::vector<std::int64_t> whole(real.size());
  for (int turn = 0;; ++turn) {
    if (turn == kRoundings) {
      std::fill(whole.begin(), whole.end(), 0);
      break;
    }
    Uint128 squares = 0;
    for (std::size_t i = 0; i < real.size(); ++i) {
      whole[i] = round_at_random(stream, real[i]);
      squares += static_cast<Uint128>(Int128{whole[i]} * whole[i]);
    }
    if (static_cast<double>(squares) <= limit) break;
  }
  LaneVector encoded(dimension(), bits());
  std::array<std::int64_t, 4096> noise;
  for (std::size_t first = 0; first < whole.size(); first += noise.size()) {
    const std::size_t count = std::min(noise.size(), whole.size() - first);
    std::visit([&](const auto& law) { law.fill(stream, std::span(noise).first(count)); }, law_);
    for (std::size_t i = 0; i < count; ++i) {
      encoded.set(first + i, static_cast<std::uint64_t>(whole[first + i]) + static_cast<std::uint64_t>(noise[i]));
    }
  }
  return encoded;
}

std::vector<double> DistributedNoise::decode(const LaneVector& sum) const {
  NF_CHECK(sum.bits() == bits() && sum.dimension() == dimension(), "a sum of encoded vectors");
  std::vector<double> rotated(sum.dimension());
  for (std::uint64_t i = 0; i < sum.dimension(); ++i)
    rotated[i] = static_cast<double>(sum.get_signed(i)) * granularity_;
  return rotation_.rotate_back(std::move(rotated));
}

Result<DpStatement> DistributedNoise::statement(std::uint32_t survivors) const {
  if (survivors < options_.minimum_survivors || survivors > options_.clients) {
    return Error{ErrorCode::kProtocol,
                 fmt::format("{} survivors, where {} to {} were planned: the noise is not that of the plan, "
                             "nothing may be released",
                             survivors, options_.minimum_survivors, options_.clients)};
  }
  const std::uint64_t shares = survivors - options_.colluders;
  NF_TRY(const L1Sensitivity l1, L1Sensitivity::make(l1_));
  NF_TRY(const L2Sensitivity l2, L2Sensitivity::make(l2_));
  NF_TRY(const Dimension dimension, Dimension::make(rotation_.padded()));
  NF_TRY(const DpEvent event,
         std::visit(Overloaded{[&](const Skellam& law) -> Result<DpEvent> {
                                 // Rounded down, so that no more noise is claimed than there is.
                                 const double total = static_cast<double>(shares) * law.variance().value();
                                 NF_TRY(const NoiseVariance variance, NoiseVariance::make(std::nextafter(total, 0)));
                                 return DpEvent(SkellamEvent{variance, l1, l2, dimension});
                               },
                               [&](const DiscreteGaussian& law) -> Result<DpEvent> {
                                 NF_TRY(const Contributors summands, Contributors::make(shares));
                                 return DpEvent(DiscreteGaussianEvent{law.sigma(), summands, l1, l2, dimension});
                               }},
                    law_));
  return DpStatement{Adjacency::kAddRemove, PrivacyUnit::kPerson, event};
}

}  // namespace noisefloor::secagg
