// Every kind of event, under both neighbouring relations, against all neighbours in a small universe: no accountant's ε
// lets any of them exceed δ, and the certified lower bound is one that some neighbours reach. Each case has a mutant: a
// claim that is too small, which the same check must find.
//
// A kind without cases does not compile: add an overload of cases_of(). Laws of continuous noise are those of cells,
// which is post-processing: what they exceed, the noise exceeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/accounting/comparison.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {
namespace {

constexpr auto kAddRemove = Adjacency::kAddRemove;
constexpr auto kReplaceOne = Adjacency::kReplaceOne;
constexpr double kRounding = 1e-12;  // of the laws below

using Law = std::vector<double>;
using Laws = std::vector<std::pair<Law, Law>>;  // of neighbours
using Truth = std::function<double(double)>;    // ε → the largest δ of any neighbours

double hockey_stick(const Law& p, const Law& q, double epsilon) {
  const double factor = std::exp(epsilon);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - (q[i] > 0 ? factor * q[i] : 0));
  return sum;
}

// Both orders of each pair are neighbours.
Truth truth_of(Laws laws) {
  return [laws = std::move(laws)](double epsilon) {
    double largest = 0;
    for (const auto& [p, q] : laws) {
      largest = std::max({largest, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)});
    }
    return largest;
  };
}

struct Case {
  DpEvent event;
  Truth truth;
  DpEvent mutant;
  Truth mutant_truth = {};  // that of the event, if none is given
  double delta = 1e-3;
  bool is_reached = true;  // some neighbours here lose as much as the lower bound says
};

// --- Laws of noise ---------------------------------------------------------------------------------------------------

double normal_tail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }
double gaussian_delta(double mu, double epsilon) {
  if (mu == 0) return 0;
  const double rest = normal_tail(epsilon / mu + mu / 2);
  return normal_tail(epsilon / mu - mu / 2) - (rest > 0 ? std::exp(epsilon + std::log(rest)) : 0);
}
Truth gaussian_truth(double mu) {
  return [mu](double epsilon) { return gaussian_delta(mu, epsilon); };
}

void add(Law& sum, const Law& part, double share) {
  sum.resize(std::max(sum.size(), part.size()), 0.0);
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] += share * part[i];
}
Law product(const Law& a, const Law& b) {
  Law both;
  both.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) both.push_back(x * y);
  }
  return both;
}

Law normal_cells(double centre, double sigma, double width) {
  Law law;
  const double reach = 8 * sigma + 4;
  for (double x = -reach; x < reach; x += width) {
    law.push_back(normal_tail((x - centre) / sigma) - normal_tail((x + width - centre) / sigma));
  }
  return law;
}
// Independent noise on each coordinate.
Law normal_cells(const std::vector<double>& centre, double sigma) {
  const double width = centre.size() == 1 ? 0.02 : centre.size() == 2 ? 0.1 : 0.35;
  Law law = {1};
  for (const double c : centre) law = product(law, normal_cells(c, sigma, width * sigma));
  return law;
}
Law laplace_cells(double centre, double scale) {
  constexpr double width = 0.02;
  const auto below = [&](double x) { return x < 0 ? std::exp(x / scale) / 2 : 1 - std::exp(-x / scale) / 2; };
  Law law;
  for (double x = -30; x < 30; x += width) law.push_back(below(x + width - centre) - below(x - centre));
  return law;
}
constexpr int kReach = 80;
// P(x − centre) for whole x from −kReach to kReach.
Law on_integers(int centre, const std::function<double(int)>& weight) {
  Law law;
  double sum = 0;
  for (int x = -2 * kReach; x <= 2 * kReach; ++x) sum += weight(x);
  for (int x = -kReach; x <= kReach; ++x) law.push_back(weight(x - centre) / sum);
  return law;
}
Law discrete_laplace(int centre, double scale) {
  return on_integers(centre, [&](int x) { return std::exp(-std::abs(x) / scale); });
}
double gaussian_weight(int x, double sigma) { return std::exp(-x * x / (2 * sigma * sigma)); }
Law discrete_gaussian(int centre, double sigma) {
  return on_integers(centre, [&](int x) { return gaussian_weight(x, sigma); });
}
Law sum_of_two_discrete_gaussians(int centre, double sigma) {
  return on_integers(centre, [&](int x) {
    double sum = 0;
    for (int y = -kReach; y <= kReach; ++y) sum += gaussian_weight(y, sigma) * gaussian_weight(x - y, sigma);
    return sum;
  });
}
Law skellam(int centre, double variance) {
  return on_integers(centre, [&](int x) {
    double sum = 0;
    for (int k = 0; k <= kReach; ++k) {
      const int other = k + std::abs(x);
      sum += std::exp((k + other) * std::log(variance / 2) - std::lgamma(k + 1.0) - std::lgamma(other + 1.0));
    }
    return sum;
  });
}

// --- Universes -------------------------------------------------------------------------------------------------------

using Records = std::vector<int>;
using LawOf = std::function<Law(const Records&)>;

// All neighbours among data sets of up to `size` records from `values`. Under replace-one they have equally many.
Laws all_neighbours(Adjacency adjacency, const Records& values, std::size_t size, const LawOf& law) {
  std::vector<Records> rest = {{}};
  for (std::size_t i = 1, begin = 0; i < size; ++i) {
    const std::size_t end = rest.size();
    for (; begin < end; ++begin) {
      for (const int value : values) {
        Records more = rest[begin];
        more.push_back(value);
        rest.push_back(std::move(more));
      }
    }
  }
  Laws laws;
  for (const Records& others : rest) {
    std::vector<Law> with;
    for (const int value : values) {
      Records more = others;
      more.push_back(value);
      with.push_back(law(more));
    }
    if (adjacency == kAddRemove) {
      const Law without = law(others);
      for (const Law& one : with) laws.emplace_back(one, without);
    } else {
      for (std::size_t i = 0; i < with.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) laws.emplace_back(with[i], with[j]);
      }
    }
  }
  return laws;
}

