#include "noisefloor/accounting/shuffle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "noisefloor/accounting/binomial.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

constexpr std::uint64_t kMostReports = std::uint64_t{1} << 32;
// Local ε from here on are not amplified: a clone has probability below e^-11000.
constexpr double kNoAmplification = 11000;

Result<void> check_adjacency(Adjacency adjacency) {
  if (adjacency == Adjacency::kReplaceOne) return success();
  return invalid_argument(
      "shuffling is proved for replace-one neighbours only, as the number of reports is public; got add-remove");
}

}  // namespace

// Partitions 0 … n − 1. Within a bucket fewer clones are assumed than there are, which is safe: one more clone is
// a randomisation of the output.
ShuffledReports::Bound ShuffledReports::make_bound(Rows reports, long double clone, long double no_clone,
                                                   long double factor) {
  Bound bound{{}, factor};
  const std::uint64_t others = std::min(reports.value(), kMostReports) - 1;
  if (others == 0 || clone == 0) {
    bound.buckets.push_back({0, 1});
    return bound;
  }
  const BinomialLaw law{others, clone, no_clone};
  const CountWindow window = window_of(law, -45);
  // The window, with probabilities by recurrence: 5 roundings a step.
  const std::uint64_t count = window.last - window.first + 1;
  // The divergence falls by a factor of e^-30 at most, for what matters, over a change of C by C: buckets of C/2000
  // move it by about a percent.
  const long double wanted = 2000 * static_cast<long double>(count) / static_cast<long double>(law.mode() + 1);
  const std::uint64_t buckets = std::min(count, static_cast<std::uint64_t>(std::clamp(wanted, 8.0L, 128.0L)));
  const LogProbability start = log_probability(law, window.first);
  const long double error = std::ldexp(static_cast<long double>(count) + 64, -60) + 2 * start.error;
  long double p = std::exp(start.value);
  std::uint64_t x = window.first;
  for (std::uint64_t i = 0; i < buckets; ++i) {
    const std::uint64_t end = window.first + count / buckets * (i + 1) + std::min(i + 1, count % buckets);
    const std::uint64_t first = x;
    long double mass = 0;
    for (; x < end; ++x) {
      mass += p;
      if (x < others) p *= law.ratio_after(x);
    }
    bound.buckets.push_back({static_cast<double>(first), mass * (1 + error)});
  }
  // What is above the window has at least as many clones.
  if (window.last < others) bound.buckets.push_back({static_cast<double>(window.last), std::exp(-45.0L)});
  // From the window down to 0, in steps that grow: P(C ≤ x) ≤ P(C = x)/(1 − r), r the ratio of the next one below.
  const std::uint64_t spread = (window.last - window.first) / 20 + 1;
  auto width = static_cast<long double>(spread);
  for (std::uint64_t end = window.first; end > 0;) {
    const std::uint64_t last = end - 1;
    const auto whole = static_cast<std::uint64_t>(std::min(width, 0x1p62L));
    const std::uint64_t first = last >= whole ? last - whole + 1 : 0;
    const LogProbability at_last = log_probability(law, last);
    const long double ratio = last == 0 ? 0 : 1 / law.ratio_after(last - 1);
    const long double mass = ratio < 1 ? std::exp(at_last.value + at_last.error) / (1 - ratio) * (1 + 0x1p-40L) : 1;
    bound.buckets.push_back({static_cast<double>(first), std::min(1.0L, mass)});
    end = first;
    width *= 1.5L;
  }
  return bound;
}

Result<ShuffledReports> ShuffledReports::of_any_randomizer(Epsilon local, Rows reports, Adjacency adjacency) {
  NF_TRY_VOID(check_adjacency(adjacency));
  ShuffledReports result(local);
  const long double e = local.value();
  const long double clone = e < kNoAmplification ? std::exp(-e) : 0;
  result.bounds_.push_back(make_bound(reports, clone, -std::expm1(-e), 1));
  return result;
}

Result<ShuffledReports> ShuffledReports::of_randomized_response(Epsilon local, Categories categories, Rows reports,
                                                                Adjacency adjacency) {
  NF_TRY_VOID(check_adjacency(adjacency));
  ShuffledReports result(local);
  const long double e = local.value();
  if (e >= kNoAmplification) {
    result.bounds_.push_back(make_bound(reports, 0, 1, 1));
    return result;
  }
  result.bounds_.push_back(make_bound(reports, 2 / (std::exp(e) + 1), std::tanh(e / 2), 1));
  if (categories.value() > 2) {
    const long double others = static_cast<long double>(categories.value()) - 1;
    const long double total = std::exp(e) + others;
    const long double no_clone = (std::expm1(e) + (others - 1)) / total;
    result.bounds_.push_back(make_bound(reports, 2 / total, no_clone, (std::exp(e) + 1) / total * (1 + 0x1p-55L)));
  }
  return result;
}

