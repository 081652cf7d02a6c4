// The data-dependent cost of many GNMax answers, with noise that hides whose votes it was found from.
//
// Guarantee:     sanitised_cost() releases Σ β(vᵢ) + SS · N(0, σ²), where β is the bound of vote_bounds.h at one order,
//                the votes vᵢ of all answers move by one vote each when one unit's data change, and SS is a β-smooth
//                bound on how far that moves the sum. What this release costs is stated by sanitising_event(), whatever
//                the votes are. It is refused where the bound's monotony, which the argument rests on, does not hold on
//                a fine grid.
// Implements:    Papernot et al. 2018, Section 4.3 and Appendix B: Algorithms 3 to 5, Theorem 23, conditions C5 and C6
//                (checked numerically).
// Requires:      order, smoothness and noise are fixed without looking at the votes. Which queries were answered may be
//                public: it was paid for by the thresholds.
// Not a bound:   the released number has noise of mean 0, and is as often below the data-dependent cost as above it;
//                how far it may be off depends on the votes and is private. The cost that certificates state is
//                data-independent.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/pate/vote_bounds.h"

namespace noisefloor {

using Votes = std::vector<std::uint32_t>;  // for each class

// One order of the bound for GNMax with its limits: above q0 the bound is data-independent; between q1 and q0 one moved
// vote may reach q0.
class SmoothedBound {
 public:
  // kInvalidArgument if the bound is nowhere below order/σ², or is not monotone as the argument needs it.
  [[nodiscard]] static Result<SmoothedBound> create(NoiseScale sigma, std::uint32_t classes, double order,
                                                    VoteNoise noise = VoteNoise::kContinuous);

  [[nodiscard]] double log_q0() const { return log_q0_; }
  [[nodiscard]] double log_q1() const { return log_q1_; }
  [[nodiscard]] double order() const { return order_; }

  // The bound for votes.
  [[nodiscard]] double cost(const Votes& votes) const;
  // How far one moved vote can move the bound, for votes that `distance` = 0, 1, … moves have made as bad as they can
  // be made: one number for each distance below the number of teachers.
  [[nodiscard]] std::vector<double> local_sensitivities(Votes votes) const;

 private:
  SmoothedBound(NoiseScale sigma, std::uint32_t classes, double order, VoteNoise noise)
      : sigma_(sigma), classes_(classes), order_(order), noise_(noise) {}

  [[nodiscard]] double divergence(double log_q) const { return gaussian_votes_divergence(log_q, sigma_, order_); }
  // ln of the largest and the smallest q that one moved vote can make of q.
  [[nodiscard]] double moved(double log_q, double by) const;
  [[nodiscard]] double local_sensitivity(double log_q) const;
  [[nodiscard]] bool is_monotone() const;

  NoiseScale sigma_;
  std::uint32_t classes_;
  double order_;
  VoteNoise noise_;
  double log_q0_ = 0;
  double log_q1_ = 0;
};

// max over d of e^(−smoothness · d) · Σᵢ (local sensitivity of answer i at distance d). Requires votes of one number of
// teachers (refused otherwise).
[[nodiscard]] Result<double> smooth_sensitivity(const SmoothedBound& bound, std::span<const Votes> votes,
                                                double smoothness);

// How the sum is released.
struct Sanitising {
  double order;       // of the bound; above 1
  double smoothness;  // β, below 1/(2 · order)
  NoiseScale noise;   // standard deviation in units of SS
  Delta delta;        // the part of δ that the release of the number takes; at least 1e-8
};

// The Rényi divergence at `order` of the release of the number: λ e^(2β)/σ² + (βλ − ½ ln(1 − 2βλ))/(λ − 1).
// kInvalidArgument unless smoothness is below 1/(2 · order).
[[nodiscard]] Result<double> sanitising_divergence(double order, double smoothness, NoiseScale noise);

// The cost of the release of the number: (ε, δ)-DP, the best that follows from all orders below 1/(2 · smoothness).
[[nodiscard]] Result<DpEvent> sanitising_event(const Sanitising& how);

}  // namespace noisefloor
