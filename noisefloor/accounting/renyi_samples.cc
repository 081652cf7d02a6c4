#include "noisefloor/accounting/renyi_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/accounting/renyi_arithmetic.h"
#include "noisefloor/accounting/renyi_mechanisms.h"
#include "noisefloor/accounting/renyi_sampled_gaussian.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor::internal {
namespace {

// Bounds on whole orders take a sum over the orders below. Those of a sample within a sample within a sample … would
// take a power of that; further inside only the closed forms are used.
double largest_summed_order(int depth) { return depth == 0 ? 512 : depth == 1 ? 32 : 1; }

// What is sampled is also asked at the order of the sample itself. That is one question, so that it counts as deeper
// only within another sample.
TreePlace inside(TreePlace place) { return {place.known, place.depth + (place.depth > 0 ? 1 : 0)}; }

// ln(1 + Σ_{l=2}^n C(n,l) q^l keep^{n−l} e^{log_term[l]}).
double log_binomial_moment(double q, double log_keep, int n, const std::vector<double>& log_terms) {
  std::array<double, 513> exponents{};
  long double log_choose = 0;
  const double log_q = std::log(q);
  double largest = -kInfinity;
  double size = 0;
  for (int l = 1; l <= n; ++l) {
    log_choose += std::log(static_cast<long double>(n - l + 1) / l);
    if (l < 2) continue;
    const double term = log_terms[static_cast<std::size_t>(l)];
    const double exponent = static_cast<double>(log_choose) + l * log_q + (n - l) * log_keep + term;
    exponents[static_cast<std::size_t>(l)] = exponent;
    if (exponent > largest) largest = exponent;
    size = std::max(size, std::fabs(static_cast<double>(log_choose)) + l * std::fabs(log_q) +
                              (n - l) * std::fabs(log_keep) + std::fabs(term));
  }
  if (largest == kInfinity || largest == -kInfinity) return largest == kInfinity ? kInfinity : 0;
  long double sum = 0;
  for (int l = 2; l <= n; ++l) sum += std::exp(exponents[static_cast<std::size_t>(l)] - largest);
  const double log_sum = largest + static_cast<double>(std::log(sum)) + 0x1p-45 + 0x1p-50 * size;
  return up(softplus(log_sum));
}

// Replacing a sampled record is removing one and adding another. By Hölder's inequality, for every p > 1,
//   D_α(P‖Q) ≤ (α − 1/p)/(α − 1) D_{pα}(P‖R) + D_{(pα−1)/(p−1)}(R‖Q)
// with R the release without the record (Mironov 2017, Proposition 11).
// Near order 1 the first factor is large, and the bound at a larger order is the better one.
Result<RenyiBound> replaced_sample(const PoissonSampledEvent& event, double order, TreePlace place) {
  double best = times_up(2, pure_epsilon(event, Adjacency::kAddRemove));
  for (double at : {order, 1.5, 2.0, 3.0, 6.0}) {
    if (at < order || at == kInfinity) continue;
    for (double p : {1.5, 2.0, 4.0}) {
      NF_TRY(const RenyiBound remove, poisson_sampled(event, Adjacency::kAddRemove, up(p * at), place));
      NF_TRY(const RenyiBound add, poisson_sampled(event, Adjacency::kAddRemove, up((p * at - 1) / (p - 1)), place));
      if (remove.delta > 0 || add.delta > 0) {
        return invalid_argument(
            "no Renyi bound is known for (epsilon, delta) parts within Poisson samples under replace-one: use "
            "add-remove, "
            "or the pld accountant");
      }
      best = std::min(best, up(up((at - 1 / p) / (at - 1) * remove.divergence + add.divergence)));
    }
  }
  return RenyiBound{best, 0};
}

// E[(E−1)^j] for E = e^{sx − s²/2}, j = 0 … n, x standard normal. E[(E−1)^j E] is E[(e^{s²}E − 1)^j], so
//   m_{j+1} = (e^{js²} − 1) m_j + Σ_{i<j} C(j,i) e^{is²} (e^{s²}−1)^{j−i} m_i,
// in which no term is negative.
std::vector<long double> centred_moments(double square, int n) {
  std::vector<long double> m(static_cast<std::size_t>(n) + 1, 0.0L);
  const long double step = std::expm1(static_cast<long double>(square));
  m[0] = 1;
  for (int j = 1; j < n; ++j) {
    long double sum = std::expm1(static_cast<long double>(square) * j) * m[static_cast<std::size_t>(j)];
    long double choose = 1;
    long double power = std::exp(static_cast<long double>(square) * (j - 1)) * step;
    for (int i = j - 1; i >= 0; --i) {
      choose = choose * (i + 1) / (j - i);
      sum += choose * power * m[static_cast<std::size_t>(i)];
      power *= step / (step + 1);
    }
    m[static_cast<std::size_t>(j) + 1] = sum;
  }
  return m;
}

}  // namespace

