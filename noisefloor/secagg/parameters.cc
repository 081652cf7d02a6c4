#include "noisefloor/secagg/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "noisefloor/base/check.h"

namespace noisefloor::secagg {
namespace {

using Real = long double;
constexpr Real kNever = 0;
// A factor larger than all roundings of the sums below.
constexpr Real kMargin = 1 + 1e-9L;
constexpr std::uint32_t kAlwaysComplete = 32;

Real log_choose(Real n, Real k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

// The number of marked items among `drawn` of `population`, of which `marked` are marked.
struct Hypergeometric {
  Real population;
  Real marked;
  Real drawn;

  [[nodiscard]] Real least() const { return std::max(Real{0}, drawn + marked - population); }
  [[nodiscard]] Real most() const { return std::min(drawn, marked); }
  [[nodiscard]] Real probability(Real x) const {
    return std::exp(log_choose(marked, x) + log_choose(population - marked, drawn - x) - log_choose(population, drawn));
  }
  // P(X = x + 1)/P(X = x), decreasing in x.
  [[nodiscard]] Real ratio_after(Real x) const {
    return (marked - x) * (drawn - x) / ((x + 1) * (population - marked - drawn + x + 1));
  }
  [[nodiscard]] Real mean() const { return drawn * marked / population; }

  // P(X ≥ x): exact below the mean as well, but of use above it only.
  [[nodiscard]] Real at_least(Real x) const {
    if (x <= least()) return 1;
    if (x > most()) return kNever;
    if (x <= mean()) return 1;
    Real sum = 0;
    for (Real term = probability(x); x <= most() && term > sum * 1e-25L; ++x) {
      sum += term;
      term *= ratio_after(x);
    }
    return std::min(Real{1}, sum * kMargin);
  }
  // P(X < x): the probability that at least drawn − x + 1 are not marked.
  [[nodiscard]] Real below(Real x) const {
    return Hypergeometric{population, population - marked, drawn}.at_least(drawn - x + 1);
  }
};

double log2_of(Real probability) {
  return probability <= 0 ? -std::numeric_limits<double>::infinity() : static_cast<double>(std::log2(probability));
}

struct Counts {
  Real registry;
  Real roster;   // the fewest
  Real corrupt;  // all of them may be in any roster
  Real drop;     // of a roster of everyone
};

std::uint32_t fewest(const Assumptions& a) { return a.minimum_roster == 0 ? a.clients : a.minimum_roster; }

// Whole clients, rounded up; a share such as 0.29 of 100 is 29.
Real count_of(double share, Real clients) { return std::ceil(Real{share} * clients - 1e-6L); }

Counts counts_of(const Assumptions& a) {
  const auto registry = static_cast<Real>(a.clients);
  return {registry, static_cast<Real>(fewest(a)), count_of(a.corrupt, registry), count_of(a.drop, registry)};
}

// The same for a sparse graph: rosters of up to degree + 1 clients are complete graphs, and are judged by themselves.
Counts sparse_counts_of(const Assumptions& a, Real degree) {
  Counts n = counts_of(a);
  n.roster = std::max(n.roster, degree + 2);
  return n;
}

Result<void> check(const Assumptions& a) {
  if (a.clients < 2 || a.clients > kMaxClients) {
    return invalid_argument(fmt::format("the number of clients must be from 2 to {}; got {}", kMaxClients, a.clients));
  }
  for (const double share : {a.corrupt, a.drop}) {
    if (!(share >= 0 && share < 1)) {
      return invalid_argument(
          fmt::format("corrupt and drop are shares of the clients, 0 or above and below 1; got {}", share));
    }
  }
  for (const double bits : {a.security_bits, a.correctness_bits}) {
    if (!(bits >= 1 && bits <= 256)) {
      return invalid_argument(fmt::format("security and correctness must be from 1 to 256 bits; got {}", bits));
    }
  }
  if (a.minimum_roster == 1 || a.minimum_roster > a.clients) {
    return invalid_argument(fmt::format(
        "the smallest roster must have from 2 to all {} clients of the registry; got {}", a.clients, a.minimum_roster));
  }
  if (!(a.grinding_bits >= 0 && a.grinding_bits <= 256)) {
    return invalid_argument(fmt::format("tries must be from 0 to 256 bits; got {}", a.grinding_bits));
  }
  return success();
}

bool is_lying(const Assumptions& a) { return a.threat == ThreatModel::kLyingServer; }

// The number of corrupt neighbours at which a client is lost.
Real fatal(const Assumptions& a, Real degree, Real threshold) {
  return is_lying(a) ? 2 * threshold - degree : threshold;
}

// The probability that some client's neighbours, or the committee, hold a fatal number of corrupt clients. The smallest
// roster is the worst: corrupt clients are the largest share of it.
Real some_client_lost(const Assumptions& a, Real degree, Real threshold) {
  const Counts n = sparse_counts_of(a, degree);
  const Real others = n.roster - 1;
  const Real groups = n.registry + (is_lying(a) ? 1 : 0);
  return std::min(Real{1}, groups * Hypergeometric{others, std::min(n.corrupt, others), degree}.at_least(
                                        fatal(a, degree, threshold)));
}

// The probability that two stretches of degree/2 places, which do not overlap, have `needed` corrupt clients each. The
// second one draws from what the first one left.
Real two_stretches(const Counts& n, Real width, Real needed) {
  if (needed <= 0) return 1;
  if (2 * needed > n.corrupt || 2 * width > n.roster) return kNever;
  const Real corrupt = std::min(n.corrupt, n.roster);
  const Hypergeometric first{n.roster, corrupt, width};
  Real sum = 0;
  for (Real x = std::max(needed, first.least()); x <= std::min(first.most(), corrupt - needed); ++x) {
    const Real both = first.probability(x) * Hypergeometric{n.roster - width, corrupt - x, width}.at_least(needed);
    sum += both;
    if (both <= sum * 1e-20L) break;
  }
  return std::min(Real{1}, n.registry * n.registry / 2 * sum * kMargin);
}

// The probability that everyone is missing in two stretches of degree/2 places, corrupt or dropped out.
Real two_empty_stretches(const Assumptions& a, Real degree) {
  const Counts n = sparse_counts_of(a, degree);
  // Each factor (missing − i)/(clients − i) is monotone in the number of clients: one of the ends is the worst.
  Real log_probability = 0;
  for (Real i = 0; i < degree; ++i) {
    Real worst = 0;
    for (const Real clients : {n.roster, n.registry}) {
      const Real missing = std::min(clients, n.corrupt + count_of(a.drop, clients) + (n.roster < n.registry ? 1 : 0));
      if (missing > i) worst = std::max(worst, (missing - i) / (clients - i));
    }
    if (worst == 0) return kNever;
    log_probability += std::log(worst);
  }
  return std::min(Real{1}, n.registry * n.registry / 2 * std::exp(log_probability) * kMargin);
}

// The probability that the honest survivors fall apart into groups whose sums can be told.
Real falls_apart(const Assumptions& a, Real degree, Real threshold) {
  return is_lying(a) ? two_stretches(sparse_counts_of(a, degree), degree / 2, threshold - degree / 2)
                     : two_empty_stretches(a, degree);
}

// Rosters that are too small for the degree are complete graphs, in which nothing is left to chance: either it is
// secure for the largest of them, or not at all.
bool is_secure_where_complete(const Assumptions& a, Real degree, Real threshold) {
  const Counts n = counts_of(a);
  if (n.roster > degree + 1) return true;
  return is_lying(a) ? 2 * threshold > degree + 1 + n.corrupt : threshold > n.corrupt;
}

// Each client sees one less of its own kind (staying or dropping out) among the others.
Real some_client_stuck(const Assumptions& a, Real degree, Real threshold) {
  const Counts n = counts_of(a);
  const Real others = n.registry - 1;
  Real sum = (n.registry - n.drop) * Hypergeometric{others, others - n.drop, degree}.below(threshold);
  if (n.drop > 0) sum += n.drop * Hypergeometric{others, n.registry - n.drop, degree}.below(threshold);
  return sum;
}

Topology complete(const Assumptions& a, std::uint32_t threshold) {
  const Counts n = counts_of(a);
  const auto needed = static_cast<Real>(threshold);
  const bool secure = is_lying(a) ? 2 * needed > n.registry + n.corrupt : needed > n.corrupt;
  const bool correct = n.registry - 1 - n.drop >= needed;
  return {a.clients - 1, threshold, log2_of(secure ? kNever : Real{1}), log2_of(correct ? kNever : Real{1}), fewest(a)};
}

Topology sparse(const Assumptions& a, std::uint32_t degree, std::uint32_t threshold) {
  const Real insecure = is_secure_where_complete(a, degree, threshold)
                            ? some_client_lost(a, degree, threshold) + falls_apart(a, degree, threshold)
                            : Real{1};
  const double tries = is_lying(a) ? a.grinding_bits : 0;
  return {degree, threshold, std::min(0.0, log2_of(insecure) + tries),
          std::min(0.0, log2_of(some_client_stuck(a, degree, threshold))), fewest(a)};
}

}  // namespace

std::string_view name_of(ThreatModel threat) {
  switch (threat) {
    case ThreatModel::kCuriousServer:
      return "curious-server";
    case ThreatModel::kLyingServer:
      return "lying-server";
  }
  NF_UNREACHABLE("a threat model outside the closed list");
}

std::uint32_t corrupt_clients(double share, std::uint32_t clients) {
  return static_cast<std::uint32_t>(count_of(share, static_cast<Real>(clients)));
}

Result<std::uint32_t> most_corrupt_in(const Assumptions& a, std::uint32_t size, std::uint32_t groups) {
  NF_TRY_VOID(check(a));
  if (size < 1 || groups < 1 || std::max(size, groups) > a.clients) {
    return invalid_argument(
        fmt::format("{} groups of {} clients cannot be drawn from a registry of {}", groups, size, a.clients));
  }
  const Counts n = counts_of(a);
  const Hypergeometric corrupt{n.registry, n.corrupt, static_cast<Real>(size)};
  const Real insecure = std::exp2(-Real{a.security_bits} - (is_lying(a) ? Real{a.grinding_bits} : 0));
  auto most = static_cast<std::uint32_t>(corrupt.most());
  while (most > 0 && groups * corrupt.at_least(most) <= insecure) --most;
  return most;
}

Result<Topology> evaluate_topology(const Assumptions& a, std::uint32_t degree, std::uint32_t threshold) {
  NF_TRY_VOID(check(a));
  if (degree >= a.clients || threshold < 1 || threshold > degree || (degree % 2 == 1 && degree != a.clients - 1)) {
    return invalid_argument(
        fmt::format("no graph of {} clients has degree {} and threshold {}", a.clients, degree, threshold));
  }
  return degree == a.clients - 1 ? complete(a, threshold) : sparse(a, degree, threshold);
}

Result<Topology> find_topology(const Assumptions& a) {
  NF_TRY_VOID(check(a));
  // Half of the failure probability is for lost clients, half for a graph that falls apart.
  const Real insecure = std::exp2(-Real{a.security_bits} - (is_lying(a) ? Real{a.grinding_bits} : 0) - 1);
  const Real incorrect = std::exp2(-Real{a.correctness_bits});
  if (a.clients > kAlwaysComplete) {
    // The smallest secure threshold never falls as the degree grows.
    std::uint32_t threshold = 1;
    for (std::uint32_t degree = 2; degree < a.clients - 1; degree += 2) {
      while (threshold <= degree && (some_client_lost(a, degree, threshold) > insecure ||
                                     (is_lying(a) && falls_apart(a, degree, threshold) > insecure))) {
        ++threshold;
      }
      if (threshold > degree || !is_secure_where_complete(a, degree, threshold)) continue;
      if (falls_apart(a, degree, threshold) > insecure) continue;
      if (some_client_stuck(a, degree, threshold) <= incorrect) return sparse(a, degree, threshold);
    }
  }
  const Counts n = counts_of(a);
  const Real threshold = is_lying(a) ? std::floor((n.registry + n.corrupt) / 2) + 1 : std::max(Real{2}, n.corrupt + 1);
  if (threshold > n.registry - 1 - n.drop) {
    return invalid_argument(fmt::format(
        "no degree and threshold exist for {} clients, {} of them corrupt and {} dropping out, with a {} "
        "server: {} answers would be needed, and {} come. Assume fewer",
        a.clients, static_cast<double>(n.corrupt), static_cast<double>(n.drop), is_lying(a) ? "lying" : "curious",
        static_cast<double>(threshold), static_cast<double>(std::max(Real{0}, n.registry - 1 - n.drop))));
  }
  return complete(a, static_cast<std::uint32_t>(threshold));
}

}  // namespace noisefloor::secagg
