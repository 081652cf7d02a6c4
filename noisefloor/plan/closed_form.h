// Proactive DP in closed form: which σ, rounds T and sample sizes keep (ε, δ), by the theorems of the paper.
//
// Guarantee:     where all conditions of a theorem hold, training with Poisson samples of these expected sizes and
//                Gaussian noise of σ times the clip norm is (ε, δ)-DP for add-remove neighbours. The tests check that
//                against the certified accountant. Formulas are evaluated in double precision with γ rounded up.
// Implements:    van Dijk et al. 2024 (Proactive DP): Theorem 3.1, Theorem B.2, Theorem B.4, appendix D.4. σ follows
//                equations (1), (6) and (35), and γ is the root of (55): both are misprinted in places. B.4 has (1 −
//                √ᾱ)² in (55) where B.2's u0 would give 1 − ᾱ − 2√ᾱ, so that a plan on its boundary can miss B.2's own
//                condition by a little. GammaMode::kPaper gives the printed tables, which stop at the first update of γ
//                and leave ε out of σ; that proves nothing.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/plan/sample_sizes.h"

namespace noisefloor {

namespace proactive {

[[nodiscard]] double h(double sigma);  // (√(1 + (e/σ)²) − e/σ)²
[[nodiscard]] double g(double sigma);  // min{1/(eσ), h(σ)}
// The right-hand side of (55) at ᾱ. Infinite from h(σ) on.
[[nodiscard]] double gamma_bound(double sigma, double alpha);
// The smallest γ with γ ≥ gamma_bound(σ, (ε/k)/γ), rounded up.
[[nodiscard]] double gamma(double sigma, double epsilon_per_epoch);
// γ after one update from γ = 2, as in the paper's calculators.
[[nodiscard]] double gamma_once(double sigma, double epsilon_per_epoch);
// √(2(ε + ln(1/δ))/ε), and its inverse, which is infinite for σ ≤ √2.
[[nodiscard]] double sigma_for(double epsilon, double delta);
[[nodiscard]] double epsilon_for(double sigma, double delta);

}  // namespace proactive

// One condition of a theorem: value ≤ bound, or value ≥ bound.
struct Condition {
  std::string name;       // the paper's number for it
  std::string statement;  // in words
  double value;
  bool at_least;  // value ≥ bound; otherwise value ≤ bound
  double bound;
  bool holds;
  std::string remedy;  // the nearest value that would satisfy it, if the condition fails
};

// All quantities that the theorems use.
struct ProactiveSetting {
  Rows rows;
  Epsilon epsilon;
  Delta delta;
  NoiseMultiplier noise;
  SampleSizes sizes;
};

[[nodiscard]] bool all_hold(const std::vector<Condition>& conditions);

// Requires: δ > 0, here and below.
[[nodiscard]] std::vector<Condition> theorem_3_1(const ProactiveSetting& setting);
[[nodiscard]] std::vector<Condition> theorem_b2(const ProactiveSetting& setting);
[[nodiscard]] std::vector<Condition> theorem_b4(const ProactiveSetting& setting);

enum class GammaMode : std::uint8_t { kRoot, kPaper };

struct ClosedFormQuestion {
  Rows rows;
  double epochs;  // k = K/N
  Delta delta;
  double growth = 0;  // sizes grow with this power of the round
};

struct ClosedFormPlan {
  ProactiveSetting setting;
  double gamma;
  double alpha;                  // ᾱ = ε/(γk)
  double min_rounds;             // γθ²k²/ε
  double min_rounds_asymptotic;  // θ²k²/(2ε): below this no (ε, δ) can hold for all parameters
  double mean_size;              // kN/min_rounds: the largest possible size if sizes are constant
  double mean_size_asymptotic;   // kN/min_rounds_asymptotic
};

// The largest sample sizes that Theorem B.4 allows, and σ by (62). In kPaper mode this is the calculator of E.1 for a
// first phase. kInvalidArgument, with the most epochs that fit, if even samples of one are too many.
[[nodiscard]] Result<ClosedFormPlan> closed_form_plan(const ClosedFormQuestion& question, Epsilon epsilon,
                                                      GammaMode mode = GammaMode::kRoot);
// The same with σ given: ε follows (appendix D.4). kInvalidArgument for σ ≤ √2.
[[nodiscard]] Result<ClosedFormPlan> closed_form_plan(const ClosedFormQuestion& question, NoiseMultiplier noise,
                                                      GammaMode mode = GammaMode::kRoot);

// The accountant's ε for this setting: Poisson samples, add-remove neighbours. Every plan is checked with it before it
// is shown.
[[nodiscard]] Result<Interval> certified_epsilon(const ProactiveSetting& setting);

// The most epochs that any training at ε can have by the remark on reusing data, k ≤ εN/(γθ²): with samples of one row.
[[nodiscard]] double most_epochs(const ClosedFormQuestion& question, Epsilon epsilon);

}  // namespace noisefloor
