#include "noisefloor/accounting/sampled_leaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/accounting/binomial.h"
#include "noisefloor/accounting/bins_law.h"
#include "noisefloor/accounting/loss_law.h"
#include "noisefloor/accounting/lowering.h"
#include "noisefloor/accounting/mixture_law.h"

namespace noisefloor::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// First numbers of keys; event_parts.cc has those below 20.
constexpr double kMixtureKey = 20;
constexpr double kTruncatedKey = 21;
constexpr double kReplacementKey = 22;
constexpr double kBinsKey = 23;
// Of a binomial law: how many numbers of draws get a law of their own.
constexpr std::size_t kMostDraws = 256;

LawPair known(std::unique_ptr<LossLaw> law) {
  const LawPtr shared = std::move(law);
  return {shared, shared};
}

// The laws of such a mixture, for the neighbours of this relation.
Leaf mixture_leaf(const std::vector<MixturePart>& parts, Adjacency adjacency) {
  if (adjacency == Adjacency::kReplaceOne) {
    const LawPair both = known(gaussian_mixture_law(parts, MixtureSide::kReplace));
    return {both, both, kInfinity};
  }
  return {known(gaussian_mixture_law(parts, MixtureSide::kRemove)),
          known(gaussian_mixture_law(parts, MixtureSide::kAdd)), kInfinity};
}

Result<KeyedLeaf> leaf(const GaussianMixtureEvent& e, Adjacency adjacency) {
  long double sum = 0;
  for (const double p : e.probabilities) sum += p;
  std::vector<MixturePart> parts;
  KeyedLeaf result{{kMixtureKey, e.noise_multiplier.value()}, {}, 0};
  for (std::size_t i = 0; i < e.sensitivities.size(); ++i) {
    const double distance = e.sensitivities[i] / e.noise_multiplier.value();
    if (!(distance <= 1e100)) {
      return invalid_argument(
          "the noise is too small for a finite epsilon: the losses exceed all numbers. Use more noise");
    }
    parts.push_back({static_cast<double>(e.probabilities[i] / sum), distance});
    result.key.push_back(e.sensitivities[i]);
    result.key.push_back(e.probabilities[i]);
  }
  result.leaf = mixture_leaf(parts, adjacency);
  return result;
}

Error no_law(const DpEvent& inside, std::string_view of) {
  return invalid_argument(
      fmt::format("no bound is known for {} of events of kind {}: use Gaussian, Laplace or discrete Laplace noise, "
                  "once in a sample",
                  of, kind_name(inside)));
}

// Whether (P, Q) dominates in both directions and is one law.
bool is_symmetric(const Leaf& leaf) { return leaf.remove.above != nullptr && leaf.remove.above == leaf.add.above; }

// With the probability τ of a full batch, one record stands in the place of another: a change of two.
Result<KeyedLeaf> leaf(const TruncatedPoissonSampledEvent& e, Adjacency adjacency) {
  const double q = e.sampling_rate.value();
  const double full = chance_of_a_full_batch(e).upper;
  if (const auto* gaussian = std::get_if<GaussianEvent>(&e.event.kind());
      gaussian != nullptr && adjacency == Adjacency::kReplaceOne && q < 1) {
    const double z = gaussian->noise_multiplier.value();
    const LawPair both = known(
        either_law({{1 - full, LawPtr(opposite_samples_law(q, z))}, {full, LawPtr(opposite_samples_law(q, z / 2))}}));
    return KeyedLeaf{{kTruncatedKey, q, full, z}, Leaf{{both.above, nullptr}, {both.above, nullptr}, kInfinity}, 0};
  }
  if (adjacency == Adjacency::kReplaceOne) return no_law(e.event, "truncated samples");
  const std::optional<KeyedLeaf> one = leaf_of(e.event, adjacency);
  NF_TRY(const LoweredEvent doubled, grouped(e.event, 2, adjacency));
  const std::optional<KeyedLeaf> two = leaf_of(doubled.above, adjacency);
  if (!one || !two || !is_symmetric(one->leaf) || !is_symmetric(two->leaf)) {
    return no_law(e.event, "truncated samples");
  }
  const auto law = [&](bool remove) -> LawPair {
    return {either_law({{1 - full, LawPtr(sampled_law(one->leaf.remove.above, q, remove))},
                        {full, LawPtr(sampled_law(two->leaf.remove.above, q, remove))}}),
            nullptr};
  };
  KeyedLeaf result{{kTruncatedKey, q, full}, Leaf{law(true), law(false), kInfinity}, one->extra_delta};
  result.extra_delta += two->extra_delta;
  result.key.insert(result.key.end(), one->key.begin(), one->key.end());
  return result;
}

