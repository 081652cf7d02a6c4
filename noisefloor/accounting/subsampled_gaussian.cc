#include "noisefloor/accounting/subsampled_gaussian.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace noisefloor {
namespace {

constexpr double kPi = std::numbers::pi;
// Integrands that need more are left to others.
constexpr std::size_t kMaxPoints = 20'000;

// P(N(0, 1) > x), not below the true value.
double normal_tail_up(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2) * (1 + 1e-12) + 1e-300; }

// The parameters of one transform, and what the proofs need of w.
struct Law {
  double q;
  double sigma;
  Direction direction;
  double x_max;  // where the law is cut off
  double c;      // real part of s

  // φ(s) integrates n₀ w^κ with κ = 1 + s (remove) or −s (add); this is its real part.
  [[nodiscard]] double kappa() const { return direction == Direction::kRemove ? 1 + c : -c; }
  [[nodiscard]] double exponent(double x) const { return (2 * x - 1) / (2 * sigma * sigma); }
  // ln w(x), to a few units in the last place, relatively where it is small.
  [[nodiscard]] double log_w(double x) const {
    const double u = exponent(x);
    if (u > 700) return u + std::log(q);
    const double excess = q * std::expm1(u);
    return std::fabs(excess) < 0.5 ? std::log1p(excess) : std::log((1 - q) + q * std::exp(u));
  }
  // q e^u / w, the share of the second component; its logarithm is what the derivative of ln w is made of.
  [[nodiscard]] double share(double x) const {
    const double u = exponent(x);
    return u > 0 ? q / ((1 - q) * std::exp(-u) + q) : q * std::exp(u) / ((1 - q) + q * std::exp(u));
  }
  // ln of the density of N(0, σ²).
  [[nodiscard]] double log_normal(double x) const {
    return -x * x / (2 * sigma * sigma) - std::log(sigma) - 0.5 * std::log(2 * kPi);
  }

  // ∫ n₀ w^κ over x < lower and over x > upper, with the first term of a sum of step Δ, bounded from above.
  [[nodiscard]] double left_tail(double lower, double step) const;
  [[nodiscard]] double right_tail(double upper, double step) const;
  // A window outside of which the integrals of n₀ w^κ and of p itself are below `mass` on each side.
  struct Window {
    double lower;
    double upper;
  };
  [[nodiscard]] Window window(double mass, double step) const;
  [[nodiscard]] Law untilted() const { return {q, sigma, direction, x_max, 0}; }
  // What both leave outside.
  [[nodiscard]] double outside(Window window, double step) const;
  // P(x > x_max) under P: what is cut off.
  [[nodiscard]] double lost_mass() const {
    if (direction == Direction::kAdd) return 0;
    return (1 - q) * 0.5 * std::erfc(x_max / sigma / std::numbers::sqrt2) +
           q * 0.5 * std::erfc((x_max - 1) / sigma / std::numbers::sqrt2);
  }
};

// The tail of amplitude · N(mean, σ²) beyond a distance of `far` (in σ) and one term of its sum.
double gaussian_tail(double log_amplitude, double far, double step_in_sigma) {
  const double density = std::exp(-far * far / 2) / std::sqrt(2 * kPi) * (1 + 1e-12);
  return std::exp(log_amplitude) * (normal_tail_up(far) + std::max(0.0, step_in_sigma) * density) * (1 + 1e-9);
}

double Law::left_tail(double lower, double step) const {
  const double k = kappa();
  const double s2 = sigma * sigma;
  if (direction == Direction::kRemove) {
    // w ≤ 1 for x ≤ ½, and w ≤ 1 − q + q e^u always: use the first.
    if (lower > 0.5) return std::numeric_limits<double>::infinity();
    return gaussian_tail(0, -lower / sigma, step / sigma);
  }
  // w^−c ≤ (1 − q)^−c, and w^−c ≤ q^−c e^−cu, which is a Gaussian around −c.
  const double flat = gaussian_tail(k * std::log1p(-q), -lower / sigma, step / sigma);
  const double around = -lower - c;
  if (around <= 0) return flat;
  return std::min(flat, gaussian_tail(-c * std::log(q) + c * (c + 1) / (2 * s2), around / sigma, step / sigma));
}

