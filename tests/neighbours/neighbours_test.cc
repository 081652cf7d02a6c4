// Every mechanism and every kind of event, under both neighbouring relations and for rows and persons: no pair of
// neighbours in a small universe exceeds the ε and δ that are stated. Universes are exhausted, laws are exact up to
// rounding, and each case has a mutant (a charge that is too small) which the same check must find.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/accounting/comparison.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/event/tree_nodes.h"
#include "noisefloor/mechanisms/bounded_sum.h"
#include "noisefloor/mechanisms/counted_quantile.h"
#include "noisefloor/mechanisms/histogram.h"
#include "noisefloor/mechanisms/laplace.h"
#include "noisefloor/mechanisms/partition_selection.h"
#include "noisefloor/mechanisms/quantile.h"
#include "noisefloor/mechanisms/randomized_response.h"
#include "noisefloor/mechanisms/selection.h"
#include "noisefloor/mechanisms/tree_count.h"

namespace noisefloor {
namespace {

constexpr auto kAddRemove = Adjacency::kAddRemove;
constexpr auto kReplaceOne = Adjacency::kReplaceOne;

// --- Universes -------------------------------------------------------------------------------------------------------

using Person = std::vector<int>;  // codes of rows
using Data = std::vector<Person>;

// All persons of 1 to `rows` rows with these codes. Persons of several rows may also have none.
std::vector<Person> all_persons(int codes, std::size_t rows) {
  std::vector<Person> all;
  std::function<void(Person, int)> extend = [&](const Person& person, int least) {
    if (!person.empty() || rows > 1) all.push_back(person);
    if (person.size() == rows) return;
    for (int code = least; code < codes; ++code) {
      Person longer = person;
      longer.push_back(code);
      extend(longer, code);
    }
  };
  extend({}, 0);
  return all;
}

struct Pair {
  Data one;
  Data other;
};

// All pairs of neighbours with up to `others` persons beside the one who differs, who may be exchanged for anybody.
std::vector<Pair> all_pairs(const Neighbours& neighbours, int codes, std::size_t others) {
  const std::vector<Person> persons = all_persons(codes, neighbours.rows_per_unit.value());
  std::vector<Data> rest = {{}};
  for (std::size_t size = 0, from = 0; size < others; ++size) {
    const std::size_t to = rest.size();
    for (; from < to; ++from) {
      for (const Person& person : persons) {
        Data more = rest[from];
        more.push_back(person);
        rest.push_back(std::move(more));
      }
    }
  }
  std::vector<Pair> pairs;
  for (const Data& data : rest) {
    for (const Person& person : persons) {
      Data with = data;
      with.push_back(person);
      if (neighbours.adjacency == kAddRemove) {
        pairs.push_back({with, data});
        continue;
      }
      for (const Person& another : persons) {
        Data exchanged = data;
        exchanged.push_back(another);
        pairs.push_back({with, exchanged});
      }
    }
  }
  return pairs;
}

std::vector<int> rows_of(const Data& data) {
  std::vector<int> rows;
  for (const Person& person : data) rows.insert(rows.end(), person.begin(), person.end());
  return rows;
}

std::vector<double> counts_of(const Data& data, int codes) {
  std::vector<double> counts(static_cast<std::size_t>(codes), 0.0);
  for (int row : rows_of(data)) ++counts[static_cast<std::size_t>(row)];
  return counts;
}

Neighbours rows_under(Adjacency adjacency) { return {adjacency, PrivacyUnit::kRow, Rows::of(1)}; }
Neighbours persons_under(Adjacency adjacency, std::uint64_t rows) {
  return {adjacency, PrivacyUnit::kPerson, Rows::make(rows).value()};
}
std::vector<Neighbours> all_neighbours() {
  return {rows_under(kAddRemove), rows_under(kReplaceOne), persons_under(kAddRemove, 2), persons_under(kReplaceOne, 2)};
}
std::string text_of(const Neighbours& n) {
  return std::string(n.adjacency == kReplaceOne ? "replace-one" : "add-remove") + ", " +
         std::to_string(n.rows_per_unit.value()) + " rows";
}

// --- Mechanisms that add noise ---------------------------------------------------------------------------------------

// How far the answers of neighbours are apart, at most, in steps of the grid.
struct Distance {
  double l1 = 0;
  double l2 = 0;
};

using Output = std::function<std::vector<double>(const Data&, ReplayRandom&)>;

// The draws of noise do not depend on the data: with the same seed outputs differ by what the answers differ.
Distance largest_distance(const Neighbours& neighbours, int codes, std::size_t others, double step,
                          const Output& output) {
  Distance largest;
  std::map<Data, std::vector<double>> known;
  const auto output_of = [&](const Data& data) -> const std::vector<double>& {
    const auto [place, fresh] = known.try_emplace(data);
    if (fresh) {
      ReplayRandom source = ReplayRandom::create(1).value();
      place->second = output(data, source);
    }
    return place->second;
  };
  for (const Pair& pair : all_pairs(neighbours, codes, others)) {
    const std::vector<double>& one = output_of(pair.one);
    const std::vector<double>& other = output_of(pair.other);
    EXPECT_EQ(one.size(), other.size());
    double l1 = 0;
    double squares = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      const double change = std::fabs(one[i] - other[i]) / step;
      l1 += change;
      squares += change * change;
    }
    largest.l1 = std::max(largest.l1, l1);
    largest.l2 = std::max(largest.l2, std::sqrt(squares));
  }
  return largest;
}

double normal_tail(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }
// δ(ε) of Gaussians whose centres are μ standard deviations apart.
double gaussian_delta(double mu, double epsilon) {
  if (mu == 0) return 0;
  const double rest = normal_tail(epsilon / mu + mu / 2);
  return normal_tail(epsilon / mu - mu / 2) - (rest > 0 ? std::exp(epsilon + std::log(rest)) : 0);
}

// Neighbours at this distance keep (ε, δ), by the noise that the event states; and the event's ε is not below theirs.
bool keeps(const DpStatement& statement, const Distance& distance, double epsilon, double delta) {
  if (const auto* laplace = std::get_if<DiscreteLaplaceEvent>(&statement.event.kind())) {
    const double truth = distance.l1 / laplace->scale.value();
    const double stated = pld_epsilon(statement.event, statement.adjacency, Delta::of(0)).value().upper;
    return truth <= epsilon * (1 + 1e-12) && truth <= stated * (1 + 1e-12) &&
           distance.l1 <= laplace->l1_sensitivity.value();
  }
  const auto& gaussian = std::get<DiscreteGaussianEvent>(statement.event.kind());
  const double mu = distance.l2 / gaussian.sigma.value();
  const double stated = pld_epsilon(statement.event, statement.adjacency, Delta::make(delta).value()).value().upper;
  return gaussian_delta(mu, epsilon) <= delta * (1 + 1e-6) && gaussian_delta(mu, stated) <= delta * (1 + 1e-6) &&
         distance.l2 <= gaussian.l2_sensitivity.value();
}

// The noise that a mechanism would add which takes the sensitivity for this much less.
DpStatement with_less_noise(DpStatement statement, double share) {
  if (const auto* laplace = std::get_if<DiscreteLaplaceEvent>(&statement.event.kind())) {
    DiscreteLaplaceEvent less = *laplace;
    less.scale = NoiseScale::make(less.scale.value() * share).value();
    less.l1_sensitivity = L1Sensitivity::make(less.l1_sensitivity.value() * share).value();
    statement.event = less;
  } else {
    DiscreteGaussianEvent less = std::get<DiscreteGaussianEvent>(statement.event.kind());
    less.sigma = NoiseScale::make(less.sigma.value() * share).value();
    less.l2_sensitivity = L2Sensitivity::make(less.l2_sensitivity.value() * share).value();
    statement.event = less;
  }
  return statement;
}

constexpr double kEpsilon = 0.7;
Epsilon some_epsilon() { return Epsilon::make(kEpsilon).value(); }
Delta delta_of(double delta) { return Delta::make(delta).value(); }

// `reached` is the part of the stated sensitivity that some neighbours reach.
void expect_kept(const DpStatement& statement, const Distance& distance, double delta, double reached = 0.999) {
  EXPECT_TRUE(keeps(statement, distance, kEpsilon, delta)) << distance.l1 << ' ' << distance.l2;
  EXPECT_FALSE(keeps(with_less_noise(statement, 0.99 * reached), distance, kEpsilon, delta));
}

TEST(Neighbours, OfRunningTotals) {
  for (const Neighbours& neighbours : all_neighbours()) {
    for (const int steps : {1, 2, 3, 4, 5, 7, 8, 11, 15}) {
      // Two rows at 15 steps are many persons: the others do not matter, as sums are linear.
      for (const double delta : {0.0, 1e-6}) {
        SCOPED_TRACE(text_of(neighbours) + ", " + std::to_string(steps) + " steps, delta " + std::to_string(delta));
        const Sensitivity sensitivity = count_sensitivity(neighbours).value();
        const auto make = [&] {
          return TreeCounter::create(sensitivity, Steps::make(static_cast<std::uint64_t>(steps)).value(),
                                     some_epsilon(), delta_of(delta))
              .value();
        };
        const Output nodes = [&](const Data& data, ReplayRandom& source) {
          TreeCounter tree = make();
          std::vector<double> totals = {0};
          for (double count : counts_of(data, steps)) {
            totals.push_back(tree.next(static_cast<std::int64_t>(count), source).value().value());
          }
          // What is released at step t less what was before the node that ends there: the noised node.
          std::vector<double> result;
          for (std::size_t t = 1; t < totals.size(); ++t) result.push_back(totals[t] - totals[t - (t & (~t + 1))]);
          return result;
        };
        const DpStatement statement = make().statement();
        double step = 1;
        if (const auto* gaussian = std::get_if<DiscreteGaussianEvent>(&statement.event.kind())) {
          const double worst = make().worst_standard_deviation() / std::sqrt(std::bit_width(unsigned(steps)));
          step = worst / gaussian->sigma.value();
        }
        const Distance distance = largest_distance(neighbours, steps, 0, step, nodes);
        EXPECT_TRUE(keeps(statement, distance, kEpsilon, delta)) << distance.l1 << ' ' << distance.l2;
        const bool whole = std::has_single_bit(unsigned(steps));
        // All nodes of a tree count, also those that a counter never needs: there are some where steps are a power of
        // two.
        if (neighbours.adjacency == kAddRemove || !whole) expect_kept(statement, distance, delta);
        // The charge of earlier versions: the height of the tree, also where a unit moves to another step.
        if (neighbours.adjacency == kReplaceOne && !whole) {
          const double height = std::bit_width(unsigned(steps));
          const auto nodes_now = static_cast<double>(tree_nodes(Steps::make(unsigned(steps)).value(), kReplaceOne));
          const double less = delta == 0 ? height / nodes_now : std::sqrt(height / nodes_now);
          EXPECT_FALSE(keeps(with_less_noise(statement, less), distance, kEpsilon, delta));
        }
      }
    }
  }
}

TEST(Neighbours, OfSums) {
  const std::vector<std::pair<double, double>> ranges = {{-2, 3}, {5, 6}, {-7, -4}, {0, 1}};
  for (const Neighbours& neighbours : all_neighbours()) {
    for (const auto& [lower, upper] : ranges) {
      const Bounds bounds = Bounds::make(lower, upper).value();
      for (const double delta : {0.0, 1e-6}) {
        SCOPED_TRACE(text_of(neighbours) + ", from " + std::to_string(lower));
        const BoundedSum sum = BoundedSum::create(neighbours, bounds, some_epsilon(), delta_of(delta)).value();
        const Output output = [&](const Data& data, ReplayRandom& source) {
          std::vector<double> values;
          for (int row : rows_of(data)) values.push_back(lower + (upper - lower) * row / 3);
          return std::vector<double>{sum.release(values, source).value()};
        };
        const Distance distance = largest_distance(neighbours, 4, 1, sum.lattice().step(), output);
        expect_kept(sum.statement(), distance, delta);
        // Persons whose number of rows stays the same, as earlier versions had it.
        if (neighbours.adjacency == kReplaceOne && neighbours.rows_per_unit.value() > 1 && lower * upper > 0) {
          const double share = (upper - lower) / std::max(std::fabs(lower), std::fabs(upper));
          EXPECT_FALSE(keeps(with_less_noise(sum.statement(), share * 1.001), distance, kEpsilon, delta));
        }
      }
    }
  }
}

// A mean divides by the number of rows: it is refused wherever neighbours may differ in that.
TEST(Neighbours, OfMeansHaveEquallyManyRowsOrPayForTheCount) {
  const Bounds bounds = Bounds::make(5, 6).value();
  const auto replaced = BoundedMean::create(persons_under(kReplaceOne, 2), bounds, some_epsilon(), Delta::of(0));
  ASSERT_FALSE(replaced.has_value());
  EXPECT_NE(replaced.error().message.find("add-remove"), std::string::npos) << replaced.error().message;
  for (const Pair& pair : all_pairs(rows_under(kReplaceOne), 3, 1)) {
    EXPECT_EQ(rows_of(pair.one).size(), rows_of(pair.other).size());
  }
  const BoundedMean rows = BoundedMean::create(rows_under(kReplaceOne), bounds, some_epsilon(), Delta::of(0)).value();
  EXPECT_TRUE(std::holds_alternative<DiscreteLaplaceEvent>(rows.statement().event.kind()));
  for (const Neighbours& neighbours : {rows_under(kAddRemove), persons_under(kAddRemove, 2)}) {
    const BoundedMean mean = BoundedMean::create(neighbours, bounds, some_epsilon(), Delta::of(0)).value();
    const auto& parts = std::get<ComposedEvent>(mean.statement().event.kind()).events;
    ASSERT_EQ(parts.size(), 2U);
    const auto& sum = std::get<DiscreteLaplaceEvent>(parts[0].kind());
    const auto& count = std::get<DiscreteLaplaceEvent>(parts[1].kind());
    const auto rows_each = static_cast<double>(neighbours.rows_per_unit.value());
    const double total = sum.l1_sensitivity.value() / sum.scale.value() + rows_each / count.scale.value();
    EXPECT_LE(total, kEpsilon * (1 + 1e-12));
    EXPECT_GE(count.l1_sensitivity.value(), rows_each);
  }
  for (const Neighbours& neighbours : {persons_under(kReplaceOne, 2), rows_under(kAddRemove)}) {
    EXPECT_FALSE(mean_sensitivity(neighbours, bounds, Rows::of(10)).has_value());
    EXPECT_FALSE(variance_sensitivity(neighbours, bounds, Rows::of(10)).has_value());
  }
}

TEST(Neighbours, OfHistograms) {
  constexpr int bins = 4;
  for (const Neighbours& neighbours : all_neighbours()) {
    for (const std::uint64_t bins_per_row : {1U, 2U}) {
      for (const double delta : {0.0, 1e-6}) {
        SCOPED_TRACE(text_of(neighbours) + ", bins " + std::to_string(bins_per_row));
        const HistogramMechanism histogram =
            HistogramMechanism::create(neighbours, Dimension::of(bins), some_epsilon(), delta_of(delta), bins_per_row)
                .value();
        // A row with code c is in the bins c and c + 1 (or in c alone).
        const auto counts = [&](const Data& data) {
          std::vector<std::int64_t> result(bins, 0);
          for (int row : rows_of(data)) {
            for (std::uint64_t k = 0; k < bins_per_row; ++k) ++result[(static_cast<std::size_t>(row) + k) % bins];
          }
          return result;
        };
        const Output output = [&](const Data& data, ReplayRandom& source) {
          const std::vector<std::int64_t> noised = histogram.release(counts(data), source).value().value();
          return std::vector<double>(noised.begin(), noised.end());
        };
        double step = 1;
        if (const auto* gaussian = std::get_if<DiscreteGaussianEvent>(&histogram.statement().event.kind())) {
          step = histogram.noise_scale() / gaussian->sigma.value();
        }
        // Counts come out whole: what they differ by is exact.
        expect_kept(histogram.statement(), largest_distance(neighbours, bins, 0, step, output), delta);
      }
    }
  }
}

TEST(Neighbours, OfNumbersWithAStatedSensitivity) {
  for (const Neighbours& neighbours : all_neighbours()) {
    SCOPED_TRACE(text_of(neighbours));
    const Sensitivity count = count_sensitivity(neighbours).value();
    const auto of = [](const Data& data) { return counts_of(data, 2)[0]; };
    const LaplaceMechanism laplace = LaplaceMechanism::create(count, some_epsilon()).value();
    const Output by_laplace = [&](const Data& data, ReplayRandom& source) {
      return std::vector<double>{laplace.release(of(data), source).value().value()};
    };
    expect_kept(laplace.statement(), largest_distance(neighbours, 2, 1, laplace.lattice().step(), by_laplace), 0);
    const GeometricMechanism geometric = GeometricMechanism::create(count, some_epsilon()).value();
    const Output by_geometric = [&](const Data& data, ReplayRandom& source) {
      const auto whole = static_cast<std::int64_t>(of(data));
      return std::vector<double>{static_cast<double>(geometric.release(whole, source).value())};
    };
    expect_kept(geometric.statement(), largest_distance(neighbours, 2, 1, 1, by_geometric), 0);
    const GaussianMechanism gaussian = GaussianMechanism::create(count, some_epsilon(), delta_of(1e-6)).value();
    const Output by_gaussian = [&](const Data& data, ReplayRandom& source) {
      return std::vector<double>{gaussian.release(of(data), source).value().value()};
    };
    expect_kept(gaussian.statement(), largest_distance(neighbours, 2, 1, gaussian.lattice().step(), by_gaussian), 1e-6);
  }
}

// --- Mechanisms that choose ------------------------------------------------------------------------------------------

using Law = std::vector<double>;

double hockey_stick(const Law& p, const Law& q, double epsilon) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
  return sum;
}