// Answers that neighbours move by one, under both relations.
Laws moved_by_one(const std::function<Law(int)>& law) { return {{law(0), law(1)}}; }

// Each record is 0 or 1, and joins by its own coin.
LawOf poisson_sample(double q, const std::function<Law(int)>& noise) {
  return [=](const Records& records) {
    Law law;
    for (unsigned taken = 0; taken < 1U << records.size(); ++taken) {
      double share = 1;
      int sum = 0;
      for (std::size_t i = 0; i < records.size(); ++i) {
        const bool in = (taken >> i & 1U) != 0;
        share *= in ? q : 1 - q;
        sum += in ? records[i] : 0;
      }
      add(law, noise(sum), share);
    }
    return law;
  };
}

// The same, cut down to `most` records by a uniform choice.
LawOf truncated_sample(double q, std::size_t most, const std::function<Law(int)>& noise) {
  return [=](const Records& records) {
    Law law;
    const auto size = static_cast<unsigned>(records.size());
    for (unsigned taken = 0; taken < 1U << size; ++taken) {
      const auto count = static_cast<std::size_t>(std::popcount(taken));
      const double share =
          std::pow(q, static_cast<double>(count)) * std::pow(1 - q, static_cast<double>(records.size() - count));
      std::vector<unsigned> kept;
      for (unsigned sub = 0; sub < 1U << size; ++sub) {
        if ((sub & ~taken) == 0 && static_cast<std::size_t>(std::popcount(sub)) == std::min(count, most)) {
          kept.push_back(sub);
        }
      }
      for (const unsigned sub : kept) {
        int sum = 0;
        for (unsigned i = 0; i < size; ++i) sum += (sub >> i & 1U) != 0 ? records[i] : 0;
        add(law, noise(sum), share / static_cast<double>(kept.size()));
      }
    }
    return law;
  };
}

// `draws` uniform draws, each from all records.
LawOf sample_with_replacement(int draws, const std::function<Law(int)>& noise) {
  return [=](const Records& records) {
    std::vector<std::pair<int, double>> sums = {{0, 1}};
    for (int i = 0; i < draws; ++i) {
      std::vector<std::pair<int, double>> next;
      for (const auto& [sum, p] : sums) {
        for (const int record : records) next.emplace_back(sum + record, p / static_cast<double>(records.size()));
      }
      sums = std::move(next);
    }
    std::vector<double> weights;
    for (const auto& [sum, p] : sums) {
      weights.resize(std::max(weights.size(), static_cast<std::size_t>(sum) + 1), 0.0);
      weights[static_cast<std::size_t>(sum)] += p;
    }
    Law law;
    for (std::size_t sum = 0; sum < weights.size(); ++sum) {
      if (weights[sum] > 0) add(law, noise(static_cast<int>(sum)), weights[sum]);
    }
    return law;
  };
}

Law normal_at(int centre) { return normal_cells(static_cast<double>(centre), 1, 0.02); }

// --- Cases: noise ----------------------------------------------------------------------------------------------------

template <class Kind>
using Of = std::type_identity<Kind>;
using Cases = std::vector<Case>;

constexpr auto kOne = NoiseMultiplier::of(1);

Cases cases_of(Of<GaussianEvent> /*kind*/, Adjacency /*adjacency*/) {
  return {{GaussianEvent{kOne}, gaussian_truth(1), GaussianEvent{NoiseMultiplier::of(1.05)}}};
}
Cases cases_of(Of<LaplaceEvent> /*kind*/, Adjacency /*adjacency*/) {
  const Truth truth = truth_of({{laplace_cells(0, 1.5), laplace_cells(1, 1.5)}});
  return {{LaplaceEvent{NoiseMultiplier::of(1.5)}, truth, LaplaceEvent{NoiseMultiplier::of(1.6)}},
          {LaplaceEvent{NoiseMultiplier::of(1.5)}, truth, LaplaceEvent{NoiseMultiplier::of(1.6)}, {}, 0.1}};
}
Cases cases_of(Of<DiscreteGaussianEvent> /*kind*/, Adjacency /*adjacency*/) {
  const auto event = [](double sigma, std::uint64_t summands, double l1, double l2, std::uint64_t dimension) {
    return DiscreteGaussianEvent{NoiseScale::make(sigma).value(), Contributors::make(summands).value(),
                                 L1Sensitivity::make(l1).value(), L2Sensitivity::make(l2).value(),
                                 Dimension::make(dimension).value()};
  };
  const auto one = [](int at) { return discrete_gaussian(at, 1.5); };
  const auto two = [](int at) { return sum_of_two_discrete_gaussians(at, 1.5); };
  return {{event(1.5, 1, 1, 1, 1), truth_of(moved_by_one(one)), event(1.6, 1, 1, 1, 1)},
          {event(1.5, 1, 2, 2, 1), truth_of({{one(0), one(2)}}), event(1.6, 1, 2, 2, 1)},
          // Two coordinates, each moved by one.
          {event(1.5, 1, 2, std::sqrt(2.0), 2), truth_of({{product(one(0), one(0)), product(one(1), one(1))}}),
           event(2.5, 1, 2, std::sqrt(2.0), 2)},
          {event(1.5, 2, 1, 1, 1), truth_of(moved_by_one(two)), event(3, 2, 1, 1, 1)}};
}
Cases cases_of(Of<DiscreteLaplaceEvent> /*kind*/, Adjacency /*adjacency*/) {
  const auto law = [](int at) { return discrete_laplace(at, 1.5); };
  return {{DiscreteLaplaceEvent{NoiseScale::of(1.5), L1Sensitivity::of(1)}, truth_of(moved_by_one(law)),
           DiscreteLaplaceEvent{NoiseScale::of(1.6), L1Sensitivity::of(1)}},
          {DiscreteLaplaceEvent{NoiseScale::of(1.5), L1Sensitivity::of(2.9)},
           truth_of({{law(0), law(2)}}),
           DiscreteLaplaceEvent{NoiseScale::of(1.5), L1Sensitivity::of(1)},
           {},
           0.01}};
}
Cases cases_of(Of<SkellamEvent> /*kind*/, Adjacency /*adjacency*/) {
  const auto event = [](double variance) {
    return SkellamEvent{NoiseVariance::make(variance).value(), L1Sensitivity::of(1), L2Sensitivity::of(1),
                        Dimension::of(1)};
  };
  const auto law = [](int at) { return skellam(at, 4); };
  return {{event(4), truth_of(moved_by_one(law)), event(30)}};
}

