// One direction of a dominating pair (P, Q), by the masses that it gives to intervals of the privacy loss L = ln dP/dQ.
//
// Every mechanism that has a dominating pair can be written like this, with or without atoms; the lattice accountant
// (loss_lattice.h) composes them.
//
// Internal to accounting/.
#pragma once

#include <memory>
#include <vector>

#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// P and Q of an event, and bounds of the errors of both.
struct Masses {
  double p;
  double q;
  double p_error;
  double q_error;
};

// p − q e^at of an event, and a bound of its error.
struct Excess {
  double value;
  double error;
};

class LossLaw {
 public:
  LossLaw() = default;
  LossLaw(const LossLaw&) = delete;
  LossLaw& operator=(const LossLaw&) = delete;
  virtual ~LossLaw() = default;

  // The masses of { from < L ≤ to }. For every partition into such intervals each outcome is counted once; next to an
  // end of an interval, in the one or in the other: as if its loss were wrong by loss_error() at most.
  [[nodiscard]] virtual Masses masses(double from, double to) const = 0;

  // p − q e^at of that event, for a finite `at`: where the loss is near `at`, both are nearly equal, and some laws know
  // the difference better than the masses.
  [[nodiscard]] virtual Excess excess(double from, double to, double at) const;

  // For ends that are finite and at most `largest` in size. Grows by 2^-50 of that, or less.
  [[nodiscard]] virtual double loss_error(double /*largest*/) const { return 0; }

  // P(L = ∞): what has probability 0 under Q.
  [[nodiscard]] virtual double infinite_mass() const { return 0; }

  // The loss of its atoms, if there are any and all are at 0 or ± this; otherwise 0. A lattice that holds them loses
  // less.
  [[nodiscard]] virtual double atom_loss() const { return 0; }

  // An interval outside of which finite losses have a probability of at most `below` and `above` on its sides, under P.
  [[nodiscard]] virtual Interval range(double below, double above) const = 0;
};

// L = μ²/2 + μ N(0, 1): a Gaussian mechanism with noise multiplier 1/μ. Both directions are alike.
[[nodiscard]] std::unique_ptr<LossLaw> gaussian_law(double mu);

// A Laplace mechanism with noise multiplier 1/ε. Both directions are alike.
[[nodiscard]] std::unique_ptr<LossLaw> laplace_law(double epsilon);

// What every mechanism of ε-bounded range is dominated by (the exponential mechanism, adaptively composed).
[[nodiscard]] std::unique_ptr<LossLaw> bounded_range_law(double epsilon);

// Finitely many outcomes, each with its probabilities under P and Q, both to a few units in the last place (2^-49 of
// them).
struct Outcome {
  double p;
  double q;
};
[[nodiscard]] std::unique_ptr<LossLaw> finite_law(const std::vector<Outcome>& outcomes);

// The pair that every (ε, δ)-DP mechanism is dominated by (Kairouz, Oh, Viswanath 2015); randomized response if δ = 0.
[[nodiscard]] std::unique_ptr<LossLaw> epsilon_delta_law(double epsilon, double delta);

// Discrete Laplace noise of this scale on a whole number that moves by `shift` (whole, up to 2^53). Both directions are
// alike.
[[nodiscard]] std::unique_ptr<LossLaw> discrete_laplace_law(double scale, double shift);

// Discrete Gaussian noise on a whole number that moves by `shift`, or the sum of several with the same sigma. Requires
// sigma √summands ≤ 2^14, and gap_of_summed_gaussians() ≤ 1e-3. Both directions are alike.
[[nodiscard]] std::unique_ptr<LossLaw> discrete_gaussian_law(double sigma, double shift, double summands = 1);

// κ: the sum of so many discrete Gaussians has e^{−x²/2sσ²} (1 + η) at every x, |η| ≤ κ, up to one constant
// (certified_accounting.md, step 27). 0 for one.
[[nodiscard]] double gap_of_summed_gaussians(double sigma, double summands);

// Skellam noise of this variance on a whole number that moves by `shift` (whole). Requires 2^-10 ≤ variance ≤ 2^18 and
// shift ≤ 2^14. Both directions are alike. The law is log-concave, so that a smaller shift loses less.
[[nodiscard]] std::unique_ptr<LossLaw> skellam_law(double variance, double shift);

// A Poisson sample of rate q: (1 − q) Q + q P against Q (`remove`), or Q against that.
[[nodiscard]] std::unique_ptr<LossLaw> sampled_law(std::shared_ptr<const LossLaw> inner, double q, bool remove);

// A sample of fixed size without replacement, under replace-one, for an inner pair that is alike in both directions:
// the sampled pair's positive losses against the whole, and its negative ones the other way round (Zhu, Dong, Wang
// 2022).
[[nodiscard]] std::unique_ptr<LossLaw> fixed_size_law(const std::shared_ptr<const LossLaw>& inner, double q);

// (1 − q) N(0, z²) + q N(1, z²) against (1 − q) N(0, z²) + q N(−1, z²): two records that pull a sampled sum in opposite
// directions.
[[nodiscard]] std::unique_ptr<LossLaw> opposite_samples_law(double q, double multiplier);

// ε with δ(ε) ≤ e^log_delta, and δ(ε), of one mechanism alone: no composition, no lattice.
[[nodiscard]] Interval single_epsilon(const LossLaw& law, double log_delta);
[[nodiscard]] Interval single_delta(const LossLaw& law, double epsilon);

}  // namespace noisefloor