// The largest δ(ε) of all neighbours. (Pairs have both orders, or both are taken.)
double largest_delta(const std::vector<Pair>& pairs, const std::function<Law(const Data&)>& law, double epsilon) {
  double largest = 0;
  std::map<Data, Law> known;
  const auto law_of = [&](const Data& data) -> const Law& {
    const auto [place, fresh] = known.try_emplace(data);
    if (fresh) place->second = law(data);
    return place->second;
  };
  for (const Pair& pair : pairs) {
    const Law& p = law_of(pair.one);
    const Law& q = law_of(pair.other);
    largest = std::max({largest, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)});
  }
  return largest;
}

constexpr double kRounding = 1e-13;  // of the laws below

// P(best first) with each rule; `scale` is that of the scores' noise.
Law permute_and_flip_law(const std::vector<double>& scores, double scale) {
  const double best = *std::max_element(scores.begin(), scores.end());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Law law(scores.size(), 0.0);
  double orders = 0;
  do {
    double left = 1;
    for (std::size_t i : order) {
      const double p = std::exp(-(best - scores[i]) / scale);
      law[i] += left * p;
      left *= 1 - p;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& p : law) p /= orders;
  return law;
}

// Discrete Laplace noise on a grid of 1/4, which holds the scores: P(X ≥ m).
double laplace_tail(double scale, double m) {
  const double r = std::exp(-1 / scale);
  return m > 0 ? std::pow(r, m) / (1 + r) : 1 - std::pow(r, 1 - m) / (1 + r);
}

Law noisy_max_law(const std::vector<double>& scores, double scale) {
  constexpr double fine = 4;
  const double b = scale * fine;
  const double r = std::exp(-1 / b);
  const auto reach = static_cast<int>(36 * b);
  Law law(scores.size(), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (int x = -reach; x <= reach; ++x) {
      double p = (1 - r) / (1 + r) * std::pow(r, std::abs(x));
      for (std::size_t j = 0; j < scores.size(); ++j) {
        // Ties go to the lower index.
        const double gap = (scores[i] - scores[j]) * fine + x + (j < i ? 0 : 1);
        if (j != i) p *= 1 - laplace_tail(b, gap);
      }
      law[i] += p;
    }
  }
  return law;
}

TEST(Neighbours, OfSelections) {
  constexpr int candidates = 3;
  for (const Neighbours& neighbours : all_neighbours()) {
    const std::vector<Pair> pairs = all_pairs(neighbours, candidates, 1);
    for (const bool monotonic : {false, true}) {
      const Sensitivity sensitivity = count_sensitivity(neighbours).value();
      for (SelectionRule rule :
           {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip, SelectionRule::kNoisyMax}) {
        SCOPED_TRACE(text_of(neighbours) + (monotonic ? ", monotonic, " : ", ") + std::string(name_of(rule)));
        const auto made = SelectionMechanism::create(sensitivity, some_epsilon(), {rule, monotonic});
        if (monotonic && neighbours.adjacency == kReplaceOne) {
          EXPECT_FALSE(made.has_value());
          continue;
        }
        const SelectionMechanism mechanism = made.value();
        const auto law_with = [&](double share) {
          return [&mechanism, rule, share](const Data& data) {
            const std::vector<double> scores = counts_of(data, candidates);
            const double scale = mechanism.scale() * share;
            if (rule == SelectionRule::kPermuteAndFlip) return permute_and_flip_law(scores, scale);
            if (rule == SelectionRule::kNoisyMax) return noisy_max_law(scores, scale);
            std::vector<double> sharper = scores;
            for (double& one : sharper) one /= share;
            return mechanism.exponential_probabilities(sharper).value();
          };
        };
        const double stated =
            pld_epsilon(mechanism.statement().event, neighbours.adjacency, Delta::of(0)).value().upper;
        EXPECT_LE(largest_delta(pairs, law_with(1), kEpsilon), kRounding);
        EXPECT_LE(largest_delta(pairs, law_with(1), stated), kRounding);
        EXPECT_GT(largest_delta(pairs, law_with(0.2), kEpsilon), 1e-6);
      }
    }
  }
}

// The replies of the sparse vector technique about the counts of all codes, with at most one "above": the place of the
// first, or none. Noise is on whole numbers here, with the prescribed scales.
Law above_threshold_law(const std::vector<double>& answers, double threshold, double threshold_scale,
                        double answer_scale) {
  const double r = std::exp(-1 / threshold_scale);
  const auto reach = static_cast<int>(36 * threshold_scale);
  Law law(answers.size() + 1, 0.0);
  for (int y = -reach; y <= reach; ++y) {
    double left = (1 - r) / (1 + r) * std::pow(r, std::abs(y));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const double above = laplace_tail(answer_scale, threshold + y - answers[i]);
      law[i] += left * above;
      left *= 1 - above;
    }
    law.back() += left;
  }
  return law;
}