// --- Cases: selection ------------------------------------------------------------------------------------------------

Law response_law(double epsilon, std::size_t categories, std::size_t truth) {
  Law law(categories, 1 / (std::exp(epsilon) + static_cast<double>(categories) - 1));
  law[truth] *= std::exp(epsilon);
  return law;
}
Cases cases_of(Of<RandomizedResponseEvent> /*kind*/, Adjacency /*adjacency*/) {
  Cases cases;
  for (const std::size_t categories : {2U, 3U, 5U}) {
    const auto event = [&](double epsilon) {
      return RandomizedResponseEvent{Epsilon::make(epsilon).value(), Categories::make(categories).value()};
    };
    cases.push_back(
        {event(0.7), truth_of({{response_law(0.7, categories, 0), response_law(0.7, categories, 1)}}), event(0.6)});
  }
  return cases;
}

// Three candidates with scores of 0 to 2, of which each may change by one.
Laws all_scores(const std::function<Law(const std::array<int, 3>&)>& law) {
  Laws laws;
  const auto scores = [](int code) { return std::array<int, 3>{code % 3, code / 3 % 3, code / 9}; };
  for (int a = 0; a < 27; ++a) {
    for (int b = 0; b < a; ++b) {
      bool near = true;
      for (std::size_t i = 0; i < 3; ++i) near = near && std::abs(scores(a)[i] - scores(b)[i]) <= 1;
      if (near) laws.emplace_back(law(scores(a)), law(scores(b)));
    }
  }
  return laws;
}
Cases cases_of(Of<ExponentialEvent> /*kind*/, Adjacency /*adjacency*/) {
  const auto law = [](const std::array<int, 3>& scores) {
    Law result;
    double sum = 0;
    for (const int score : scores) sum += std::exp(0.7 * score / 2);
    for (const int score : scores) result.push_back(std::exp(0.7 * score / 2) / sum);
    return result;
  };
  // Few candidates do not reach what many do: forty of equal scores, of which some gain and the others lose.
  Laws laws = all_scores(law);
  for (int gaining = 1; gaining < 40; ++gaining) {
    const double before = gaining / 40.0;
    const double up = gaining * std::exp(0.35);
    const double after = up / (up + (40 - gaining) * std::exp(-0.35));
    laws.push_back({{after, 1 - after}, {before, 1 - before}});
  }
  return {{ExponentialEvent{Epsilon::of(0.7)}, truth_of(laws), ExponentialEvent{Epsilon::of(0.3)}}};
}
Cases cases_of(Of<PermuteAndFlipEvent> /*kind*/, Adjacency /*adjacency*/) {
  const auto law = [](const std::array<int, 3>& scores) {
    const int best = *std::max_element(scores.begin(), scores.end());
    std::array<std::size_t, 3> order = {0, 1, 2};
    Law result(3, 0.0);
    do {
      double left = 1;
      for (const std::size_t i : order) {
        const double p = std::exp(-0.7 * (best - scores[i]) / 2);
        result[i] += left * p / 6;
        left *= 1 - p;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return result;
  };
  return {{PermuteAndFlipEvent{Epsilon::of(0.7)}, truth_of(all_scores(law)), PermuteAndFlipEvent{Epsilon::of(0.4)}}};
}

// --- Cases: bounds that come from elsewhere --------------------------------------------------------------------------

// A randomized response that reveals everything with the probability δ.
Laws worst_of(double epsilon, double delta) {
  const Law response = response_law(epsilon, 2, 0);
  return {{{(1 - delta) * response[0], (1 - delta) * response[1], delta, 0},
           {(1 - delta) * response[1], (1 - delta) * response[0], 0, delta}}};
}
DpEvent bound(double epsilon, double delta) {
  return EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::make(delta).value()};
}
Cases cases_of(Of<EpsilonDeltaEvent> /*kind*/, Adjacency /*adjacency*/) {
  return {{bound(0.7, 1e-4), truth_of(worst_of(0.7, 1e-4)), bound(0.6, 1e-4)}};
}
Cases cases_of(Of<ZcdpEvent> /*kind*/, Adjacency /*adjacency*/) {
  return {{ZcdpEvent{Rho::of(0.5), Delta::of(0)}, gaussian_truth(1), ZcdpEvent{Rho::of(0.2), Delta::of(0)}}};
}
Cases cases_of(Of<ZeroCostEvent> /*kind*/, Adjacency /*adjacency*/) {
  return {{ZeroCostEvent{}, truth_of({{{1}, {1}}}), ZeroCostEvent{}, truth_of(worst_of(0.1, 0))}};
}
Cases cases_of(Of<NonPrivateEvent> /*kind*/, Adjacency /*adjacency*/) {
  return {{NonPrivateEvent{"all is shown"}, truth_of({{{1, 0}, {0, 1}}}), bound(50, 1e-4)}};
}

// --- Cases: streams --------------------------------------------------------------------------------------------------

// Which steps of all trees a unit contributes to: all sets of at most `participations` trees, one step of each.
std::vector<std::vector<std::uint64_t>> places_in_trees(const std::vector<std::uint64_t>& trees, std::uint64_t most) {
  std::vector<std::vector<std::uint64_t>> all = {{}};
  for (const std::uint64_t steps : trees) {
    std::vector<std::vector<std::uint64_t>> longer;
    for (const auto& some : all) {
      const auto used =
          static_cast<std::uint64_t>(std::count_if(some.begin(), some.end(), [](auto s) { return s > 0; }));
      for (std::uint64_t step = 0; step <= (used < most ? steps : 0); ++step) {
        longer.push_back(some);
        longer.back().push_back(step);  // 0: not in this tree
      }
    }
    all = std::move(longer);
  }
  return all;
}
double changed_nodes(const std::vector<std::uint64_t>& trees, const std::vector<std::uint64_t>& a,
                     const std::vector<std::uint64_t>& b) {
  double changed = 0;
  for (std::size_t tree = 0; tree < trees.size(); ++tree) {
    for (std::uint64_t width = 1; width <= trees[tree]; width *= 2) {
      for (std::uint64_t end = width; end <= trees[tree]; end += width) {
        const auto holds = [&](std::uint64_t s) { return s > end - width && s <= end; };
        changed += holds(a[tree]) != holds(b[tree]) ? 1 : 0;
      }
    }
  }
  return changed;
}
double most_changed_nodes(const std::vector<std::uint64_t>& trees, std::uint64_t participations, Adjacency adjacency) {
  const auto places = places_in_trees(trees, participations);
  const std::vector<std::uint64_t> nowhere(trees.size(), 0);
  double most = 0;
  for (const auto& a : places) {
    if (adjacency == kAddRemove) most = std::max(most, changed_nodes(trees, a, nowhere));
    for (const auto& b : places) {
      if (adjacency == kReplaceOne) most = std::max(most, changed_nodes(trees, a, b));
    }
  }
  return most;
}
Cases cases_of(Of<TreeAggregationEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  for (const std::uint64_t steps : {1U, 3U, 6U, 15U, 40U}) {
    const auto event = [&](double z) {
      return TreeAggregationEvent{NoiseMultiplier::make(z).value(), Steps::make(steps).value()};
    };
    cases.push_back({event(3), gaussian_truth(std::sqrt(most_changed_nodes({steps}, 1, adjacency)) / 3), event(3.2)});
  }
  return cases;
}
Cases cases_of(Of<TreeRestartsEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  for (const std::vector<std::uint64_t>& trees :
       std::vector<std::vector<std::uint64_t>>{{1}, {3, 2}, {1, 1, 1}, {4, 3, 1}, {7, 2, 5}}) {
    for (const std::uint64_t participations : {1U, 2U, 9U}) {
      const auto event = [&](double z) {
        std::vector<Steps> steps;
        for (const std::uint64_t one : trees) steps.push_back(Steps::make(one).value());
        return TreeRestartsEvent{NoiseMultiplier::make(z).value(), steps, Steps::make(participations).value()};
      };
      const double nodes = most_changed_nodes(trees, participations, adjacency);
      cases.push_back({event(3), gaussian_truth(std::sqrt(nodes) / 3), event(3.2)});
    }
  }
  return cases;
}

// C u for each way in which a unit may contribute −1, 0 or 1 to steps.
std::vector<std::vector<double>> contributions(const std::vector<double>& c, int steps, int separation, int most) {
  std::vector<std::vector<double>> all;
  std::vector<int> u(static_cast<std::size_t>(steps), 0);
  const std::function<void(int, int, int)> extend = [&](int step, int next, int left) {
    if (step == steps) {
      std::vector<double> moved(u.size(), 0.0);
      for (std::size_t i = 0; i < u.size(); ++i) {
        for (std::size_t k = 0; k < c.size() && i + k < u.size(); ++k) moved[i + k] += c[k] * u[i];
      }
      all.push_back(std::move(moved));
      return;
    }
    extend(step + 1, next, left);
    if (step < next || left == 0) return;
    for (const int sign : {-1, 1}) {
      u[static_cast<std::size_t>(step)] = sign;
      extend(step + 1, step + separation, left - 1);
    }
    u[static_cast<std::size_t>(step)] = 0;
  };
  extend(0, 0, most);
  return all;
}
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}
Cases cases_of(Of<MatrixFactorizationEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  const auto add_case = [&](const std::vector<double>& c, int steps, int separation, int most, double mutant) {
    const auto all = contributions(c, steps, separation, most);
    double largest = 0;
    for (const auto& a : all) {
      if (adjacency == kAddRemove) largest = std::max(largest, distance(a, all.front()));
      for (const auto& b : all) {
        if (adjacency == kReplaceOne) largest = std::max(largest, distance(a, b));
      }
    }
    const auto event = [&](double z) {
      const auto count = [](int n) { return Steps::make(static_cast<std::uint64_t>(n)).value(); };
      return MatrixFactorizationEvent{NoiseMultiplier::make(z).value(), c, count(steps), count(separation),
                                      count(most)};
    };
    cases.push_back({event(4), gaussian_truth(largest / 4), event(4 * mutant)});
  };
  // No overlap, falling coefficients, all steps; then coefficients for which the bound is not the largest norm.
  add_case({1, 0.5}, 6, 2, 3, 1.05);
  add_case({1, 0.5}, 6, 2, 2, 1.05);
  add_case({1, 0.5, 0.375}, 5, 4, 9, 1.05);
  add_case({1, 0.5, 0.375, 0.3125, 0.27, 0.24, 0.22}, 7, 2, 3, 1.05);
  add_case({1, 1, 1, 1, 1, 1}, 6, 1, 6, 1.05);
  add_case({1, 0.9, 0.8, 0.1, 0.1}, 6, 1, 4, 1.05);
  add_case({1, -0.5, 0.25}, 6, 3, 2, 1.05);
  add_case({1, -0.5, 0.25}, 6, 1, 3, 2);
  add_case({0.1, 0.5, 1}, 6, 2, 2, 2);
  add_case({1, 0, 0, 1}, 6, 1, 2, 2);
  return cases;
}