double Law::right_tail(double upper, double step) const {
  if (upper < 0.5) return std::numeric_limits<double>::infinity();
  const double s2 = sigma * sigma;
  if (direction == Direction::kAdd) return gaussian_tail(0, upper / sigma, step / sigma);
  // Beyond `upper`, w ≤ e^u (q + (1 − q) e^−u(upper)): a Gaussian around 1 + c.
  const double k = kappa();
  const double around = upper - k;
  if (around <= 0) return std::numeric_limits<double>::infinity();
  const double log_factor = std::log(q + (1 - q) * std::exp(-exponent(upper)));
  return gaussian_tail(k * log_factor + k * (k - 1) / (2 * s2), around / sigma, step / sigma);
}

Law::Window Law::window(double mass, double step) const {
  // Both tails fall monotonically where they are finite: double the distance, then halve the interval.
  const auto solve = [&](double start, double sign, auto&& tail) {
    double near = start;
    double far = start + sign * sigma;
    for (int i = 0; i < 60 && tail(far) > mass; ++i) {
      near = far;
      far += sign * sigma * std::exp2(std::min(i, 20) * 0.5);
    }
    for (int i = 0; i < 6; ++i) {
      const double middle = near + (far - near) / 2;
      (tail(middle) > mass ? near : far) = middle;
    }
    return far;
  };
  const Law plain = untilted();
  return {solve(std::min(0.0, 0.5 - sigma), -1,
                [&](double x) { return std::max(left_tail(x, step), plain.left_tail(x, step)); }),
          solve(0.5, 1, [&](double x) { return std::max(right_tail(x, step), plain.right_tail(x, step)); })};
}

double Law::outside(Window window, double step) const {
  const Law plain = untilted();
  return left_tail(window.lower, step) + right_tail(window.upper, step) + plain.left_tail(window.lower, step) +
         plain.right_tail(window.upper, step);
}

// Cells between coarse points, with certified bounds of the integrand on each: for the decay and for quadrature errors.
struct Cells {
  double width;
  bool cut;                   // whether the integral ends at x_max: more than 1e-25 of it lies beyond
  std::size_t inside;         // how many cells there are up to the end of the integral; the others are beyond x_max
  std::vector<double> x;      // edges
  std::vector<double> log_w;  // at the edges
  std::vector<double> share;  // at the edges
  std::vector<double> log_tilted;  // ln(n₀ w^κ) = ln(p e^{cL}) at the edges
  std::vector<double> log_mass;    // the larger of that and ln p
};

Cells make_cells(const Law& law, double scale) {
  const Law::Window window = law.window(1e-25 * scale, 0);
  Cells cells;
  cells.cut = window.upper > law.x_max;
  const double upper = std::min(window.upper, law.x_max);
  // Second-order bounds on a cell lose at most the exponent width² · |κ| r(1 − r)/8σ⁴: keep that small.
  const double s2 = law.sigma * law.sigma;
  const double width = std::min(law.sigma / 3, 1.2 * s2 / std::sqrt(1 + std::fabs(law.kappa()) * law.share(upper)));
  cells.inside = static_cast<std::size_t>(std::clamp(std::ceil((upper - window.lower) / width), 8.0, 4000.0));
  cells.width = (upper - window.lower) / static_cast<double>(cells.inside);
  const auto beyond = static_cast<std::size_t>(cells.cut ? std::ceil(1.5 * std::min(s2, law.sigma) / cells.width) : 0);
  for (std::size_t i = 0; i <= cells.inside + beyond; ++i) {
    const double x = window.lower + cells.width * static_cast<double>(i);
    cells.x.push_back(x);
    cells.log_w.push_back(law.log_w(x));
    cells.share.push_back(law.share(x));
    cells.log_tilted.push_back(law.log_normal(x) + law.kappa() * cells.log_w.back());
    cells.log_mass.push_back(
        std::max(cells.log_tilted.back(), law.log_normal(x) + law.untilted().kappa() * cells.log_w.back()));
  }
  return cells;
}