TEST(Neighbours, OfThresholds) {
  constexpr int questions = 3;
  for (const Neighbours& neighbours : all_neighbours()) {
    SCOPED_TRACE(text_of(neighbours));
    const std::vector<Pair> pairs = all_pairs(neighbours, questions, 1);
    const Sensitivity sensitivity = count_sensitivity(neighbours).value();
    const double s = sensitivity.l1.value();
    // Lyu, Su and Li: ε is divided 1 : c^(2/3) with c = 2, and answers get c times the sensitivity.
    const double threshold_part = kEpsilon / (1 + std::pow(2.0, 2.0 / 3));
    const double answer_scale = 2 * s / (kEpsilon - threshold_part);
    const auto law_with = [&](double share) {
      return [=](const Data& data) {
        return above_threshold_law(counts_of(data, questions), 1, s / threshold_part * share, answer_scale * share);
      };
    };
    EXPECT_LE(largest_delta(pairs, law_with(1), kEpsilon), kRounding);
    EXPECT_GT(largest_delta(pairs, law_with(0.15), kEpsilon), 1e-6);
  }
}

TEST(Neighbours, OfQuantiles) {
  constexpr int codes = 4;
  for (const Neighbours& neighbours : all_neighbours()) {
    const std::vector<Pair> pairs = all_pairs(neighbours, codes, 1);
    for (const double level : {0.0, 0.25, 0.5, 1.0}) {
      SCOPED_TRACE(text_of(neighbours) + ", level " + std::to_string(level));
      const QuantileMechanism quantile =
          QuantileMechanism::create(neighbours, Bounds::make(-1, codes).value(), level, some_epsilon()).value();
      // The bound is scale · (41 ln 2 − ln(1 − confidence)) + 1.
      const double bound = quantile.rank_error_bound(Confidence::of(0.5));
      const double scale = (bound - 1) / (42 * std::log(2.0));
      const auto law_with = [&](double share) {
        return [=](const Data& data) {
          const std::vector<int> rows = rows_of(data);
          Law law;
          for (int k = -1; k < codes; ++k) {  // candidates between k and k + 1
            const auto below = std::count_if(rows.begin(), rows.end(), [&](int row) { return row <= k; });
            const double wanted = level * static_cast<double>(rows.size());
            law.push_back(std::exp(-std::fabs(static_cast<double>(below) - wanted) / (scale * share)));
          }
          const double sum = std::accumulate(law.begin(), law.end(), 0.0);
          for (double& p : law) p /= sum;
          return law;
        };
      };
      const double stated = pld_epsilon(quantile.statement().event, neighbours.adjacency, Delta::of(0)).value().upper;
      EXPECT_LE(largest_delta(pairs, law_with(1), kEpsilon), kRounding);
      EXPECT_LE(largest_delta(pairs, law_with(1), stated), kRounding);
      EXPECT_GT(largest_delta(pairs, law_with(0.25), kEpsilon), 1e-6);
    }
  }
}