// A unit of each group; the coins of its turns; what it contributes at each of them.
Laws sampled_streams(const std::vector<double>& c, int steps, int groups, double q, double z, Adjacency adjacency) {
  const std::size_t n = static_cast<std::size_t>(steps);
  const std::vector<double> nothing(n, 0.0);
  Laws laws;
  for (int group = 0; group < groups; ++group) {
    std::vector<std::size_t> turns;
    for (auto step = static_cast<std::size_t>(group); step < n; step += static_cast<std::size_t>(groups)) {
      turns.push_back(step);
    }
    std::vector<Law> with;
    for (unsigned signs = 0; signs < 1U << turns.size(); ++signs) {
      Law law;
      for (unsigned coins = 0; coins < 1U << turns.size(); ++coins) {
        std::vector<double> centre = nothing;
        double share = 1;
        for (std::size_t i = 0; i < turns.size(); ++i) {
          const bool in = (coins >> i & 1U) != 0;
          share *= in ? q : 1 - q;
          for (std::size_t k = 0; in && k < c.size() && turns[i] + k < n; ++k) {
            centre[turns[i] + k] += (signs >> i & 1U) != 0 ? -c[k] : c[k];
          }
        }
        add(law, normal_cells(centre, z), share);
      }
      with.push_back(std::move(law));
    }
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (adjacency == kAddRemove) laws.emplace_back(with[i], normal_cells(nothing, z));
      for (std::size_t j = 0; j < i && adjacency == kReplaceOne; ++j) laws.emplace_back(with[i], with[j]);
    }
  }
  return laws;
}
Cases cases_of(Of<SampledFactorizationEvent> /*kind*/, Adjacency adjacency) {
  const auto event = [](double z, std::vector<double> c, std::uint64_t steps, std::uint64_t groups, double q) {
    return SampledFactorizationEvent{NoiseMultiplier::make(z).value(), std::move(c), Steps::make(steps).value(),
                                     Steps::make(groups).value(), SamplingRate::make(q).value()};
  };
  const std::vector<double> c = {1, 0.7};
  // Cells of three dimensions are coarse: they lose a part of the privacy loss.
  return {
      {event(1, c, 2, 2, 0.4), truth_of(sampled_streams(c, 2, 2, 0.4, 1, adjacency)), event(1.1, c, 2, 2, 0.4)},
      {event(1, {1}, 2, 1, 0.4), truth_of(sampled_streams({1}, 2, 1, 0.4, 1, adjacency)), event(1.1, {1}, 2, 1, 0.4)},
      {event(1, c, 3, 2, 0.4),
       truth_of(sampled_streams(c, 3, 2, 0.4, 1, adjacency)),
       event(1.2, c, 3, 2, 0.4),
       {},
       1e-3,
       false}};
}