// A point of a quadrature rule.
struct Point {
  double x;
  double weight;
};

// A part of the loss's tilted law that is uniform: nested intervals below the density.
struct Layer {
  double length;  // of the interval, in units of loss
  double mass;
};

class OnLine final : public TransformOnLine {
 public:
  // `scale` is about φ(c), or 1 if that is larger: errors are measured by it.
  OnLine(Law law, double scale) : law_(law), scale_(scale), cells_(make_cells(law, scale)) { find_layers(); }

  [[nodiscard]] double decay(double y) const override {
    // A uniform law of length ℓ has the transform sin(z)/z with z = yℓ/2: what it falls short of its mass, for all larger
    // y as well. (|sin z|/z falls up to 2.5 and stays below its value there.)
    double sum = 0;
    for (const Layer& layer : layers_) {
      const double z = std::min(y * layer.length / 2, 2.5);
      const double missing = z < 0.1 ? z * z / 6 * (1 - z * z / 20) : 1 - std::sin(z) / z;
      sum += layer.mass * missing;
    }
    return std::clamp(sum / moment_up_ * (1 - 1e-9), 0.0, 1 - 1e-9);
  }

  [[nodiscard]] double cost(double y) const override {
    if (cells_.cut) {
      const Rule rule = panels(y, 1e-16 * scale_);
      return std::isfinite(rule.error) ? static_cast<double>(rule.points.size()) : rule.error;
    }
    return (cells_.x.back() - cells_.x.front()) / quadrature_step(y, 1e-16 * scale_);
  }

  Values evaluate(double h, double tolerance, std::span<std::complex<double>> ratios,
                  std::span<double> errors) const override;

 private:
  void find_layers();
  // The best bound found; the search ends at one that is `enough`.
  [[nodiscard]] double quadrature_error(double step, double y, double enough) const;
  [[nodiscard]] double quadrature_error(double step, double y, double theta_max, double limit) const;
  [[nodiscard]] double quadrature_step(double y, double tolerance) const;
  // A rule for ∫ p (e^{sL} − 1) dx up to |Im s| = y, and a bound of its error.
  struct Rule {
    std::vector<Point> points;
    double error;
  };
  [[nodiscard]] Rule trapezoid(double y, double tolerance) const;
  [[nodiscard]] Rule panels(double y, double tolerance) const;
  void add_panel(double middle, double half, double y, double tolerance, Rule& rule) const;

  Law law_;
  double scale_;
  Cells cells_;
  std::vector<Layer> layers_;
  double moment_up_ = 0;  // not below φ(c)
};

void OnLine::find_layers() {
  // The density of the loss at x is n₀ w^κ / |L′| with |L′| = r/σ². On a cell its logarithm is concave plus (κ + 1) ln w.
  const std::size_t cells = cells_.inside;
  const double s2 = law_.sigma * law_.sigma;
  const double b = law_.kappa() + 1;
  std::vector<double> density(cells);
  std::vector<double> length(cells);
  double moment = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    const auto log_density = [&](std::size_t k) { return cells_.log_tilted[k] + std::log(s2 / cells_.share[k]); };
    const double r = cells_.share[i + 1];
    const double bend = cells_.width * cells_.width / (8 * s2 * s2);
    const double sag = b > 0 ? b * bend * std::min(0.25, r) : 0;
    density[i] = std::exp(std::min(log_density(i), log_density(i + 1)) - sag) * (1 - 1e-9);
    length[i] = std::fabs(cells_.log_w[i + 1] - cells_.log_w[i]) * (1 - 1e-9);
    if (!std::isfinite(density[i]) || cells_.share[i] < 1e-280) density[i] = 0;
    // An upper bound of the moment: the chord of the convex part is above it, the concave one exceeds its own by `bow`.
    const double bow =
        cells_.width * cells_.width / (8 * s2) + (law_.kappa() < 0 ? law_.c * bend * std::min(0.25, r) : 0);
    moment += cells_.width * std::exp(std::max(cells_.log_tilted[i], cells_.log_tilted[i + 1]) + bow);
  }
  moment_up_ = moment * (1 + 1e-9) + 1e-24;
  // The largest unimodal function below the density: running minima away from the mode. Grow an interval from the mode
  // by the higher neighbour; each fall in height leaves a layer.
  const auto mode = static_cast<std::size_t>(std::max_element(density.begin(), density.end()) - density.begin());
  std::size_t left = mode;
  std::size_t right = mode + 1;
  double height = density[mode];
  double interval = length[mode];
  while (height > 0) {
    const double down = left > 0 ? std::min(height, density[left - 1]) : 0;
    const double up = right < cells ? std::min(height, density[right]) : 0;
    const double next = std::max(down, up);
    if (next < height) {
      layers_.push_back({interval, (height - next) * interval});
      height = next;
    }
    if (next == 0) break;
    interval += down >= up ? length[--left] : length[right++];
  }
}