// Each record takes part with probability q, add-remove. P = (1−q) Q + q P₁, and (P₁, Q) is a pair of the inner event.
// Let W = P₁/Q, r = P/Q = 1 − q + qW, B_l = e^{(l−1) D_l}.
//   Remove: Minkowski gives A^{1/α} ≤ 1 − q + q B_α^{1/α}; at a whole order n the binomial sum
//           A − 1 ≤ Σ_{l≥2} C(n,l) q^l (1−q)^{n−l} (B_l − 1).
//   Add:    E_Q[r^{−a}], to which the reverse Minkowski inequality applies: D ≤ −ln(1 − q + q e^{−D_α}). At a whole
//           order,
//           E_P[(1 + qX)^n] with X = (Q − P₁)/P, E_P[X] = 0, and b^{1−l} being convex in b:
//           E_P[X^l] ≤ (1−q) E_Q|W−1|^l + q E_{P₁}|1/W−1|^l ≤ B_l − 1, the latter since |w−1|^l ≤ w^l − 1 − l(w−1) for
//           w ≥ 0, l ≥ 2. So A − 1 ≤ Σ_{l≥2} C(n,l) q^l (B_l − 1). If the inner event is ε-DP, |W−1| ≤ e^ε − 1 and
//           E|W−1|^l ≤ (e^ε−1)^{l−2} (B₂−1) as well.
// If the inner event has a δ: with Q = (1−δ) Q' + δ Q'' and P₁ = (1−δ) P' + δ P'', P and Q share the weight qδ of P''
// against Q'', and what is left is a mixture of Q'' against itself and of (1−q) Q' + q P' against Q'. By joint
// convexity its A is at most that of the latter pair. So δ becomes qδ.
Result<RenyiBound> poisson_sampled(const PoissonSampledEvent& event, Adjacency adjacency, double order,
                                   TreePlace place) {
  if (adjacency == Adjacency::kReplaceOne) return replaced_sample(event, order, place);
  const double q = event.sampling_rate.value();
  if (q >= 1) return tree_bound(event.event, adjacency, order, place);
  NF_TRY(const RenyiBound inner, tree_bound(event.event, adjacency, order, inside(place)));
  const double delta = inner.delta == 0 ? 0 : std::min(inner.delta, up(q * inner.delta));
  const double d = inner.divergence;
  if (d == 0 || d == kInfinity) return RenyiBound{d, delta};
  const double a = order - 1;
  if (const std::optional<double> precision = gaussian_precision(event.event, adjacency); precision.has_value()) {
    return RenyiBound{sampled_gaussian_divergence(q, *precision, order), delta};
  }
  double remove = up(up(order * (log_mixed_exp(q, a / order * d) / a)));
  double add = up(up(-std::log1p(q * std::expm1(-d))));
  const double pure = pure_epsilon(event.event, adjacency);
  const double top = std::ceil(order);
  if (top <= largest_summed_order(place.depth)) {
    NF_TRY(const std::span<const double> at,
           place.known.up_to(static_cast<int>(top), event.event, adjacency, place.depth + 1));
    const auto count = static_cast<std::size_t>(top) + 1;
    std::vector<double> removed(count, 0.0);
    std::vector<double> added(count, 0.0);
    for (std::size_t l = 2; l < count; ++l) {
      const auto number = static_cast<double>(l);
      removed[l] = log_expm1((number - 1) * at[l]);
      added[l] = removed[l];
      if (pure < 700) added[l] = std::min(added[l], (number - 2) * log_expm1(pure) + removed[2]);
    }
    const double log_keep = std::log1p(-q);
    remove = std::min(remove, interpolated(order, [&](double n) {
                        return log_binomial_moment(q, log_keep, static_cast<int>(n), removed);
                      }));
    add = std::min(
        add, interpolated(order, [&](double n) { return log_binomial_moment(q, 0.0, static_cast<int>(n), added); }));
  }
  return RenyiBound{std::min({d, std::max(remove, add), pure_divergence(q, pure, order)}), delta};
}