// All directions of each contribution.
Laws mixtures(const std::vector<double>& s, const std::vector<double>& p, double z, Adjacency adjacency) {
  std::vector<Law> with;
  for (unsigned signs = 0; signs < 1U << s.size(); ++signs) {
    Law law;
    for (std::size_t i = 0; i < s.size(); ++i) {
      add(law, normal_cells((signs >> i & 1U) != 0 ? -s[i] : s[i], z, 0.02), p[i]);
    }
    with.push_back(std::move(law));
  }
  Laws laws;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (adjacency == kAddRemove) laws.emplace_back(with[i], normal_cells(0, z, 0.02));
    for (std::size_t j = 0; j < i && adjacency == kReplaceOne; ++j) laws.emplace_back(with[i], with[j]);
  }
  return laws;
}
Cases cases_of(Of<GaussianMixtureEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  const auto add_case = [&](const std::vector<double>& s, const std::vector<double>& p) {
    const auto event = [&](double z) { return GaussianMixtureEvent{NoiseMultiplier::make(z).value(), s, p}; };
    cases.push_back({event(1), truth_of(mixtures(s, p, 1, adjacency)), event(1.1)});
  };
  add_case({0, 1, 2}, {0.81, 0.18, 0.01});
  add_case({0.5, 1}, {0.75, 0.25});
  add_case({0, 0.25, 1.5}, {0.125, 0.375, 0.5});
  add_case({1}, {1});
  return cases;
}

