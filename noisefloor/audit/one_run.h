// A lower bound of ε from one run: many canaries, each put in or left out by a coin of its own, and guesses about the
// coins from what the run released.
//
// Guarantee:     if the run is (ε, δ)-DP for adding or removing one canary, then one_run_epsilon is at most ε with
//                probability at least 1 − significance over the coins and the run. If it keeps a trade-off curve, then
//                refuted_in_one_run says no with that probability.
// Implements:    Steinke, Nasr and Jagielski 2023 (Theorem 5.2) for ε and δ; Mahloujifar, Melis and Chaudhuri 2024
//                (Algorithm 3) for trade-off curves.
// Requires:      fair coins, independent of each other and of everything else the run used; canaries that are nobody's
//                rows; a number of guesses that was fixed before the run. Trying several numbers of guesses takes a
//                part of the significance for each: best_of_guesses does so.
// Cost:          O(guesses) for each ε that is tried.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "noisefloor/audit/two_worlds.h"

namespace noisefloor::audit {

struct CanaryGuesses {
  std::uint64_t canaries = 0;  // each in or out by its coin
  std::uint64_t guesses = 0;   // those about which a guess was made
  std::uint64_t right = 0;     // right ones
};
// kInvalidArgument unless right ≤ guesses ≤ canaries, and there is a guess.
[[nodiscard]] Result<void> check_guesses(const CanaryGuesses& counts);

// How likely so many right guesses are at most, if the run is (ε, δ)-DP; at most 1.
[[nodiscard]] double one_run_p_value(const CanaryGuesses& counts, PrivacyLoss epsilon, Delta delta);

// The largest ε that the guesses refute at this significance; 0 if none.
[[nodiscard]] double one_run_epsilon(const CanaryGuesses& counts, Delta delta, Significance significance);

// The least rate of false alarms at which a test may find this share of members. Must not fall, and errs to the low
// side where it is not exact: that refutes less.
using FalseAlarms = std::function<double(double found)>;
[[nodiscard]] bool refuted_in_one_run(const CanaryGuesses& counts, const FalseAlarms& certified,
                                      Significance significance);

// The largest μ whose Gaussian curve the guesses refute, and ε of that curve at δ: a bound for mechanisms whose curve
// is that of a Gaussian, which is assumed and not tested.
[[nodiscard]] GaussianEstimate one_run_gaussian(const CanaryGuesses& counts, Delta delta, Significance significance);

// One canary: its score (larger for one that seems to be in), and its coin.
struct ScoredCanary {
  double score = 0;
  bool in = false;
};
// The guesses that call the `guesses` / 2 highest scores in and as many of the lowest out. Scores that are no number
// count as the lowest; ties are broken by place.
[[nodiscard]] Result<CanaryGuesses> guess(std::span<const ScoredCanary> canaries, std::uint64_t guesses);

// The best ε over several numbers of guesses, each at an equal part of the significance.
struct OneRunBound {
  CanaryGuesses counts;
  double epsilon = 0;
};
[[nodiscard]] Result<OneRunBound> best_of_guesses(std::span<const ScoredCanary> canaries,
                                                  std::span<const std::uint64_t> numbers, Delta delta,
                                                  Significance significance);

}  // namespace noisefloor::audit