// The law is that of the header: a candidate's weight falls with the distance of the wanted rank from its own ranks.
// That choices have this law is CountedQuantile.EveryCandidateHasItsExactProbability.
TEST(Neighbours, OfCountedQuantiles) {
  constexpr int codes = 4;
  for (const Neighbours& neighbours : all_neighbours()) {
    const std::vector<Pair> pairs = all_pairs(neighbours, codes, 1);
    for (const double level : {0.0, 0.25, 0.5, 1.0}) {
      SCOPED_TRACE(text_of(neighbours) + ", level " + std::to_string(level));
      const QuantileTerms terms{level, 0, codes - 1, neighbours.rows_per_unit, neighbours.adjacency};
      const CountedQuantile quantile = CountedQuantile::create(terms, some_epsilon()).value();
      const bool one_sided = neighbours.adjacency == kAddRemove && (level == 0 || level == 1);
      const double scale = (one_sided ? 1 : 2) * quantile.sensitivity() / kEpsilon;
      const auto law_with = [&](double share) {
        return [=](const Data& data) {
          const std::vector<int> rows = rows_of(data);
          const double wanted = level * static_cast<double>(rows.size());
          Law law;
          for (int k = 0; k < codes; ++k) {
            const auto below = std::count_if(rows.begin(), rows.end(), [&](int row) { return row < k; });
            const auto at_most = std::count_if(rows.begin(), rows.end(), [&](int row) { return row <= k; });
            const double distance =
                std::max({0.0, static_cast<double>(below) - wanted, wanted - static_cast<double>(at_most)});
            law.push_back(std::exp(-distance / (scale * share)));
          }
          const double sum = std::accumulate(law.begin(), law.end(), 0.0);
          for (double& p : law) p /= sum;
          return law;
        };
      };
      EXPECT_LE(largest_delta(pairs, law_with(1), kEpsilon), kRounding);
      EXPECT_GT(largest_delta(pairs, law_with(0.25), kEpsilon), 1e-6);
    }
  }
}