Cases cases_of(Of<BallsInBinsEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  const auto add_case = [&](std::uint64_t bins, std::uint64_t epochs, double mutant) {
    const auto event = [&](double z) {
      return BallsInBinsEvent{NoiseMultiplier::make(z).value(), Steps::make(bins).value(), Steps::make(epochs).value()};
    };
    // Sums of one bin in all epochs are as good as their mean. The unit contributes 1 or −1 to each.
    const double far = std::sqrt(static_cast<double>(epochs));
    const auto in_bins = [&](double sign) {
      Law law;
      for (std::size_t bin = 0; bin < bins; ++bin) {
        std::vector<double> centre(bins, 0.0);
        centre[bin] = sign * far;
        add(law, normal_cells(centre, 1), 1 / static_cast<double>(bins));
      }
      return law;
    };
    const Law without = normal_cells(std::vector<double>(bins, 0.0), 1);
    const Laws laws = adjacency == kAddRemove ? Laws{{in_bins(1), without}} : Laws{{in_bins(1), in_bins(-1)}};
    // Cells of three coordinates are too wide to reach what the law says.
    cases.push_back({event(1), truth_of(laws), event(mutant), {}, 1e-3, bins < 3});
  };
  add_case(1, 1, 1.1);
  add_case(2, 1, 1.5);
  add_case(2, 2, 1.5);
  add_case(3, 1, 2.5);
  return cases;
}

// --- Cases: combinations ---------------------------------------------------------------------------------------------

DpEvent lattice(double scale, double l1) {
  return DiscreteLaplaceEvent{NoiseScale::make(scale).value(), L1Sensitivity::make(l1).value()};
}
Law noise_of_one_and_a_half(int at) { return discrete_laplace(at, 1.5); }

