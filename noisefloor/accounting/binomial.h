// Binomial probabilities with a stated error, for counts up to 2^40.
//
// Implements:  the saddle-point form of Loader 2000, "Fast and Accurate Computation of Binomial Probabilities":
//              Stirling's series plus two deviances, so that nothing of the size of ln n! cancels.
// Guarantee:   |value − ln P(X = successes)| ≤ error.
//
// Internal to accounting/.
#pragma once

#include <cstdint>

namespace noisefloor {

inline constexpr std::uint64_t kMaxTrials = std::uint64_t{1} << 40;

// `trials` coins. Both probabilities are positive, each within 2^-61 of the true one, relatively.
struct BinomialLaw {
  std::uint64_t trials;
  long double success;
  long double failure;

  // The most likely count, or one next to it.
  [[nodiscard]] std::uint64_t mode() const;

  // P(X = x + 1)/P(X = x), decreasing in x. Requires x < trials.
  [[nodiscard]] long double ratio_after(std::uint64_t x) const {
    return static_cast<long double>(trials - x) * success / (static_cast<long double>(x + 1) * failure);
  }
};

struct LogProbability {
  long double value;
  long double error;
};

// ln P(X = successes). Requires trials ≤ kMaxTrials and successes ≤ trials.
[[nodiscard]] LogProbability log_probability(const BinomialLaw& law, std::uint64_t successes);

// Counts outside of [first, last] have probability below e^log_mass each side, together with all beyond them: the
// interval is found by bisection on trials · P(X = x), which bounds the tail from x on. It contains the mode.
struct CountWindow {
  std::uint64_t first;
  std::uint64_t last;
};
[[nodiscard]] CountWindow window_of(const BinomialLaw& law, long double log_mass);

}  // namespace noisefloor