// A uniform subset of fixed size, replace-one. P = (1−γ) R + γ P₁, Q = (1−γ) R + γ Q₁, and all of R, P₁, Q₁ are
// pairwise neighbours. A = Σ C(n,j) γ^j E_Q[((P₁−Q₁)/Q)^j], of which the first-order term is 0, and by convexity
// E_Q|…|^j is at most E_r|(p−q)/r|^j for some neighbours p, q, r. Of that
//   • |p−q|^j ≤ p^j + q^j gives 2 B_j, and (e^ε−1)^j B_j if ε-DP (|p−q| ≤ (e^ε−1) q);
//   • by cases of the order of p, q, r it is at most 4 max E|p/q−1|^j (where p ≥ r ≥ q, r^{1−j} ≤ q^{1−j}; where
//     p ≥ q ≥ r, p−q ≤ p−r; and so on), and E|p/q−1|^j ≤ B_j − 1, see above;
//   • for Gaussians E|p/q−1|^j is known for even j, and for odd j at most the geometric mean of its neighbours.
// This is Wang, Balle, Kasiviswanathan 2019, Theorems 9 and 27. Besides, A ≤ 1 − γ + γ B_α, also if there is a δ (→
// γδ).
Result<RenyiBound> fixed_size_sampled(const FixedSizeSampledEvent& event, Adjacency adjacency, double order,
                                      TreePlace place) {
  if (adjacency != Adjacency::kReplaceOne) {
    return invalid_argument(fmt::format(
        "a sample of fixed size ({} of {}) has no Rényi bound under add-remove: a neighbour of another size "
        "has no sample of the same rate. State it under replace-one, or use Poisson sampling",
        event.sample_size.value(), event.population.value()));
  }
  const double fraction = fraction_of(event);
  if (fraction >= 1) return tree_bound(event.event, adjacency, order, place);
  NF_TRY(const RenyiBound inner, tree_bound(event.event, adjacency, order, inside(place)));
  const double delta = inner.delta == 0 ? 0 : std::min(inner.delta, up(fraction * inner.delta));
  const double d = inner.divergence;
  if (d == 0 || d == kInfinity) return RenyiBound{d, delta};
  const double a = order - 1;
  double best = std::min(d, up(up(log_mixed_exp(fraction, a * d) / a)));
  if (inner.delta > 0) return RenyiBound{best, delta};
  const double pure = pure_epsilon(event.event, adjacency);
  if (pure < kInfinity) best = std::min(best, pure_divergence(1, up(up(log_mixed_exp(fraction, pure))), order));
  const double top = std::ceil(order);
  if (top <= largest_summed_order(place.depth)) {
    NF_TRY(const std::span<const double> at,
           place.known.up_to(static_cast<int>(top), event.event, adjacency, place.depth + 1));
    const auto count = static_cast<std::size_t>(top) + 1;
    std::vector<double> terms(count, 0.0);
    const std::optional<double> precision = gaussian_precision(event.event, adjacency);
    std::vector<long double> moments;
    if (precision.has_value() && *precision < 4 && *precision > 1e-30 && top <= 64) {
      moments = centred_moments(*precision, static_cast<int>(top) + 2);
    }
    for (std::size_t j = 2; j < count; ++j) {
      const auto number = static_cast<double>(j);
      const double log_b = (number - 1) * at[j];
      double more = std::numbers::ln2;
      if (pure < 700) more = std::min(more, number * log_expm1(pure));
      terms[j] = std::min(std::log(4.0) + log_expm1(log_b), more + log_b);
      if (!moments.empty()) {
        const long double low = moments[j / 2 * 2];
        const long double high = moments[(j + 1) / 2 * 2];
        terms[j] = std::min(terms[j], static_cast<double>(std::log(4.0L) + (std::log(low) + std::log(high)) / 2));
      }
    }
    best = std::min(best, interpolated(order, [&](double n) {
                      return log_binomial_moment(fraction, 0.0, static_cast<int>(n), terms);
                    }));
  }
  return RenyiBound{best, delta};
}

}  // namespace noisefloor::internal