TEST(Neighbours, OfNamedGroups) {
  constexpr int groups = 3;
  constexpr double delta = 1e-3;
  // A person is in up to two groups, once in each; adjacency is add-remove, and nothing else is offered.
  std::vector<Pair> pairs;
  for (const Pair& pair : all_pairs(persons_under(kAddRemove, 2), groups, 2)) {
    const auto twice = [](const Person& person) { return person.size() == 2 && person[0] == person[1]; };
    if (std::none_of(pair.one.begin(), pair.one.end(), twice)) pairs.push_back(pair);
  }
  for (PartitionRule rule : {PartitionRule::kTruncatedGeometric, PartitionRule::kLaplace, PartitionRule::kGaussian}) {
    SCOPED_TRACE(name_of(rule));
    const auto selection = PartitionSelection::create(some_epsilon(), delta_of(delta), 2, rule).value();
    EXPECT_EQ(selection.statement().adjacency, kAddRemove);
    const auto law_of = [](const PartitionSelection& by) {
      return [&by](const Data& data) {
        const std::vector<double> counts = counts_of(data, groups);
        Law law;
        for (unsigned kept = 0; kept < 1U << groups; ++kept) {
          double p = 1;
          for (unsigned g = 0; g < groups; ++g) {
            const double keep = by.keep_probability(static_cast<std::uint64_t>(counts[g]));
            p *= (kept >> g & 1U) != 0 ? keep : 1 - keep;
          }
          law.push_back(p);
        }
        return law;
      };
    };
    EXPECT_LE(largest_delta(pairs, law_of(selection), kEpsilon), delta * (1 + 1e-9));
    // One that takes persons to be in one group only, and gives them twice the δ.
    const auto careless = PartitionSelection::create(some_epsilon(), delta_of(2 * delta), 1, rule).value();
    EXPECT_GT(largest_delta(pairs, law_of(careless), kEpsilon), delta * 1.01);
  }
}

