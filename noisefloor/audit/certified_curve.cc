#include "noisefloor/audit/certified_curve.h"

#include <algorithm>
#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor::audit {
namespace {

constexpr int kPoints = 48;
constexpr double kLargestEpsilon = 700;  // e^ε is a number up to here
// Results are computed with a few roundings, each a relative 2^-53.
constexpr double kRounding = 1e-14;

}  // namespace

Result<CertifiedCurve> CertifiedCurve::create(const DpEvent& event, Adjacency adjacency, Delta delta) {
  if (contains<NonPrivateEvent>(event)) {
    return invalid_argument("an event that is not private certifies nothing that an audit could refute");
  }
  NF_TRY(const Interval widest, pld_epsilon(event, adjacency, Delta::of(1e-12)));
  std::vector<Point> points;
  for (int i = 0; i <= kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;  // denser near 0, where the curve bends
    NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(std::min(widest.upper, kLargestEpsilon) * share * share));
    NF_TRY(const Interval at, pld_delta(event, adjacency, epsilon));
    points.push_back({std::exp(epsilon.value()), at.upper});
  }
  NF_TRY(const Interval epsilon, pld_epsilon(event, adjacency, delta));
  return CertifiedCurve(std::move(points), epsilon, delta);
}

// Every (ε, δ) says found ≤ e^ε · alarms + δ, and the same of those who were not there.
double CertifiedCurve::false_alarms(double found) const {
  double least = 0;
  for (const Point& point : points_) {
    least = std::max({least, (found - point.delta) / point.ratio, 1 - point.delta - point.ratio * (1 - found)});
  }
  return std::max(0.0, least - kRounding);
}

double CertifiedCurve::missed(double false_alarms) const {
  double least = 0;
  for (const Point& point : points_) {
    least =
        std::max({least, 1 - point.delta - point.ratio * false_alarms, (1 - point.delta - false_alarms) / point.ratio});
  }
  return std::max(0.0, least - kRounding);
}

}  // namespace noisefloor::audit
