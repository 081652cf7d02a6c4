// A lower bound of ε from many runs: some with a record, some without it, and a test that guesses which is which.
//
//   NF_TRY(const Guesses guesses, Guesses::make({.found = 812, .members = 1000, .false_alarms = 40, .others = 1000}));
//   const double at_least = epsilon_at_least(guesses, delta, Significance::of(0.05));
//
// Guarantee:     if the mechanism is (ε, δ)-DP for the two worlds, then with probability at least 1 − significance over
//                the runs, every lower bound here is at most ε, and refutes() is false for every trade-off curve that
//                the mechanism keeps. The bounds rest on Clopper and Pearson's intervals for the two rates, each at
//                half of the significance, rounded outwards.
// Requires:      the runs are independent, and the test was fixed before them: choose thresholds on other runs.
// Not covered:   a small bound says that this test found little, and nothing else.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/quantity.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor::audit {

// The probability that a bound is wrong by chance: above 0 and below 1.
struct SignificanceRule {
  using Value = double;
  static constexpr std::string_view name = "significance";
  static constexpr std::string_view requirement = "above 0 and below 1";
  static constexpr bool holds(double v) { return v > 0 && v < 1; }
};
using Significance = Quantity<SignificanceRule>;

struct GuessCounts {
  std::uint64_t found = 0;         // runs with the record that the test recognised
  std::uint64_t members = 0;       // all runs with it
  std::uint64_t false_alarms = 0;  // runs without it that the test took for ones with it
  std::uint64_t others = 0;        // all runs without it
};

class Guesses {
 public:
  // kInvalidArgument if there are no runs in a world, or more guesses than runs.
  [[nodiscard]] static Result<Guesses> make(const GuessCounts& counts);
  [[nodiscard]] const GuessCounts& counts() const { return counts_; }

 private:
  explicit Guesses(const GuessCounts& counts) : counts_(counts) {}
  GuessCounts counts_;
};

// Where the probability of an event is that happened in `hits` of `runs`: each end is wrong with probability at most
// `each`. Requires hits ≤ runs and runs above 0.
[[nodiscard]] Interval clopper_pearson(std::uint64_t hits, std::uint64_t runs, Significance each);

// The rates that the bounds rest on.
struct GuessRates {
  Interval found;         // of the probability of recognising the record
  Interval false_alarms;  // of the probability of a false alarm
};
[[nodiscard]] GuessRates rates_of(const Guesses& guesses, Significance significance);

// 0 if nothing was found.
[[nodiscard]] double epsilon_at_least(const Guesses& guesses, Delta delta, Significance significance);

// The two bounds that epsilon_at_least takes the larger one of: ln((found − δ)/false alarms), and the same for those
// who were not there.
struct EpsilonByWorld {
  double of_members;
  double of_others;
};
[[nodiscard]] EpsilonByWorld epsilon_by_world(const Guesses& guesses, Delta delta, Significance significance);

// ASSUMES that the trade-off curve is that of a Gaussian: often nearly so after many steps, and no proof. μ of that
// curve, and its ε.
struct GaussianEstimate {
  double mu;
  double epsilon;
};
[[nodiscard]] GaussianEstimate if_gaussian(const Guesses& guesses, Delta delta, Significance significance);

// Whether the counts refute a certificate: a curve f that says that every test with a rate of false alarms α misses at
// least the share f(α) of members. f must not rise.
using TradeOff = std::function<double(double false_alarms)>;
[[nodiscard]] bool refutes(const Guesses& guesses, const TradeOff& certified, Significance significance);

}  // namespace noisefloor::audit
