// δ(ε) of composed mechanisms by integrating their transforms along a line: certified, and fast where the number of
// steps is large.
//
//   δ(ε) = (1/2πi) ∫ e^{Σ ln φ(s) − sε} / (s (s + 1)) ds     over Re s = c, for any c > 0
//
// Guarantee:   the bounds hold for the composition of the given losses: the trapezoid rule on this line adds e^{ckW}
//              δ(ε + kW) for k ≠ 0, which is never negative and bounded by Chernoff; the rest of the line is bounded by
//              the transforms' decay; errors of φ and of rounding are added up. docs/proofs/certified_accounting.md.
// Implements:  the saddle-point idea of Alghamdi et al. 2023, with errors that are bounds and not estimates.
// Thread safety: pure functions.
//
// Internal to accounting/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/accounting/loss_transform.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

struct RepeatedLoss {
  const LossTransform* loss;
  double count;  // a whole number, 1 or above
};

// The integral on one line, for ε near the one that it was made for.
class ContourIntegral {
 public:
  // Chooses the line for the ε whose δ is `log_delta` (natural logarithm). Nothing if the integral would cost more than
  // `max_operations`.
  [[nodiscard]] static std::optional<ContourIntegral> for_delta(std::span<const RepeatedLoss> losses, double log_delta,
                                                                double max_operations);
  [[nodiscard]] static std::optional<ContourIntegral> for_epsilon(std::span<const RepeatedLoss> whole, double epsilon,
                                                                  double max_operations);

  // On a line near c = `tilt`, for an ε that is about known, in one attempt. Besides these losses it takes in a
  // Gaussian one whose deviation is `smoothing`: what comes out is not below δ without it, and smooth enough for a
  // short line (step 31).
  [[nodiscard]] static std::optional<ContourIntegral> smoothed(std::span<const RepeatedLoss> losses, double log_delta,
                                                               double epsilon, double tilt, double smoothing,
                                                               double max_operations);

  // Bounds on ln δ(ε).
  [[nodiscard]] Interval log_delta(double epsilon) const;

  // The same with the slope of ln δ, about, and for smoothed losses with a bound of ln of the density of their sum at ε
  // from above.
  struct Local {
    Interval log_delta;
    double slope;
    double log_density;
  };
  [[nodiscard]] Local local(double epsilon) const;

  // Bounds on the smallest ε ≥ 0 whose δ(ε) is at most e^log_delta.
  [[nodiscard]] Interval epsilon(double log_delta) const;

 private:
  struct Sample;
  struct Saddle;
  struct Truncated;
  static std::optional<ContourIntegral> search(std::span<const RepeatedLoss> losses, double log_delta,
                                               double max_operations);
  static Saddle saddle_at(const Sample& sample);
  static std::vector<Sample> samples_for(std::span<const RepeatedLoss> losses, double log_delta,
                                         std::optional<double> start = std::nullopt);
  static std::optional<ContourIntegral> on_line(std::span<const RepeatedLoss> losses, std::span<const Sample> samples,
                                                double epsilon, double log_delta, double max_operations,
                                                double smoothing = 0);

  struct Sum {
    double value;  // e^{cε − Σ ln φ(c)} δ(ε), with the aliases
    double error;
    double slope;        // of ln value in ε, including −c
    double density = 0;  // where losses are smoothed: e^{cε − Σ ln φ(c)} times their density, from above
  };
  [[nodiscard]] Sum sum(double epsilon) const;
  void drop_small_nodes();
  [[nodiscard]] Interval log_delta(double epsilon, const Sum& s) const;
  [[nodiscard]] double log_density(double epsilon, const Sum& s) const;

  double c_ = 0;
  double h_ = 0;
  double log_moment_ = 0;  // Σ ln φ(c)
  double log_moment_error_ = 0;
  double centre_ = 0;              // the ε it was made for
  std::vector<double> magnitude_;  // of φ(s)/φ(c)/(s (s + 1)), composed
  std::vector<double> phase_;
  std::vector<double> node_error_;
  double tail_ = 0;          // of the nodes that are left out
  double density_tail_ = 0;  // of some of them, without the factor 1/s(s + 1)
  double last_node_ = 0;     // where all of them were known, and no more
  double alias_order_ = 0;   // c′ and Σ ln φ(c′), upper bound, for the aliases above
  double alias_log_moment_ = 0;
  double max_loss_ = 0;
  double smoothing_ = 0;  // the deviation of the Gaussian loss among them
  double lost_mass_ = 0;  // of truncated losses: it counts as if its loss were infinite
};

}  // namespace noisefloor