TEST(Neighbours, OfReports) {
  for (const std::uint64_t categories : {2U, 3U, 5U}) {
    const auto response = RandomizedResponse::create(some_epsilon(), Categories::make(categories).value()).value();
    EXPECT_EQ(response.statement().adjacency, kReplaceOne);
    const double truth = response.truth_probability();
    const double other = (1 - truth) / static_cast<double>(categories - 1);
    Law one(categories, other);
    Law two = one;
    one[0] = truth;
    two[1] = truth;
    const double stated = pld_epsilon(response.statement().event, kReplaceOne, Delta::of(0)).value().upper;
    EXPECT_LE(hockey_stick(one, two, kEpsilon), kRounding);
    EXPECT_LE(hockey_stick(one, two, stated), kRounding);
    EXPECT_GT(hockey_stick(one, two, kEpsilon * 0.99), 1e-4);
  }
}

// --- Events ----------------------------------------------------------------------------------------------------------

// All accountants that take the event give an ε at which the laws of neighbours keep δ. (An estimate is no bound.)
void expect_no_accountant_below(const DpEvent& event, Adjacency adjacency, double delta,
                                const std::function<double(double)>& delta_at) {
  int answers = 0;
  for (const Accountant accountant : all_accountants()) {
    const Result<AccountantAnswer> found = epsilon_by(accountant, event, adjacency, delta_of(delta));
    if (!found.has_value() || found.value().is_estimate) continue;
    ++answers;
    EXPECT_LE(delta_at(found.value().epsilon), delta * (1 + 1e-9) + kRounding)
        << name_of(accountant) << ' ' << kind_name(event) << ' ' << found.value().epsilon;
    if (found.value().lower.has_value() && *found.value().lower > 0 && accountant == Accountant::kPld) {
      EXPECT_LE(*found.value().lower, found.value().epsilon);
    }
  }
  EXPECT_GE(answers, 1) << kind_name(event);
  // The check finds an ε that is too small.
  const double truth = pld_epsilon(event, adjacency, delta_of(delta)).value().lower;
  if (truth > 0) {
    EXPECT_GT(delta_at(truth * 0.5), delta) << kind_name(event);
  }
}

