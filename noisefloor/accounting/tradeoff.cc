#include "noisefloor/accounting/tradeoff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

struct ProfilePoint {
  double t;  // e^ε
  double delta_lower;
  double delta_upper;
};

// δ on a grid of ε from 0 to where it is negligible for a picture.
Result<std::vector<ProfilePoint>> profile(const DpEvent& event, Adjacency adjacency, int resolution) {
  constexpr Delta smallest = Delta::of(1e-10);
  NF_TRY(const Interval widest, pld_epsilon(event, adjacency, smallest));
  std::vector<ProfilePoint> points;
  for (int i = 0; i <= resolution; ++i) {
    // Denser near 0, where the curve bends.
    const double share = static_cast<double>(i) / resolution;
    NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(std::min(widest.upper, 700.0) * share * share));
    NF_TRY(const Interval delta, pld_delta(event, adjacency, epsilon));
    points.push_back({std::exp(epsilon.value()), delta.lower, delta.upper});
  }
  return points;
}

double beta_at(double t, double delta, double alpha) {
  return std::max(1 - delta - t * alpha, (1 - delta - alpha) / t);
}

// A line below δ on a cell: value at t.
struct Line {
  double t;
  double value;
  double slope;
  [[nodiscard]] double at(double x) const { return value + slope * (x - t); }
};

// The largest β that ε of cell [i, i + 1] could prove.
double beta_of_cell(const std::vector<ProfilePoint>& points, std::size_t i, double alpha) {
  const ProfilePoint& a = points[i];
  const ProfilePoint& b = points[i + 1];
  std::vector<Line> lines = {{b.t, b.delta_lower, 0}};
  if (i > 0) {
    const ProfilePoint& before = points[i - 1];
    lines.push_back({a.t, a.delta_lower, (a.delta_lower - before.delta_upper) / (a.t - before.t)});
  }
  if (i + 2 < points.size()) {
    const ProfilePoint& after = points[i + 2];
    lines.push_back({b.t, b.delta_lower, (after.delta_upper - b.delta_lower) / (after.t - b.t)});
  }
  std::vector<double> corners = {a.t, b.t};
  for (std::size_t j = 0; j < lines.size(); ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      const double meet = lines[k].t + (lines[j].at(lines[k].t) - lines[k].value) / (lines[k].slope - lines[j].slope);
      if (meet > a.t && meet < b.t) corners.push_back(meet);
    }
  }
  double beta = 0;
  for (double t : corners) {
    double delta = 0;
    for (const Line& line : lines) delta = std::max(delta, line.at(t));
    beta = std::max(beta, beta_at(t, delta, alpha));
  }
  return beta;
}

}  // namespace

Result<std::vector<TradeoffPoint>> tradeoff_curve(const DpEvent& event, Adjacency adjacency,
                                                  std::span<const double> alphas, int resolution) {
  for (double alpha : alphas) {
    if (!(alpha >= 0 && alpha <= 1)) {
      return invalid_argument(fmt::format("the type I error must be between 0 and 1; got {}", alpha));
    }
  }
  if (contains<NonPrivateEvent>(event)) {
    return invalid_argument("an event that is not private has no trade-off: everything can be told apart");
  }
  NF_TRY(const std::vector<ProfilePoint> points, profile(event, adjacency, resolution));
  std::vector<TradeoffPoint> curve;
  curve.reserve(alphas.size());
  for (double alpha : alphas) {
    double lower = 0;
    // Beyond the last ε nothing is known of δ but that it is not negative.
    double upper = beta_at(points.back().t, 0, alpha);
    for (std::size_t i = 0; i < points.size(); ++i) {
      lower = std::max(lower, beta_at(points[i].t, points[i].delta_upper, alpha));
      if (i + 1 < points.size()) upper = std::max(upper, beta_of_cell(points, i, alpha));
    }
    upper = std::min(upper * (1 + 1e-12), 1 - alpha);
    curve.push_back({alpha, std::min(lower * (1 - 1e-12), upper), upper});
  }
  return curve;
}

}  // namespace noisefloor
