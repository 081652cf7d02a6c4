// The trade-off curve of N(0, 1) against N(μ, 1), for audits that compare with it or assume it.
//
// Thread safety: pure functions.
#pragma once

#include "noisefloor/base/privacy_types.h"

namespace noisefloor::audit {

// The share of members that the best test misses at this rate of false alarms: Φ(Φ⁻¹(1 − α) − μ).
[[nodiscard]] double gaussian_missed(double mu, double false_alarms);
// The least rate of false alarms at which a test can find this share of members: Φ(Φ⁻¹(found) − μ).
[[nodiscard]] double gaussian_false_alarms(double mu, double found);

// ε at δ of that curve, and μ of the curve with this ε at δ; to a relative 1e-12. 0 for μ 0. With δ = 0 ε is infinite.
[[nodiscard]] double epsilon_of_gaussian(double mu, Delta delta);
[[nodiscard]] double mu_of_gaussian(Epsilon epsilon, Delta delta);

// The most that any attack on membership reaches under that curve: the area under its ROC curve, and its largest lead
// of found over false alarms.
[[nodiscard]] double gaussian_auc(double mu);
[[nodiscard]] double gaussian_advantage(double mu);

// The same under (ε, δ)-DP.
[[nodiscard]] double most_auc(Epsilon epsilon, Delta delta);
[[nodiscard]] double most_advantage(Epsilon epsilon, Delta delta);

}  // namespace noisefloor::audit
