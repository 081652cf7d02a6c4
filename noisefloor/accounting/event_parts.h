// What a tree of events comes to, equal parts counted together: the reading of an event for pld.h.
//
// Guarantee:     each part is dominated by its laws above and dominates its laws below, in both directions, and so is
//                their composition (docs/proofs/certified_accounting.md, 23 to 28).
// Not promised:  this is no public interface; pld.h is.
//
// Internal to accounting/.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/accounting/loss_law.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

// Above this loss a law's Q falls out of the range of doubles, and with it what the engines say from below.
inline constexpr double kLargestLoss = 600;
// Repetitions up to this many are counted exactly.
inline constexpr double kMostSteps = 0x1p53;

using LawPtr = std::shared_ptr<const LossLaw>;

using Sample = std::pair<double, double>;  // rate and noise multiplier

// A law that dominates a mechanism and one that it dominates, for both directions. The same where the pair is known.
// Nothing above: its whole ε is in Parts::extra_epsilon.
struct LawPair {
  LawPtr above;
  LawPtr below;
};
struct Leaf {
  LawPair remove;
  LawPair add;
  double pure = std::numeric_limits<double>::infinity();  // the least ε for δ = 0, up to rounding
};

// What a tree of events comes to. Equal parts are counted together.
struct Parts {
  long double mu_squared = 0;                                   // of all Gaussians, from above
  long double mu_squared_below = 0;                             // and from below: they differ for discrete Gaussians
  double gaussians = 0;                                         // how many they are
  std::map<Sample, double> sampled;                             // (rate, multiplier) of sampled Gaussians → count
  std::map<Sample, double> sampled_below;                       // the same from below
  std::map<Sample, double> replaced_samples;                    // the same under replace-one
  std::map<Sample, double> replaced_samples_below;              // and from below
  std::map<std::pair<double, double>, double> epsilon_delta;    // (ε, δ) → count
  std::map<std::vector<double>, std::pair<Leaf, double>> laws;  // by what they are → count
  std::vector<DpEvent> renyi;                                   // parts that have a Rényi curve only
  std::vector<std::pair<ShuffledEvent, double>> shuffled;       // → count
  std::vector<DpEvent> events;                                  // all of it once more, for Rényi divergences
  double extra_epsilon = 0;                                     // to be added to upper bounds
  double extra_delta = 0;
  double grid_epsilon = 0;  // the part of extra_epsilon by which discrete Gaussians differ from continuous ones
  double grid_delta = 0;    // and what they differ by otherwise: it enters δ times e^ε (gaussian_on_a_grid.md, (6))
  bool bounded_range = false;  // Rényi divergences may do better than the laws
  bool too_many = false;       // more repetitions than are counted exactly

  void count_up(double& sum, double count) {
    if (static_cast<long double>(sum) + static_cast<long double>(count) > static_cast<long double>(kMostSteps)) {
      too_many = true;
    }
    sum += count;
  }
  // True if anything except extra_epsilon and extras is composed from above.
  [[nodiscard]] bool has_laws() const {
    return mu_squared > 0 || !sampled.empty() || !replaced_samples.empty() || !epsilon_delta.empty() ||
           std::any_of(laws.begin(), laws.end(), [](const auto& one) { return one.second.first.remove.above; });
  }
  [[nodiscard]] std::size_t kinds() const {
    return (mu_squared > 0 ? 1 : 0) + sampled.size() + replaced_samples.size() + epsilon_delta.size() + laws.size();
  }
  [[nodiscard]] bool is_empty() const { return kinds() == 0 && renyi.empty() && shuffled.empty(); }
  [[nodiscard]] bool has_laws_only() const { return renyi.empty() && shuffled.empty(); }
};

// Under replace-one, Poisson samples without Gaussian noise are set apart: those are accounted for as remove and add.
struct Decomposition {
  Parts parts;
  Parts replaced;
};

// The law of an event that is one mechanism, once, with a key that tells it from others. Nothing if there is none.
struct KeyedLeaf {
  std::vector<double> key;
  Leaf leaf;
  double extra_delta = 0;
};
[[nodiscard]] std::optional<KeyedLeaf> leaf_of(const DpEvent& event, Adjacency adjacency);

// Requires an event without non-private parts. Refuses what no bound is known for, with the reason.
[[nodiscard]] Result<Decomposition> read_parts(const DpEvent& event, Adjacency adjacency);

}  // namespace noisefloor