// The trapezoid rule with step Δ on the whole line is wrong by at most 2 ∫ |G(x + iη)| / (e^{2πη/Δ} − 1) √(1 + η′²) dx,
// for any curve η(x) > 0 in the strip where G is analytic. With η = θσ²: n₀ grows by e^{θ²σ²/2}, w^−c by cos(θ/2)^−c at
// most, and |e^{iyL}| = e^{y arg w} with arg w ≤ θ min(1, r/cos θ). Either θ is the same everywhere, or it is so small
// where r is large that y arg w ≤ C.
double OnLine::quadrature_error(double step, double y, double enough) const {
  const double s2 = law_.sigma * law_.sigma;
  const double growth = s2 + (law_.direction == Direction::kAdd ? law_.c / 4 : 0);
  const double theta_max = std::min(1.0, 2 * kPi * s2 / step / growth);
  double best = std::numeric_limits<double>::infinity();
  const auto attempt = [&](double theta, double limit) {
    if (best > enough) best = std::min(best, quadrature_error(step, y, theta, limit));
  };
  attempt(theta_max, y > 0 ? 4.0 : std::numeric_limits<double>::infinity());
  if (y > 0) {
    for (double theta : {1.0, 0.4}) attempt(theta * theta_max, std::numeric_limits<double>::infinity());
  }
  return best;
}

double OnLine::quadrature_error(double step, double y, double theta_max, double limit) const {
  const double s2 = law_.sigma * law_.sigma;
  const double cosine = std::cos(theta_max);
  const bool add = law_.direction == Direction::kAdd;
  const auto theta_at = [&](double share) {
    return y * share * theta_max > limit * cosine ? limit * cosine / (y * share) : theta_max;
  };
  const auto swell = [&](double theta) {
    return theta * theta * s2 / 2 - (add ? law_.c * std::log(std::cos(theta / 2)) : 0);
  };
  const double bow = cells_.width * cells_.width / (8 * s2) * (1 + (add ? law_.c * 0.25 / s2 : 0));
  const double worst_swell = swell(theta_max);
  double error = 0;
  for (std::size_t i = 0; i < cells_.inside; ++i) {
    const double r = cells_.share[i + 1];
    const double theta = theta_at(r);
    const double turn = std::min(limit, y * theta_at(cells_.share[i]) * std::min(1.0, r / cosine));
    const double log_mass = std::max(cells_.log_mass[i], cells_.log_mass[i + 1]) + bow;
    const double exponent = log_mass + worst_swell + turn - 2 * kPi * theta * s2 / step;
    if (exponent > -100) error += std::exp(exponent) / -std::expm1(-2 * kPi * theta * s2 / step);
  }
  error = cells_.width * error + 1e-30;  // what was left out is below e^-80 times the range
  // Beyond the window the mass is below 1e-25 on each side, for both terms of e^{sL} − 1.
  const double theta = theta_at(1);
  const double turn = std::min(limit, y * theta_max);
  const double outside = 4e-25 * scale_ * std::exp(worst_swell + turn - 2 * kPi * theta * s2 / step) /
                         -std::expm1(-2 * kPi * theta * s2 / step);
  // √(1 + η′²) ≤ √2 as |η′| ≤ θ ≤ 1; twice for both sides of the line, and twice for e^{sL} and 1.
  return 4 * std::numbers::sqrt2 * (error + outside);
}