Cases cases_of(Of<PoissonSampledEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  const Records values = {-1, 0, 1};
  for (const double q : {0.1, 0.5, 1.0}) {
    const auto event = [&](double rate, DpEvent inner) {
      return PoissonSampledEvent{SamplingRate::make(rate).value(), std::move(inner)};
    };
    const Laws gaussian = all_neighbours(adjacency, values, 2, poisson_sample(q, normal_at));
    cases.push_back(
        {event(q, GaussianEvent{kOne}), truth_of(gaussian), event(q, GaussianEvent{NoiseMultiplier::of(1.2)})});
    const Laws laplace = all_neighbours(adjacency, values, 2, poisson_sample(q, noise_of_one_and_a_half));
    // Replacing a record is accounted for as removing and adding.
    cases.push_back({event(q, lattice(1.5, 1)), truth_of(laplace), event(q, lattice(6, 1)), {}, 1e-3});
  }
  return cases;
}
Cases cases_of(Of<FixedSizeSampledEvent> /*kind*/, Adjacency adjacency) {
  if (adjacency == kAddRemove) return {};
  Cases cases;
  for (const std::uint64_t taken : {1U, 2U, 3U}) {
    const auto law = [&](const Records& records) {
      Law sum;
      for (unsigned set = 0; set < 8; ++set) {
        if (static_cast<std::uint64_t>(std::popcount(set)) != taken) continue;
        int total = 0;
        for (std::size_t i = 0; i < 3; ++i) total += (set >> i & 1U) != 0 ? records[i] : 0;
        add(sum, noise_of_one_and_a_half(total), taken == 3 ? 1 : 1.0 / 3);
      }
      return sum;
    };
    Laws laws;
    for (const int a : {0, 1}) {
      for (const int b : {0, 1}) laws.emplace_back(law({a, b, 0}), law({a, b, 1}));
    }
    const auto event = [&](double scale) {
      return FixedSizeSampledEvent{Rows::make(taken).value(), Rows::of(3), lattice(scale, 1)};
    };
    cases.push_back({event(1.5), truth_of(laws), event(3)});
  }
  return cases;
}
Cases cases_of(Of<TruncatedPoissonSampledEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  const Records values = {-1, 0, 1};
  for (const double q : {0.1, 0.5, 1.0}) {
    for (const std::size_t most : {1U, 2U, 3U}) {
      const auto event = [&](DpEvent inner) {
        return TruncatedPoissonSampledEvent{SamplingRate::make(q).value(), Rows::make(most).value(), Rows::of(3),
                                            std::move(inner)};
      };
      const Laws gaussian = all_neighbours(adjacency, values, 3, truncated_sample(q, most, normal_at));
      // Batches that are cut down cost more than Poisson samples: the mutant does not know it.
      const bool often = q > 0.2 && most == 1 && adjacency == kAddRemove;
      const DpEvent plain = PoissonSampledEvent{SamplingRate::make(q).value(), GaussianEvent{kOne}};
      cases.push_back({event(GaussianEvent{kOne}), truth_of(gaussian),
                       often ? plain : event(GaussianEvent{NoiseMultiplier::of(4)})});
      const Laws laplace = all_neighbours(adjacency, values, 3, truncated_sample(q, most, noise_of_one_and_a_half));
      if (q < 1 && adjacency == kAddRemove) {
        cases.push_back({event(lattice(1.5, 1)), truth_of(laplace), event(lattice(9, 1))});
      }
    }
  }
  return cases;
}
Cases cases_of(Of<SampledWithReplacementEvent> /*kind*/, Adjacency adjacency) {
  if (adjacency == kAddRemove) return {};
  Cases cases;
  for (const std::uint64_t population : {1U, 2U, 3U}) {
    for (const int draws : {1, 2, 4}) {
      const auto event = [&](DpEvent inner) {
        return SampledWithReplacementEvent{Rows::make(static_cast<std::uint64_t>(draws)).value(),
                                           Rows::make(population).value(), std::move(inner)};
      };
      const auto only_full = [&](const LawOf& law) {
        Laws laws;
        for (int ones = 0; ones < static_cast<int>(population); ++ones) {
          Records one(population, 0);
          for (int i = 0; i < ones; ++i) one[static_cast<std::size_t>(i)] = 1;
          Records other = one;
          other[static_cast<std::size_t>(ones)] = 1;
          laws.emplace_back(law(one), law(other));
        }
        return laws;
      };
      const Laws gaussian = only_full(sample_with_replacement(draws, [](int sum) { return normal_at(sum); }));
      cases.push_back({event(GaussianEvent{kOne}), truth_of(gaussian), event(GaussianEvent{NoiseMultiplier::of(1.9)})});
      const Laws laplace = only_full(sample_with_replacement(draws, noise_of_one_and_a_half));
      cases.push_back({event(lattice(1.5, 1)), truth_of(laplace), event(lattice(4, 1))});
    }
  }
  return cases;
}
Cases cases_of(Of<ShuffledEvent> /*kind*/, Adjacency adjacency) {
  Cases cases;
  const double truth = std::exp(1.0) / (1 + std::exp(1.0));
  for (const std::uint64_t reports : {2U, 3U}) {
    const auto law = [&](std::uint64_t ones) {
      Law sum = {1};
      for (std::uint64_t i = 0; i < reports; ++i) {
        const double p = i < ones ? truth : 1 - truth;
        Law next(sum.size() + 1, 0.0);
        for (std::size_t k = 0; k < sum.size(); ++k) {
          next[k] += sum[k] * (1 - p);
          next[k + 1] += sum[k] * p;
        }
        sum = next;
      }
      return sum;
    };
    Laws laws;
    for (std::uint64_t ones = 0; ones < reports; ++ones) laws.emplace_back(law(ones), law(ones + 1));
    const auto event = [&](double epsilon) {
      return ShuffledEvent{Rows::make(reports).value(),
                           RandomizedResponseEvent{Epsilon::make(epsilon).value(), kTwoCategories}};
    };
    cases.push_back({event(1), truth_of(laws), event(0.3), {}, 1e-2, adjacency == kReplaceOne});
  }
  return cases;
}
Law two_responses(double epsilon, std::size_t truth) {
  return product(response_law(epsilon, 2, truth), response_law(epsilon, 2, truth));
}
Cases cases_of(Of<SelfComposedEvent> /*kind*/, Adjacency /*adjacency*/) {
  const auto event = [](std::uint64_t count) {
    return SelfComposedEvent{Steps::make(count).value(), RandomizedResponseEvent{Epsilon::of(0.7), kTwoCategories}};
  };
  return {{event(2), truth_of({{two_responses(0.7, 0), two_responses(0.7, 1)}}), event(1)}};
}
Cases cases_of(Of<ComposedEvent> /*kind*/, Adjacency /*adjacency*/) {
  const DpEvent response = RandomizedResponseEvent{Epsilon::of(0.7), kTwoCategories};
  const DpEvent noise = lattice(1.5, 1);
  const Law one = product(response_law(0.7, 2, 0), discrete_laplace(0, 1.5));
  const Law other = product(response_law(0.7, 2, 1), discrete_laplace(1, 1.5));
  return {{ComposedEvent{{response, noise}}, truth_of({{one, other}}), ComposedEvent{{response}}},
          {ComposedEvent{{}}, truth_of({{{1}, {1}}}), ComposedEvent{{}}, truth_of(worst_of(0.1, 0))}};
}
// Each run reports 1 with the probability p, and 1 is best.
Cases cases_of(Of<RepeatAndSelectEvent> /*kind*/, Adjacency /*adjacency*/) {
  const double truth = std::exp(0.5) / (1 + std::exp(0.5));
  const auto law = [](double p) {
    const double none = 0.2 * (1 - p) / (1 - 0.8 * (1 - p));
    return Law{none, 1 - none};
  };
  const DpEvent response = RandomizedResponseEvent{Epsilon::of(0.5), kTwoCategories};
  return {{RepeatAndSelectEvent{RunShape::of(1), RunGamma::of(0.2), response},
           truth_of({{law(truth), law(1 - truth)}}),
           RepeatAndSelectEvent{RunShape::of(1), RunGamma::of(0.2),
                                RandomizedResponseEvent{Epsilon::of(0.1), kTwoCategories}},
           {},
           1e-2}};
}
Cases cases_of(Of<PoissonRepeatAndSelectEvent> /*kind*/, Adjacency /*adjacency*/) {
  const double truth = std::exp(0.5) / (1 + std::exp(0.5));
  const auto law = [](double p) {
    return Law{std::exp(-4.0), std::exp(-4 * p) - std::exp(-4.0), 1 - std::exp(-4 * p)};
  };
  const DpEvent response = RandomizedResponseEvent{Epsilon::of(0.5), kTwoCategories};
  return {{PoissonRepeatAndSelectEvent{MeanRuns::of(4), response},
           truth_of({{law(truth), law(1 - truth)}}),
           PoissonRepeatAndSelectEvent{MeanRuns::of(4), RandomizedResponseEvent{Epsilon::of(0.05), kTwoCategories}},
           {},
           1e-2}};
}

