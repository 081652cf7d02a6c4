// How the gradient of one example is bounded before it enters a sum.
//
// Guarantee:     one example's contribution, factor(group) · its gradient in each group, has an L2 norm of at most
//                sensitivity(), as far as its squared norm is right to a relative kNormMargin. An example whose norm is
//                NaN or infinite gets factor 0: it adds nothing to the sum and never stops the run.
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

// Norms are sums of squares of floats, with an error of a few times 10^-6; factors are made smaller by more than that.
inline constexpr double kNormMargin = 0x1p-13;

// min(1, C/‖g‖) for the whole gradient.
struct FlatClip {
  ClipNorm norm;
};
// The same for each group of parameters (layer) separately. Sensitivity: √Σ C².
struct GroupClip {
  std::vector<ClipNorm> norms;
};
// C/(‖g‖ + γ): every gradient is brought to about one length, so that C need not be tuned (Bu et al. 2022).
struct AutomaticClip {
  ClipNorm norm;
  double gamma = 0.01;
};

class ClipRule {
 public:
  using Kind = std::variant<FlatClip, GroupClip, AutomaticClip>;

  // Fails if there is no norm in a GroupClip, or gamma is not a finite number above 0.
  [[nodiscard]] static Result<ClipRule> create(Kind kind);

  // How far one example can move the sum, in L2.
  [[nodiscard]] L2Sensitivity sensitivity() const { return sensitivity_; }
  [[nodiscard]] const Kind& kind() const { return kind_; }

  // factors[group · examples + e] from squared_norms[group · examples + e]; `examples` = squared_norms.size() / groups.
  // Returns how many of the first `counted` examples have a norm of at most the clip norm (for GroupClip: in all
  // groups).
  // Requires: as many groups as a GroupClip has (checked).
  std::size_t factors(std::span<const float> squared_norms, std::size_t groups, std::size_t counted,
                      std::span<float> factors) const;
  std::size_t factors(std::span<const double> squared_norms, std::size_t groups, std::size_t counted,
                      std::span<double> factors) const;

 private:
  template <class Number>
  std::size_t fill(std::span<const Number> squared_norms, std::size_t groups, std::size_t counted,
                   std::span<Number> factors) const;
  ClipRule(Kind kind, L2Sensitivity sensitivity) : kind_(std::move(kind)), sensitivity_(sensitivity) {}

  Kind kind_;
  L2Sensitivity sensitivity_;
};

}  // namespace noisefloor