TEST(Neighbours, OfTreeAggregation) {
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    for (const std::uint64_t steps : {1U, 2U, 3U, 6U, 15U, 40U}) {
      SCOPED_TRACE(text_of(rows_under(adjacency)) + ", " + std::to_string(steps));
      // Nodes by which streams differ, found by exhausting all places of the row that differs: at level l those that
      // end at a multiple of 2^l, up to the last step.
      double nodes = 0;
      for (std::uint64_t a = 1; a <= steps; ++a) {
        for (std::uint64_t b = 0; b <= (adjacency == kReplaceOne ? steps : 0); ++b) {
          double changed = 0;
          for (std::uint64_t width = 1; width <= steps; width *= 2) {
            for (std::uint64_t end = width; end <= steps; end += width) {
              const auto holds = [&](std::uint64_t s) { return s > end - width && s <= end; };
              changed += holds(a) != holds(b) ? 1 : 0;
            }
          }
          nodes = std::max(nodes, changed);
        }
      }
      const double z = 3;
      const DpEvent event = TreeAggregationEvent{NoiseMultiplier::of(3), Steps::make(steps).value()};
      const auto truth = [&](double epsilon) { return gaussian_delta(std::sqrt(nodes) / z, epsilon); };
      expect_no_accountant_below(event, adjacency, 1e-5, truth);
      expect_no_accountant_below(SelfComposedEvent{Steps::of(4), event}, adjacency, 1e-5,
                                 [&](double epsilon) { return gaussian_delta(std::sqrt(4 * nodes) / z, epsilon); });
      // What earlier versions charged.
      if (adjacency == kReplaceOne && steps >= 3) {
        const DpEvent old = SelfComposedEvent{Steps::make(static_cast<std::uint64_t>(std::bit_width(steps))).value(),
                                              GaussianEvent{NoiseMultiplier::of(3)}};
        const double old_epsilon = pld_epsilon(old, kReplaceOne, delta_of(1e-5)).value().upper;
        EXPECT_GT(truth(old_epsilon), 1e-5 * 1.01);
      }
    }
  }
}

// Noise on the sum of a sample of records from {−1, 0, 1}; `moves` is how far neighbours move it where all are sampled.
constexpr int kReach = 60;
Law noise_law(double scale, int centre) {
  const double r = std::exp(-1 / scale);
  Law law;
  for (int x = -kReach; x <= kReach; ++x) law.push_back((1 - r) / (1 + r) * std::pow(r, std::abs(x - centre)));
  return law;
}
Law gaussian_cells(double sigma, double centre) {
  constexpr double width = 0.02;
  Law law;
  for (double x = -14; x < 14; x += width) {
    law.push_back(normal_tail((x - centre) / sigma) - normal_tail((x + width - centre) / sigma));
  }
  return law;
}
void add(Law& sum, const Law& part, double share) {
  sum.resize(part.size(), 0.0);
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] += share * part[i];
}
Law product(const Law& a, const Law& b) {
  Law both;
  for (double x : a) {
    for (double y : b) both.push_back(x * y);
  }
  return both;
}

using Records = std::vector<int>;
// All neighbours with up to two records.
std::vector<std::pair<Records, Records>> record_pairs(Adjacency adjacency, std::size_t size) {
  std::vector<std::pair<Records, Records>> pairs;
  std::vector<Records> rest = {{}};
  if (size == 2) rest = {{-1}, {0}, {1}};
  for (const Records& others : rest) {
    for (int a : {-1, 0, 1}) {
      Records with = others;
      with.push_back(a);
      if (adjacency == kAddRemove) {
        pairs.emplace_back(with, others);
        continue;
      }
      for (int b : {-1, 0, 1}) {
        Records exchanged = others;
        exchanged.push_back(b);
        pairs.emplace_back(with, exchanged);
      }
    }
  }
  return pairs;
}

double largest_delta(const std::vector<std::pair<Records, Records>>& pairs,
                     const std::function<Law(const Records&)>& law, double epsilon) {
  double largest = 0;
  for (const auto& [one, other] : pairs) {
    const Law p = law(one);
    const Law q = law(other);
    largest = std::max({largest, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)});
  }
  return largest;
}

template <class Noise>
std::function<Law(const Records&)> poisson_sample_of(double q, Noise noise) {
  return [q, noise](const Records& records) {
    Law law;
    for (unsigned taken = 0; taken < 1U << records.size(); ++taken) {
      double share = 1;
      int sum = 0;
      for (std::size_t i = 0; i < records.size(); ++i) {
        const bool in = (taken >> i & 1U) != 0;
        share *= in ? q : 1 - q;
        if (in) sum += records[i];
      }
      add(law, noise(sum), share);
    }
    return law;
  };
}