// The hockey-stick divergence given C clones. With N = C + 1 draws, i of them on the other side (b(i) = Bin(N, ½)(i)):
//   Σ 2 b(i)/(1 + e^-ε₀) (t − v i/N)⁺,  t = 1 − e^(ε−ε₀),  v = (1 − e^-ε₀)(1 + e^ε).
// The sum runs from its last positive term down to i = 0; b falls and the factor grows by v/N.
long double ShuffledReports::divergence(double clones, double epsilon) const {
  const long double e0 = local_.value();
  const long double e = epsilon;
  const auto draws = static_cast<std::uint64_t>(clones) + 1;
  const auto n = static_cast<long double>(draws);
  const long double t = -std::expm1(e - e0);
  if (!(t > 0)) return 0;
  const long double v = -std::expm1(-e0) * (1 + std::exp(std::min(e, 11000.0L)));
  const BinomialLaw law{draws, 0.5L, 0.5L};
  // t/v is at most ½, as v/2 ≥ t for ε ≥ 0.
  const std::uint64_t last = std::min(draws / 2, static_cast<std::uint64_t>(std::max(0.0L, std::min(n, n * (t / v)))));
  const LogProbability start = log_probability(law, last);
  // So little that it is below all doubles, with all terms before it.
  if (start.value < -10000) return std::numeric_limits<double>::denorm_min();
  const long double first = std::exp(start.value);
  const long double step = v / n;
  long double b = first;
  long double weight = std::max(0.0L, t - step * static_cast<long double>(last));
  long double sum = b * weight;
  long double mass = b;
  long double rest = 0;
  std::uint64_t i = last;
  while (i > 0) {
    const long double ratio = static_cast<long double>(i) / static_cast<long double>(draws - i + 1);
    rest = ratio < 1 ? b * ratio / (1 - ratio) * t : b * static_cast<long double>(i) * t;
    if (rest <= std::ldexp(sum, -32)) break;
    b *= ratio;
    weight += step;
    sum += b * weight;
    mass += b;
    --i;
    rest = 0;
  }
  // Rounding of t, v and the products moves every factor by less than t 2^-58, also that of the first term beyond
  // `last`, which may have been taken for negative.
  const long double beyond = last < draws ? first * law.ratio_after(last) : 0;
  const long double off = (mass + beyond) * t * 0x1p-58L;
  const long double error = std::ldexp(static_cast<long double>(last - i) + 64, -60) + 2 * start.error;
  const long double value = 2 * (sum + rest + off) * (1 + error) / (1 + std::exp(-e0));
  // Without clones: (1 − e^(ε−ε₀))/(1 + e^-ε₀).
  return std::min(value, t / (1 + std::exp(-e0)) * (1 + 0x1p-58L));
}

double ShuffledReports::delta_at(PrivacyLoss epsilon) const {
  if (epsilon.value() >= local_.value()) return 0;
  long double best = 1;
  for (const Bound& bound : bounds_) {
    long double sum = 0;
    for (const Bucket& bucket : bound.buckets) {
      // A divergence is at most 1; it need not be known where that changes nothing.
      const bool negligible = bucket.mass <= sum * 0x1p-40L;
      sum += bucket.mass * (negligible ? 1 : divergence(bucket.clones, epsilon.value()));
    }
    best = std::min(best, sum * bound.factor);
  }
  best = std::min(best, divergence(0, epsilon.value()));
  return std::min(1.0, next_up(static_cast<double>(best * (1 + 0x1p-50L))));
}

PrivacyLoss ShuffledReports::epsilon_at(Delta delta) const {
  if (delta.value() == 0) return PrivacyLoss::make(local_.value()).value();
  // ln δ(ε) − ln δ; at most 0 where ε is enough.
  const double target = std::log(delta.value());
  double last_delta = 0;
  const auto excess = [&](double epsilon) {
    last_delta = delta_at(PrivacyLoss::make(epsilon).value());
    return last_delta > 0 ? std::log(last_delta) - target : -1e4;
  };
  double low = 0;
  double at_low = excess(0);
  if (last_delta <= delta.value()) return PrivacyLoss::of(0);
  double high = local_.value();
  double at_high = -1e4;
  // ε is at most ε₀ and often far below it: first its order of magnitude.
  for (double next = high / 4; next > local_.value() * 1e-9; next /= 4) {
    const double value = excess(next);
    const bool enough = last_delta <= delta.value();
    (enough ? high : low) = next;
    (enough ? at_high : at_low) = value;
    if (!enough) break;
  }
  // Regula falsi; every third step bisects, and steps aim a little beyond the root so that both ends move.
  for (int step = 0; step < 100 && high - low > 5e-7 * high; ++step) {
    double next = low + (high - low) / 2;
    const double share = at_low / (at_low - at_high);
    if (step % 3 != 2 && share > 0 && share < 1) {
      next = low + (high - low) * share + (step % 3 == 0 ? 2e-7 : -2e-7) * high;
    }
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const double value = excess(next);
    const bool enough = last_delta <= delta.value();
    (enough ? high : low) = next;
    (enough ? at_high : at_low) = value;
  }
  return PrivacyLoss::make(high).value();
}

}  // namespace noisefloor
