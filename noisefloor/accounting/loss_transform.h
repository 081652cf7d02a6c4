// The moment transform of a privacy loss, with certified errors: what the contour accountant (contour.h) integrates.
//
// A mechanism has a dominating pair of laws P and Q for each direction of a neighbouring relation. Its privacy loss is
// L = ln dP/dQ under P, and its transform is φ(s) = E_P[e^{sL}], for Re s ≥ 0. Independent losses add up, so that their
// transforms multiply.
//
// Internal to accounting/.
#pragma once

#include <complex>
#include <memory>
#include <span>

namespace noisefloor {

// φ(c), as ln φ and its first two derivatives in c. Good to a few digits: it only decides where to integrate.
struct MomentEstimate {
  double log_moment;
  double slope;
  double curvature;
};

// φ on one vertical line Re s = c > 0.
class TransformOnLine {
 public:
  TransformOnLine() = default;
  TransformOnLine(const TransformOnLine&) = delete;
  TransformOnLine& operator=(const TransformOnLine&) = delete;
  virtual ~TransformOnLine() = default;

  // |φ(c + iy)| ≤ φ(c) (1 − decay(Y)) for every y ≥ Y: a lower bound, non-decreasing in Y and in [0, 1).
  [[nodiscard]] virtual double decay(double y) const = 0;

  // About how many operations one node of evaluate() costs, if nodes reach up to y.
  [[nodiscard]] virtual double cost(double y) const = 0;

  // ln φ(c) is within `log_moment_error` of `log_moment`, up to 2^-51 of itself, and φ(c + iyₙ)/φ(c) − 1 at yₙ = h,
  // 2h, …, Nh is within `errors[n]` of `ratios[n]`; both aim at `tolerance`. Errors are infinite where nothing is
  // known.
  struct Values {
    double log_moment;
    double log_moment_error;
  };
  virtual Values evaluate(double h, double tolerance, std::span<std::complex<double>> ratios,
                          std::span<double> errors) const = 0;
};

class LossTransform {
 public:
  virtual ~LossTransform() = default;

  [[nodiscard]] virtual MomentEstimate estimate(double c) const = 0;

  // A bound on the largest loss, or infinity.
  [[nodiscard]] virtual double max_loss() const = 0;

  // The same law without its largest losses, of probability `mass` at most. A tail that matters for no δ above `mass`
  // can make moments astronomical. `lost_mass` is an upper bound of what is missing to 1.
  [[nodiscard]] virtual std::unique_ptr<LossTransform> truncated(double mass) const = 0;
  [[nodiscard]] virtual double lost_mass() const = 0;

  [[nodiscard]] virtual std::unique_ptr<TransformOnLine> on_line(double c) const = 0;

 protected:
  LossTransform() = default;
  LossTransform(const LossTransform&) = default;
  LossTransform& operator=(const LossTransform&) = default;
};

}  // namespace noisefloor