double OnLine::quadrature_step(double y, double tolerance) const {
  const double s2 = law_.sigma * law_.sigma;
  double high = std::min(law_.sigma, 4 * s2);
  if (quadrature_error(high, y, tolerance) <= tolerance) return high;
  double low = high;
  while (quadrature_error(low, y, tolerance) > tolerance && low > 1e-6 * s2) {
    high = low;
    low /= 2;
  }
  for (int i = 0; i < 3; ++i) {
    const double middle = std::sqrt(low * high);
    (quadrature_error(middle, y, tolerance) <= tolerance ? low : high) = middle;
  }
  return low;
}

OnLine::Rule OnLine::trapezoid(double y, double tolerance) const {
  const double step = quadrature_step(y, tolerance);
  const Law::Window window = law_.window(tolerance / 2, step);
  Rule rule{{}, quadrature_error(step, y, tolerance) + law_.outside(window, step)};
  const auto count = static_cast<std::size_t>(std::ceil((window.upper - window.lower) / step)) + 1;
  rule.points.reserve(count);
  for (std::size_t j = 0; j < count; ++j) {
    rule.points.push_back({window.lower + step * static_cast<double>(j), step});
  }
  return rule;
}

// Gauss-Legendre panels up to x_max, each as wide as its error allows.
OnLine::Rule OnLine::panels(double y, double tolerance) const {
  const Law::Window window = law_.window(tolerance / 2, 0);
  Rule rule{{}, law_.left_tail(window.lower, 0) + law_.untilted().left_tail(window.lower, 0)};
  const double range = law_.x_max - window.lower;
  const double width = 2 * std::min(law_.sigma * law_.sigma, law_.sigma);
  const auto count = static_cast<std::size_t>(std::ceil(range / width));
  const double half = range / static_cast<double>(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    const double middle = window.lower + half * static_cast<double>(2 * k + 1);
    add_panel(middle, half, y, tolerance / range, rule);
  }
  return rule;
}

// The error of N points is at most half · 64/15 M ρ^{2−2N}/(1 − ρ^−2), with M the maximum of |G| on the ellipse whose
// half-axes add up to half · ρ (Trefethen 2013, Theorem 19.3). It lies in the strip |Im x| ≤ θσ²: bounds as above.
void OnLine::add_panel(double middle, double half, double y, double tolerance, Rule& rule) const {
  using Gauss = boost::math::quadrature::gauss<double, 20>;
  const double s2 = law_.sigma * law_.sigma;
  double best = std::numeric_limits<double>::infinity();
  for (double rho : {8.0, 4.0, 2.5, 1.7}) {
    const double theta = half * (rho - 1 / rho) / 2 / s2;
    const double reach = half * (rho + 1 / rho) / 2;
    if (theta > 1) continue;
    // The cells that the ellipse touches. To the left of all cells the mass is below that of the first.
    const double first = cells_.x.front();
    const double from = std::max((middle - reach - first) / cells_.width, 0.0);
    const double to = (middle + reach - first) / cells_.width;
    const std::size_t last = cells_.x.size() - 1;
    if (to > static_cast<double>(last)) continue;
    double log_mass = -std::numeric_limits<double>::infinity();
    for (auto k = static_cast<std::size_t>(from); k <= std::min(static_cast<std::size_t>(to) + 1, last); ++k) {
      log_mass = std::max(log_mass, cells_.log_mass[k]);
    }
    const double r = cells_.share[std::min(static_cast<std::size_t>(to) + 1, last)];
    const double turn = y * theta * std::min(1.0, r / std::cos(theta));
    const double bow = cells_.width * cells_.width / (8 * s2);
    const double log_error = log_mass + bow + theta * theta * s2 / 2 + turn - 38 * std::log(rho);
    best = std::min(best, 2 * half * 64 / 15 / (1 - 1 / (rho * rho)) * std::exp(log_error) * (1 + 1e-9));
  }
  if (rule.points.size() > kMaxPoints) {
    rule.error = std::numeric_limits<double>::infinity();
    return;
  }
  if (best > tolerance * 2 * half && half > 1e-4 * s2) {
    add_panel(middle - half / 2, half / 2, y, tolerance, rule);
    add_panel(middle + half / 2, half / 2, y, tolerance, rule);
    return;
  }
  rule.error += best;
  for (std::size_t k = 0; k < Gauss::abscissa().size(); ++k) {
    const double offset = half * Gauss::abscissa()[k];
    rule.points.push_back({middle - offset, half * Gauss::weights()[k]});
    rule.points.push_back({middle + offset, half * Gauss::weights()[k]});
  }
}