TEST(Neighbours, OfPoissonSamples) {
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    for (const double q : {0.1, 0.5, 1.0}) {
      for (const std::size_t size : {1U, 2U}) {
        SCOPED_TRACE(text_of(rows_under(adjacency)) + ", rate " + std::to_string(q));
        const auto pairs = record_pairs(adjacency, size);
        const auto rate = SamplingRate::make(q).value();
        const DpEvent laplace = DiscreteLaplaceEvent{NoiseScale::of(1.5), L1Sensitivity::of(1)};
        const auto laplace_law = poisson_sample_of(q, [](int sum) { return noise_law(1.5, sum); });
        expect_no_accountant_below(PoissonSampledEvent{rate, laplace}, adjacency, 1e-3,
                                   [&](double e) { return largest_delta(pairs, laplace_law, e); });
        const DpEvent gaussian = GaussianEvent{NoiseMultiplier::of(1)};
        const auto gaussian_law = poisson_sample_of(q, [](int sum) { return gaussian_cells(1, sum); });
        expect_no_accountant_below(PoissonSampledEvent{rate, gaussian}, adjacency, 1e-3,
                                   [&](double e) { return largest_delta(pairs, gaussian_law, e); });
      }
    }
  }
  // A replaced record pulls from one side to the other: the ε of adding one does not cover it.
  const DpEvent event = PoissonSampledEvent{SamplingRate::of(0.5), GaussianEvent{NoiseMultiplier::of(1)}};
  const double added = pld_epsilon(event, kAddRemove, delta_of(1e-3)).value().upper;
  const auto law = poisson_sample_of(0.5, [](int sum) { return gaussian_cells(1, sum); });
  EXPECT_GT(largest_delta(record_pairs(kReplaceOne, 1), law, added), 1e-3 * 1.5);
}

TEST(Neighbours, OfSamplesOfFixedSize) {
  // One or two of three records, of which the last is the one that differs; records are 0 or 1 apart.
  for (const std::uint64_t taken : {1U, 2U, 3U}) {
    std::vector<std::pair<Records, Records>> pairs;
    for (int a : {0, 1}) {
      for (int b : {0, 1}) pairs.push_back({{a, b, 0}, {a, b, 1}});
    }
    const auto law = [&](const Records& records) {
      Law sum;
      double subsets = 0;
      for (unsigned set = 0; set < 8; ++set) {
        if (static_cast<std::uint64_t>(std::popcount(set)) != taken) continue;
        int total = 0;
        for (std::size_t i = 0; i < 3; ++i) total += (set >> i & 1U) != 0 ? records[i] : 0;
        add(sum, noise_law(1.5, total), 1);
        ++subsets;
      }
      for (double& p : sum) p /= subsets;
      return sum;
    };
    const DpEvent laplace = DiscreteLaplaceEvent{NoiseScale::of(1.5), L1Sensitivity::of(1)};
    const DpEvent event = FixedSizeSampledEvent{Rows::make(taken).value(), Rows::of(3), laplace};
    expect_no_accountant_below(event, kReplaceOne, 1e-3, [&](double e) { return largest_delta(pairs, law, e); });
    if (taken < 3) {
      EXPECT_FALSE(pld_epsilon(event, kAddRemove, delta_of(1e-3)).has_value());
    }
  }
}

TEST(Neighbours, OfCompositions) {
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    // Answers move by one (add-remove), or by up to two (replace-one): the event states which.
    const auto pairs = record_pairs(adjacency, 1);
    const double l1 = adjacency == kReplaceOne ? 2 : 1;
    const auto coarse = [](int sum) {
      // Cells of two: post-processing, for a small product.
      const Law fine = noise_law(2, sum);
      Law law(fine.size() / 2 + 1, 0.0);
      for (std::size_t i = 0; i < fine.size(); ++i) law[(i + 1) / 2] += fine[i];
      return law;
    };
    const auto once = [&](const Records& records) { return coarse(records.empty() ? 0 : records[0]); };
    const auto twice = [&](const Records& records) { return product(once(records), once(records)); };
    const DpEvent laplace = DiscreteLaplaceEvent{NoiseScale::of(2), L1Sensitivity::make(l1).value()};
    for (const double delta : {0.0, 1e-3, 0.1}) {
      const auto at = [&](double e) { return largest_delta(pairs, twice, e); };
      expect_no_accountant_below(SelfComposedEvent{Steps::of(2), laplace}, adjacency, delta, at);
      expect_no_accountant_below(ComposedEvent{{laplace, laplace}}, adjacency, delta, at);
    }
  }
}

TEST(Neighbours, OfShuffledReports) {
  // Two or three reports of two categories: how many say 1 is all that shuffling leaves.
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
    const DpEvent event =
        ShuffledEvent{Rows::make(reports).value(), RandomizedResponseEvent{Epsilon::of(1), kTwoCategories}};
    expect_no_accountant_below(event, kReplaceOne, 1e-2, [&](double e) {
      double largest = 0;
      for (std::uint64_t ones = 0; ones < reports; ++ones) {
        largest =
            std::max({largest, hockey_stick(law(ones), law(ones + 1), e), hockey_stick(law(ones + 1), law(ones), e)});
      }
      return largest;
    });
  }
}

TEST(Neighbours, OfTheBestOfManyRuns) {
  // Each run reports 1 with probability p, and 1 is best. K is geometric: P(K = k) = γ (1 − γ)^{k−1}.
  const double gamma = 0.2;
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    const double truth = std::exp(0.5) / (1 + std::exp(0.5));
    const auto law = [&](double p) {
      const double none = gamma * (1 - p) / (1 - (1 - gamma) * (1 - p));
      return Law{none, 1 - none};
    };
    const DpEvent event = RepeatAndSelectEvent{RunShape::of(1), RunGamma::of(0.2),
                                               RandomizedResponseEvent{Epsilon::of(0.5), kTwoCategories}};
    expect_no_accountant_below(event, adjacency, 1e-2, [&](double e) {
      return std::max(hockey_stick(law(truth), law(1 - truth), e), hockey_stick(law(1 - truth), law(truth), e));
    });
  }
}

}  // namespace
}  // namespace noisefloor