Cases cases_of(Of<GroupEvent> /*kind*/, Adjacency adjacency) {
  const auto group = [](std::uint64_t size, DpEvent event) {
    return GroupEvent{Rows::make(size).value(), std::move(event)};
  };
  const DpEvent response = RandomizedResponseEvent{Epsilon::of(0.7), kTwoCategories};
  const auto at = [](int centre) { return discrete_laplace(centre, 1.5); };
  Cases cases = {
      {group(3, GaussianEvent{NoiseMultiplier::of(3)}), gaussian_truth(1),
       group(2, GaussianEvent{NoiseMultiplier::of(3)})},
      {group(2, LaplaceEvent{NoiseMultiplier::of(3)}), truth_of({{laplace_cells(0, 1.5), laplace_cells(1, 1.5)}}),
       LaplaceEvent{NoiseMultiplier::of(3)}},
      {group(2, lattice(1.5, 1.9)), truth_of({{at(0), at(2)}}), lattice(1.5, 1)},
      {group(2, response), truth_of({{two_responses(0.7, 0), two_responses(0.7, 1)}}), response},
      {group(2, group(2, bound(0.2, 0))), truth_of({{discrete_laplace(0, 5), discrete_laplace(4, 5)}}), bound(0.2, 0)},
      {group(2, ZcdpEvent{Rho::of(0.125), Delta::of(0)}), gaussian_truth(1), ZcdpEvent{Rho::of(0.125), Delta::of(0)}}};
  // A count with discrete Laplace noise that shows everything with the probability δ at each of two steps.
  const double shown = 1e-4;
  Law zero = discrete_laplace(0, 5);
  Law two = discrete_laplace(2, 5);
  for (double& p : zero) p *= 1 - shown;
  for (double& p : two) p *= 1 - shown;
  zero.insert(zero.end(), {shown, 0});
  two.insert(two.end(), {0, shown});
  cases.push_back({group(2, bound(0.2, shown)), truth_of({{zero, two}}), bound(0.2, shown)});
  // Two rows that are sampled by two coins and pull in one direction, or in others.
  const auto person = [](double q, const Records& rows) { return poisson_sample(q, normal_at)(rows); };
  for (const double q : {0.1, 0.5, 1.0}) {
    Laws laws;
    for (const int a : {-1, 1}) {
      for (const int b : {-1, 0, 1}) {
        if (adjacency == kAddRemove) {
          laws.emplace_back(person(q, {a, b}), person(q, {}));
        } else {
          for (const int c : {-1, 1}) laws.emplace_back(person(q, {a, b}), person(q, {-a, c}));
        }
      }
    }
    const DpEvent sample = PoissonSampledEvent{SamplingRate::make(q).value(), GaussianEvent{kOne}};
    cases.push_back({group(2, sample), truth_of(laws), sample});
  }
  return cases;
}

// --- The sweep -------------------------------------------------------------------------------------------------------

// All accountants that take the event give an ε at which neighbours keep δ. (An estimate is no bound.)
void expect_kept(const Case& one, Adjacency adjacency) {
  const Delta delta = Delta::make(one.delta).value();
  int answers = 0;
  for (const Accountant accountant : all_accountants()) {
    const Result<AccountantAnswer> found = epsilon_by(accountant, one.event, adjacency, delta);
    if (!found.has_value() || found.value().is_estimate) continue;
    ++answers;
    if (std::isinf(found.value().epsilon)) continue;  // says nothing
    EXPECT_LE(one.truth(found.value().epsilon), one.delta * (1 + 1e-9) + kRounding)
        << name_of(accountant) << ' ' << found.value().epsilon;
  }
  EXPECT_GE(answers, 1);
  const Result<Interval> interval = pld_epsilon(one.event, adjacency, delta);
  ASSERT_TRUE(interval.has_value()) << interval.error().message;
  EXPECT_LE(interval.value().lower, interval.value().upper);
  // Cells lose a part of the loss: two percent are allowed for it.
  const double lower = interval.value().lower * 0.98 - 1e-3;
  if (one.is_reached && std::isfinite(lower) && lower > 0) {
    EXPECT_GT(one.truth(lower), one.delta) << interval.value().lower;
  }
  const Result<Interval> chance = pld_delta(one.event, adjacency, PrivacyLoss::of(0.4));
  ASSERT_TRUE(chance.has_value()) << chance.error().message;
  EXPECT_LE(one.truth(0.4), chance.value().upper * (1 + 1e-9) + kRounding);
  EXPECT_LE(chance.value().lower, chance.value().upper);
}

void expect_found(const Case& one, Adjacency adjacency) {
  const Result<Interval> claimed = pld_epsilon(one.mutant, adjacency, Delta::make(one.delta).value());
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  const Truth& truth = one.mutant_truth ? one.mutant_truth : one.truth;
  EXPECT_GT(truth(claimed.value().upper), one.delta * 1.001) << "the mutant claims " << claimed.value().upper;
}

template <class Kind>
void sweep(std::set<std::string>& names) {
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    const Cases cases = cases_of(Of<Kind>{}, adjacency);
    std::size_t number = 0;
    for (const Case& one : cases) {
      ASSERT_TRUE(std::holds_alternative<Kind>(one.event.kind())) << "a case of another kind";
      names.insert(std::string(kind_name(one.event)));
      SCOPED_TRACE(std::string(kind_name(one.event)) + ", " + std::string(name_of(adjacency)) + ", case " +
                   std::to_string(number++));
      expect_kept(one, adjacency);
      expect_found(one, adjacency);
    }
    // What has no cases is refused.
    if (!cases.empty()) continue;
    const Cases others = cases_of(Of<Kind>{}, adjacency == kAddRemove ? kReplaceOne : kAddRemove);
    ASSERT_FALSE(others.empty());
    for (const Case& one : others) {
      if (one.event == others.back().event) {
        EXPECT_FALSE(pld_epsilon(one.event, adjacency, Delta::of(1e-3)).has_value()) << kind_name(one.event);
      }
    }
  }
}

template <std::size_t... kinds>
void sweep_all(std::index_sequence<kinds...> /*all*/, std::set<std::string>& names) {
  (sweep<std::variant_alternative_t<kinds, DpEventVariant>>(names), ...);
}

TEST(EventSweep, NoNeighboursExceedWhatIsStatedForAnyKind) {
  std::set<std::string> names;
  sweep_all(std::make_index_sequence<std::variant_size_v<DpEventVariant>>(), names);
  EXPECT_EQ(names.size(), std::variant_size_v<DpEventVariant>);
}

}  // namespace
}  // namespace noisefloor