TransformOnLine::Values OnLine::evaluate(double h, double tolerance, std::span<std::complex<double>> ratios,
                                         std::span<double> errors) const {
  const double y_max = h * static_cast<double>(ratios.size());
  const double target = tolerance * scale_ / 4;
  const Rule rule = cells_.cut ? panels(y_max, target) : trapezoid(y_max, target);
  const double method_error = rule.error;
  const std::size_t points = rule.points.size();
  std::vector<double> weight(points);  // times p(x) e^{cL}
  std::vector<double> loss(points);
  const double sign = law_.direction == Direction::kRemove ? 1 : -1;
  double moment_minus_one = cells_.cut ? -law_.lost_mass() : 0;
  // Roundings, in units of 2^-50: of the sum for φ(c) − 1, and of that of weight (e^{iyL} − 1), divided by y.
  double moment_rounding = std::fabs(moment_minus_one);
  double loss_rounding = 0;
  for (std::size_t j = 0; j < points; ++j) {
    const double x = rule.points[j].x;
    const double l = sign * law_.log_w(x);
    const double log_p = law_.log_normal(x) + (sign > 0 ? l : 0);
    const double p = rule.points[j].weight * std::exp(log_p);
    weight[j] = rule.points[j].weight * std::exp(log_p + law_.c * l);
    loss[j] = l;
    const double gain = law_.c * l < 1 ? p * std::expm1(law_.c * l) : weight[j] - p;
    const double size = 4 + x * x / (2 * law_.sigma * law_.sigma) + std::fabs((1 + law_.c) * l);
    moment_minus_one += gain;
    moment_rounding += (law_.c * l < 1 ? std::fabs(gain) : weight[j] + p) * size + p * law_.c * std::fabs(l);
    loss_rounding += weight[j] * std::fabs(l) * (size + 12);
  }
  moment_rounding *= 0x1p-50 * 1.01;
  loss_rounding *= 0x1p-50 * 1.01;
  const double moment_error = method_error + moment_rounding;
  const double moment = 1 + moment_minus_one;

  // E = e^{iyL} − 1 advances by E ← E e^{ihL} + (e^{ihL} − 1), which keeps it accurate where it is small. Every few
  // nodes it is computed anew, so that roundings do not add up.
  constexpr std::size_t fresh = 16;
  std::vector<double> turn_re(points);
  std::vector<double> turn_im(points);
  std::vector<double> e_re(points, 0.0);
  std::vector<double> e_im(points, 0.0);
  const auto set_turn = [&](double y, std::vector<double>& to_re, std::vector<double>& to_im) {
    for (std::size_t j = 0; j < points; ++j) {
      const double half = std::sin(y * loss[j] / 2);
      to_re[j] = -2 * half * half;
      to_im[j] = std::sin(y * loss[j]);
    }
  };
  if (!ratios.empty()) set_turn(h, turn_re, turn_im);
  for (std::size_t n = 0; n < ratios.size(); ++n) {
    const double y = h * static_cast<double>(n + 1);
    double re = 0;
    double im = 0;
    if (n % fresh == 0) {
      set_turn(y, e_re, e_im);
    } else {
      for (std::size_t j = 0; j < points; ++j) {
        const double new_re = e_re[j] + turn_re[j] + (e_re[j] * turn_re[j] - e_im[j] * turn_im[j]);
        e_im[j] = e_im[j] + turn_im[j] + (e_re[j] * turn_im[j] + e_im[j] * turn_re[j]);
        e_re[j] = new_re;
      }
    }
    for (std::size_t j = 0; j < points; ++j) {
      re += weight[j] * e_re[j];
      im += weight[j] * e_im[j];
    }
    ratios[n] = {re / moment, im / moment};
    errors[n] = (2 * method_error + y * loss_rounding) / moment + std::abs(ratios[n]) * moment_error / moment;
  }
  return {std::log1p(moment_minus_one), moment_error / (moment - moment_error)};
}

}  // namespace