// How often one record is drawn, given that it is: probabilities moved to larger numbers, or to smaller ones.
struct Draws {
  std::uint64_t count;  // 0: more often than is looked at
  double probability;
};
std::vector<Draws> draws_of(const BinomialLaw& law, long double taken, bool above) {
  std::vector<Draws> list;
  const CountWindow window = window_of(law, -400);
  double left = 1;
  const auto add = [&](std::uint64_t count, double p) {
    list.push_back({count, std::min(left, p)});
    left -= list.back().probability;
  };
  if (above && window.last < law.trials) add(0, 1e-170 / static_cast<double>(taken));
  for (std::uint64_t count = window.last; count >= std::max<std::uint64_t>(window.first, 1); --count) {
    const LogProbability p = log_probability(law, count);
    const long double error = 2 * p.error + 0x1p-36L;
    add(count, static_cast<double>(std::exp(p.value) / taken * (above ? 1 + error : 1 - error)));
    if (list.size() > kMostDraws) return list;
  }
  if (left > 0) add(above ? std::max<std::uint64_t>(window.first, 2) - 1 : 1, 1);
  return list;
}

// The sums of all epochs of one bin are as good as their mean, which has less noise. For removing and adding only.
Result<KeyedLeaf> leaf(const BallsInBinsEvent& e, Adjacency /*adjacency*/) {
  const double root = std::sqrt(static_cast<double>(e.epochs.value()));
  const double mu = root / e.noise_multiplier.value();
  // Noise that is rounded by so much is more, or less.
  const double slack = 0x1p-50;
  BinsLaws remove = bins_laws(mu * (1 + slack), e.bins.value(), true);
  BinsLaws add = bins_laws(mu * (1 + slack), e.bins.value(), false);
  if (remove.above == nullptr || add.above == nullptr) {
    return invalid_argument(
        "no bound is known for so many bins, or so little noise, but that of a known bin: use more noise");
  }
  const auto pair = [](BinsLaws laws) { return LawPair{std::move(laws.above), std::move(laws.below)}; };
  return KeyedLeaf{{kBinsKey, mu, static_cast<double>(e.bins.value())},
                   Leaf{pair(std::move(remove)), pair(std::move(add)), kInfinity},
                   0};
}

Result<KeyedLeaf> leaf(const SampledWithReplacementEvent& e, Adjacency adjacency) {
  const std::uint64_t size = e.sample_size.value();
  const std::uint64_t population = e.population.value();
  if (size > kMaxTrials) {
    return invalid_argument("samples with replacement are accounted for up to 2^40 draws; take fewer");
  }
  const long double q = 1 / static_cast<long double>(population);
  const BinomialLaw law{size, q, 1 - q};
  const long double taken = -std::expm1(static_cast<long double>(size) * std::log1p(-q));
  const std::vector<Draws> draws = draws_of(law, taken, true);
  if (draws.size() > kMostDraws) {
    return invalid_argument(
        fmt::format("{} draws from {} records take one record too often: samples with replacement are accounted for "
                    "where a record is drawn about ten times or less",
                    size, population));
  }
  KeyedLeaf result{{kReplacementKey, static_cast<double>(size), static_cast<double>(population)}, {}, 0};
  std::vector<WeightedLaw> laws;
  for (const Draws& one : draws) {
    if (one.count == 0) {
      laws.push_back({one.probability, finite_law({{1, 0}, {0, 1}})});
      continue;
    }
    NF_TRY(const LoweredEvent several, grouped(e.event, one.count, adjacency));
    const std::optional<KeyedLeaf> found = leaf_of(several.above, adjacency);
    if (!found || !is_symmetric(found->leaf)) return no_law(e.event, "samples with replacement");
    laws.push_back({one.probability, found->leaf.remove.above});
    result.extra_delta += found->extra_delta;
    result.key.insert(result.key.end(), found->key.begin(), found->key.end());
  }
  const auto rate = static_cast<double>(std::min(1.0L, taken * (1 + 0x1p-40L)));
  const LawPtr above =
      rate < 1 ? LawPtr(fixed_size_law(either_law(std::move(laws)), rate)) : LawPtr(either_law(std::move(laws)));
  result.leaf = Leaf{{above, nullptr}, {above, nullptr}, kInfinity};
  // From below: all other records, and the one that comes instead, move nothing.
  if (const auto* gaussian = std::get_if<GaussianEvent>(&e.event.kind())) {
    std::vector<MixturePart> parts;
    double present = 0;
    for (const Draws& one : draws_of(law, taken, false)) {
      const double p = one.probability * static_cast<double>(taken * (1 - 0x1p-40L));
      parts.push_back({p, static_cast<double>(one.count) / gaussian->noise_multiplier.value()});
      present += p;
    }
    parts.push_back({std::max(0.0, 1 - present), 0});
    result.leaf.remove.below = gaussian_mixture_law(parts, MixtureSide::kRemove);
    result.leaf.add.below = gaussian_mixture_law(parts, MixtureSide::kAdd);
  }
  return result;
}

}  // namespace

Result<KeyedLeaf> sampled_leaf(const DpEvent& event, Adjacency adjacency) {
  return std::visit(
      [&](const auto& kind) -> Result<KeyedLeaf> {
        if constexpr (requires { leaf(kind, adjacency); }) {
          return leaf(kind, adjacency);
        } else {
          return internal_error(fmt::format("an event of kind {} was to be lowered", kind_name(event)));
        }
      },
      event.kind());
}

}  // namespace noisefloor::internal