SubsampledGaussianTransform::SubsampledGaussianTransform(SamplingRate rate, NoiseMultiplier multiplier,
                                                         Direction direction)
    : q_(rate.value()),
      sigma_(multiplier.value()),
      direction_(direction),
      x_max_(std::numeric_limits<double>::infinity()) {}

std::unique_ptr<LossTransform> SubsampledGaussianTransform::truncated(double mass) const {
  auto copy = std::make_unique<SubsampledGaussianTransform>(*this);
  if (direction_ == Direction::kAdd) return copy;  // the loss is bounded as it is
  double low = 0.5;
  double high = 0.5 + sigma_;
  const auto lost = [&](double x) { return Law{q_, sigma_, direction_, x, 0}.lost_mass(); };
  while (lost(high) > mass && high < 1e4 * (sigma_ + 1)) high += sigma_;
  for (int i = 0; i < 20; ++i) {
    const double middle = low + (high - low) / 2;
    (lost(middle) > mass ? low : high) = middle;
  }
  copy->x_max_ = high;
  return copy;
}

double SubsampledGaussianTransform::lost_mass() const {
  return std::isfinite(x_max_) ? Law{q_, sigma_, direction_, x_max_, 0}.lost_mass() * (1 + 1e-9) : 0;
}

double SubsampledGaussianTransform::max_loss() const {
  return direction_ == Direction::kRemove ? std::numeric_limits<double>::infinity() : -std::log1p(-q_);
}

MomentEstimate SubsampledGaussianTransform::estimate(double c) const {
  const Law law{q_, sigma_, direction_, x_max_, c};
  const double s2 = sigma_ * sigma_;
  const double sign = direction_ == Direction::kRemove ? 1 : -1;
  // The part of the moment around x = κ, where w ≈ q e^u: where it is overwhelming, it is all.
  const double k = law.kappa();
  const double peak = sign > 0 ? k * std::log(q_) + k * (k - 1) / (2 * s2) : 0;
  if (peak > 300 && !std::isfinite(x_max_)) return {peak, std::log(q_) + (2 * k - 1) / (2 * s2), 1 / s2};
  const Law::Window window = law.window(1e-13 * std::exp(std::clamp(peak, 0.0, 300.0)), 0);
  const double upper = std::min(window.upper, x_max_);
  const auto points = static_cast<std::size_t>((upper - window.lower) / std::min(0.6 * sigma_, 1.2 * s2)) + 2;
  const double step = (upper - window.lower) / static_cast<double>(points - 1);
  double excess = 0;
  double first = 0;
  double second = 0;
  for (std::size_t j = 0; j < points; ++j) {
    const double x = window.lower + step * static_cast<double>(j);
    const double l = sign * law.log_w(x);
    const double log_p = law.log_normal(x) + (sign > 0 ? l : 0);
    const double end = j == 0 || j + 1 == points ? 0.5 : 1;
    const double weight = end * step * std::exp(log_p + c * l);
    excess += c * l < 1 ? end * step * std::exp(log_p) * std::expm1(c * l) : weight - end * step * std::exp(log_p);
    first += weight * l;
    second += weight * l * l;
  }
  const double moment = 1 + excess;
  const double slope = first / moment;
  return {std::log1p(excess), slope, second / moment - slope * slope};
}

std::unique_ptr<TransformOnLine> SubsampledGaussianTransform::on_line(double c) const {
  const double scale = std::exp(std::clamp(estimate(c).log_moment, 0.0, 600.0));
  return std::make_unique<OnLine>(Law{q_, sigma_, direction_, x_max_, c}, scale);
}

}  // namespace noisefloor
