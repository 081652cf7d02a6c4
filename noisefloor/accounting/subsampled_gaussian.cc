#include "noisefloor/accounting/subsampled_gaussian.h"

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Integrands that need more are left to others.
constexpr std::size_t kMaxPoints = 20'000;
constexpr double kMostOperations = 3e7;
// Roundings are counted in units of this.
constexpr double kUnit = 0x1p-50;

// Numbers whose small multiples are exact: x > 0 with 24 significant bits, rounded down and up.
double short_below(double x) {
  const int exponent = std::ilogb(x) - 23;
  return std::ldexp(std::floor(std::ldexp(x, -exponent)), exponent);
}
double short_above(double x) {
  const int exponent = std::ilogb(x) - 23;
  return std::ldexp(std::ceil(std::ldexp(x, -exponent)), exponent);
}

// P(N(0, 1) > x), not below the true value.
double normal_tail_up(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2) * (1 + 1e-12) + 1e-300; }

// What w is at one x, for P, and at −x, for Q. Zeros stand for a side that is not mixed.
struct Place {
  double x;
  double log_up;      // ln w(x)
  double log_down;    // ln w(−x)
  double share_up;    // r(x), the share of the second component; it grows with x
  double share_down;  // r(−x), which falls

  [[nodiscard]] double loss() const { return log_up - log_down; }
  // σ² times the derivative of the loss.
  [[nodiscard]] double steepness() const { return share_up + share_down; }
};

// The parameters of one transform, and what the proofs need of w. For all pairs P = n₀ w(x) or n₀, and Q = n₀ w(−x) or
// n₀: so the loss grows with x.
struct Law {
  double q;
  double sigma;
  Direction direction;
  double x_max;  // where the law is cut off
  double c;      // real part of s

  [[nodiscard]] bool mixed_up() const { return direction != Direction::kAdd; }
  [[nodiscard]] bool mixed_down() const { return direction != Direction::kRemove; }
  // φ(s) integrates p e^{sL} = n₀ w(x)^κ w(−x)^−ν; these are the real parts.
  [[nodiscard]] double kappa() const { return mixed_up() ? 1 + c : 0; }
  [[nodiscard]] double nu() const { return mixed_down() ? c : 0; }
  [[nodiscard]] double exponent(double x) const { return (2 * x - 1) / (2 * sigma * sigma); }
  // ln w(x), within 1.25 units of itself and what the rounding of the exponent does to it.
  [[nodiscard]] double log_w(double x) const {
    const double u = exponent(x);
    if (u > 700) return u + std::log(q);
    const double excess = q * std::expm1(u);
    return std::fabs(excess) < 0.5 ? std::log1p(excess) : std::log((1 - q) + q * std::exp(u));
  }
  // q e^u / w.
  [[nodiscard]] double share(double x) const {
    const double u = exponent(x);
    return u > 0 ? q / ((1 - q) * std::exp(-u) + q) : q * std::exp(u) / ((1 - q) + q * std::exp(u));
  }
  [[nodiscard]] Place at(double x) const {
    return {x, mixed_up() ? log_w(x) : 0, mixed_down() ? log_w(-x) : 0, mixed_up() ? share(x) : 0,
            mixed_down() ? share(-x) : 0};
  }
  // Roundings of the loss, in units. They include those of a quadrature point x itself: the last bit of it, or the last
  // two of its distance from the middle of a panel that is σ² wide or less.
  [[nodiscard]] double loss_rounding(const Place& place) const {
    const double point = std::fabs(place.x) / (sigma * sigma) + 1;
    return 1.5 * (std::fabs(place.log_up) + std::fabs(place.log_down)) +
           place.share_up * (std::fabs(exponent(place.x)) + point) / 2 +
           place.share_down * (std::fabs(exponent(-place.x)) + point) / 2;
  }
  // Those of ln(p e^{cL}), hence of p e^{cL} relatively; also of p, and of the shares.
  [[nodiscard]] double tilted_rounding(const Place& place) const {
    const double x = place.x;
    const double exponents = (mixed_up() ? std::fabs(exponent(x)) : 0) + (mixed_down() ? std::fabs(exponent(-x)) : 0);
    return 3 + std::fabs(std::log(sigma)) + x * x / (sigma * sigma) + 0.5 * exponents +
           (1 + c) * (loss_rounding(place) + 0.5 * (std::fabs(place.log_up) + std::fabs(place.log_down)));
  }
  // ln of the density of N(0, σ²).
  [[nodiscard]] double log_normal(double x) const {
    return -x * x / (2 * sigma * sigma) - std::log(sigma) - 0.5 * std::log(2 * kPi);
  }
  [[nodiscard]] double log_tilted(const Place& place) const {
    return log_normal(place.x) + kappa() * place.log_up - nu() * place.log_down;
  }
  // On a cell of this width p e^{cL} exceeds its larger end by this factor at most, as a logarithm. `share_down` is not
  // below r(−x) on it.
  [[nodiscard]] double bow(double width, double share_down) const {
    const double s2 = sigma * sigma;
    return width * width / (8 * s2) * (1 + nu() * std::min(0.25, share_down) / s2);
  }
  // What |p e^{cL}| gains at x + iθσ², as a logarithm, at most.
  [[nodiscard]] double swell(double theta) const {
    return theta * theta * sigma * sigma / 2 - (nu() > 0 ? nu() * std::log(std::cos(theta / 2)) : 0);
  }
  // |arg w(x)| + |arg w(−x)| at x + iθσ² for shares up to these, at most.
  [[nodiscard]] static double turn(double theta, double cosine, double share_up, double share_down) {
    return theta * (std::min(1.0, share_up / cosine) + std::min(1.0, share_down / cosine));
  }

  // ∫ p e^{cL} over x < lower and over x > upper, with the first term of a sum of step Δ, bounded from above.
  [[nodiscard]] double left_tail(double lower, double step) const;
  [[nodiscard]] double right_tail(double upper, double step) const;
  // A window outside of which the integrals of p e^{cL} and of p itself are below `mass` on each side.
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
    if (!mixed_up()) return 0;
    return (1 - q) * 0.5 * std::erfc(x_max / sigma / std::numbers::sqrt2) +
           q * 0.5 * std::erfc((x_max - 1) / sigma / std::numbers::sqrt2);
  }
  // An estimate of the moment around its outer peak, where the integrand is nearly Gaussian; 0 if it has none
  // below x_max.
  [[nodiscard]] MomentEstimate peak() const;
};

// The tail of e^log_amplitude · N(mean, σ²) beyond `end`, on the side of it where the mean is not, and one term of its
// sum. `size` is that of the numbers that went into the amplitude.
double gaussian_tail(double log_amplitude, double size, double end, double mean, double sigma, double step) {
  const double far = std::fabs(end - mean) / sigma;
  const double rounding = kUnit * (size + far * (std::fabs(end) + std::fabs(mean)) / sigma);
  const double density = std::exp(-far * far / 2) / std::sqrt(2 * kPi) * (1 + 1e-12);
  return std::exp(log_amplitude + rounding) * (normal_tail_up(far) + std::max(0.0, step / sigma) * density) *
         (1 + 1e-9);
}

// w ≤ 1 up to ½, and w(−x) ≥ 1 up to −½.
double Law::left_tail(double lower, double step) const {
  return lower > (mixed_down() ? -0.5 : 0) ? kInfinity : gaussian_tail(0, 0, lower, 0, sigma, step);
}

double Law::right_tail(double upper, double step) const {
  const double s2 = sigma * sigma;
  const double k = kappa();
  const double n = nu();
  if (upper < (mixed_up() ? 0.5 : 0) || upper < k) return kInfinity;
  // Beyond `upper`, w ≤ e^u (q + (1 − q) e^−u(upper)), and w(−x)^−ν ≤ (1 − q)^−ν: a Gaussian around κ.
  const double log_factor = k > 0 ? k * std::log(q + (1 - q) * std::exp(-exponent(upper))) : 0;
  const double factor_size = k > 0 ? std::fabs(log_factor) + k * (1 + exponent(upper)) : 0;
  const double log_rest = n > 0 ? -n * std::log1p(-q) : 0;
  const double log_peak = k * (k - 1) / (2 * s2);
  const double flat = gaussian_tail(log_factor + log_rest + log_peak, factor_size + log_rest + std::fabs(log_peak),
                                    upper, k, sigma, step);
  const double mean = k + n;
  if (n == 0 || upper < mean) return flat;
  // Or w(−x)^−ν ≤ q^−ν e^{−νu(−x)}: a Gaussian around κ + ν.
  const double log_odds = -n * std::log(q);
  const double log_top = (mean * mean - k + n) / (2 * s2);
  return std::min(flat, gaussian_tail(log_factor + log_odds + log_top, factor_size + log_odds + 2 * log_top, upper,
                                      mean, sigma, step));
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
    return bisect({.holds = near, .fails = far}, {.halvings = 6}, [&](double x) { return tail(x) > mass; }).fails;
  };
  const Law plain = untilted();
  return {solve(mixed_down() ? -0.5 : 0, -1,
                [&](double x) { return std::max(left_tail(x, step), plain.left_tail(x, step)); }),
          solve(mixed_up() ? 0.5 : 0, 1,
                [&](double x) { return std::max(right_tail(x, step), plain.right_tail(x, step)); })};
}

double Law::outside(Window window, double step) const {
  const Law plain = untilted();
  return left_tail(window.lower, step) + right_tail(window.upper, step) + plain.left_tail(window.lower, step) +
         plain.right_tail(window.upper, step);
}

MomentEstimate Law::peak() const {
  // The derivative of ln(p e^{cL}) is κ r(x) + ν r(−x) − x, over σ².
  const auto rises = [&](double x) {
    const Place place = at(x);
    return kappa() * place.share_up + nu() * place.share_down > x;
  };
  const double start = kappa() / 2;
  const double high = std::min(kappa() + nu(), x_max);
  if (!mixed_up() || start >= high || !rises(start) || rises(high)) return {0, 0, 0};
  const double low = bisect({.holds = start, .fails = high}, {.halvings = 40}, rises).holds;
  const double s2 = sigma * sigma;
  const Place top = at(low);
  const double sharpness =
      1 - kappa() * top.share_up * (1 - top.share_up) / s2 + nu() * top.share_down * (1 - top.share_down) / s2;
  if (!(sharpness > 0.1)) return {0, 0, 0};
  const double log_height = -low * low / (2 * s2) + kappa() * top.log_up - nu() * top.log_down;
  return {log_height - 0.5 * std::log(sharpness), top.loss(), top.steepness() * top.steepness() / s2 / sharpness};
}

// Cells between coarse points, with certified bounds of the integrand on each: for the decay and for quadrature errors.
struct Cells {
  double width;
  double outside;        // a bound of the integrals of p e^{cL} and of p outside, but for what is cut off
  double log_slack = 0;  // roundings of the logarithms below
  bool cut;              // whether the integral ends at x_max: more than 1e-25 of it lies beyond
  std::size_t inside;    // how many cells there are up to the end of the integral; the others are beyond x_max
  // At the edges:
  std::vector<double> x;
  std::vector<double> loss;
  std::vector<double> loss_slack;  // its roundings
  std::vector<double> share_up;
  std::vector<double> share_down;
  std::vector<double> log_tilted;  // ln(p e^{cL})
  std::vector<double> log_mass;    // the larger of that and ln p
};

Cells make_cells(const Law& law, double scale) {
  const Law::Window window = law.window(1e-25 * scale, 0);
  Cells cells;
  cells.cut = window.upper > law.x_max;
  cells.outside =
      cells.cut ? law.left_tail(window.lower, 0) + law.untilted().left_tail(window.lower, 0) : law.outside(window, 0);
  const double upper = std::min(window.upper, law.x_max);
  // Second-order bounds on a cell lose at most the exponent width² · (κ r(1 − r) at x, and ν times that at −x)/8σ⁴:
  // keep that small.
  const double s2 = law.sigma * law.sigma;
  const double bend = law.kappa() * law.at(upper).share_up + law.nu() * law.at(window.lower).share_down;
  const double width = std::min(law.sigma / 3, 1.2 * s2 / std::sqrt(1 + bend));
  cells.inside = static_cast<std::size_t>(std::clamp(std::ceil((upper - window.lower) / width), 8.0, 4000.0));
  cells.width = (upper - window.lower) / static_cast<double>(cells.inside);
  const auto beyond = static_cast<std::size_t>(cells.cut ? std::ceil(1.5 * std::min(s2, law.sigma) / cells.width) : 0);
  for (std::size_t i = 0; i <= cells.inside + beyond; ++i) {
    const Place place = law.at(window.lower + cells.width * static_cast<double>(i));
    cells.x.push_back(place.x);
    cells.loss.push_back(place.loss());
    cells.loss_slack.push_back(kUnit * law.loss_rounding(place));
    cells.log_slack = std::max(cells.log_slack, kUnit * law.tilted_rounding(place));
    cells.share_up.push_back(place.share_up);
    cells.share_down.push_back(place.share_down);
    cells.log_tilted.push_back(law.log_tilted(place));
    cells.log_mass.push_back(std::max(cells.log_tilted.back(), law.untilted().log_tilted(place)));
  }
  return cells;
}

// A point of a quadrature rule.
struct Point {
  double x;
  double weight;
};

using Gauss = boost::math::quadrature::gauss<double, 20>;

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
    // A uniform law of length ℓ has the transform sin(z)/z with z = yℓ/2: what it falls short of its mass, for all
    // larger y as well. (|sin z|/z falls up to 2.5 and stays below its value there.)
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
  [[nodiscard]] Rule trapezoid(double y, double tolerance, double most) const;
  [[nodiscard]] Rule panels(double y, double tolerance) const;
  void add_panel(double middle, double half, double y, double tolerance, Rule& rule) const;

  Law law_;
  double scale_;
  Cells cells_;
  std::vector<Layer> layers_;
  double moment_up_ = 0;  // not below φ(c)
};

void OnLine::find_layers() {
  // The density of the loss at x is p e^{cL}/L′ with σ²L′ = r(x) + r(−x), one of them or both. On a cell its logarithm
  // is concave plus (κ + 1) ln w(x) + (1 − ν) ln w(−x).
  const std::size_t cells = cells_.inside;
  const double s2 = law_.sigma * law_.sigma;
  const double convex_up = law_.mixed_up() ? law_.kappa() + 1 : 0;
  const double convex_down = law_.mixed_down() ? std::max(0.0, 1 - law_.nu()) : 0;
  std::vector<double> density(cells);
  std::vector<double> length(cells);
  double moment = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    const auto steepness = [&](std::size_t k) { return cells_.share_up[k] + cells_.share_down[k]; };
    const auto log_density = [&](std::size_t k) { return cells_.log_tilted[k] + std::log(s2 / steepness(k)); };
    const double bend = cells_.width * cells_.width / (8 * s2 * s2);
    const double sag = bend * (convex_up * std::min(0.25, cells_.share_up[i + 1]) +
                               convex_down * std::min(0.25, cells_.share_down[i]));
    density[i] = std::exp(std::min(log_density(i), log_density(i + 1)) - sag - 2 * cells_.log_slack) * (1 - 1e-9);
    length[i] = std::max(0.0, (cells_.loss[i + 1] - cells_.loss[i]) * (1 - 1e-9) -
                                  2 * (cells_.loss_slack[i] + cells_.loss_slack[i + 1]));
    if (!std::isfinite(density[i]) || std::min(steepness(i), steepness(i + 1)) < 1e-280) density[i] = 0;
    // An upper bound of the moment: the chord of the convex part is above it, the concave one exceeds its own by the
    // bow.
    const double bow = law_.bow(cells_.width, cells_.share_down[i]);
    moment += cells_.width * std::exp(std::max(cells_.log_tilted[i], cells_.log_tilted[i + 1]) + bow);
  }
  moment_up_ = moment * std::exp(cells_.log_slack) * (1 + 1e-9) + cells_.outside;
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
// for any curve η(x) > 0 in the strip where G is analytic. With η = θσ²: n₀ grows by e^{θ²σ²/2}, w(−x)^−ν by
// cos(θ/2)^−ν at most, and |e^{iyL}| = e^{y (arg w(x) − arg w(−x))} with |arg w| ≤ θ min(1, r/cos θ). Either θ is the
// same everywhere, or it is so small where the loss is steep that this is at most e^C.
double OnLine::quadrature_error(double step, double y, double enough) const {
  const double s2 = law_.sigma * law_.sigma;
  const double theta_max = std::min(1.0, 2 * kPi * s2 / step / (s2 + law_.nu() / 4));
  double best = kInfinity;
  const auto attempt = [&](double theta, double limit) {
    if (best > enough) best = std::min(best, quadrature_error(step, y, theta, limit));
  };
  attempt(theta_max, y > 0 ? 4.0 : kInfinity);
  if (y > 0) {
    for (double theta : {1.0, 0.4}) attempt(theta * theta_max, kInfinity);
  }
  return best;
}

double OnLine::quadrature_error(double step, double y, double theta_max, double limit) const {
  const double s2 = law_.sigma * law_.sigma;
  const double cosine = std::cos(theta_max);
  const auto theta_at = [&](double steepness) {
    return y * steepness * theta_max > limit * cosine ? limit * cosine / (y * steepness) : theta_max;
  };
  const double worst_swell = law_.swell(theta_max);
  const double bow = law_.bow(cells_.width, 1);
  double error = 0;
  for (std::size_t i = 0; i < cells_.inside; ++i) {
    // On the cell, r(x) is largest at its right end and r(−x) at its left one.
    const double up = cells_.share_up[i + 1];
    const double down = cells_.share_down[i];
    const double theta = theta_at(up + down);
    const double widest = theta_at(cells_.share_up[i] + cells_.share_down[i + 1]);
    const double turn = std::min(limit, y * Law::turn(widest, cosine, up, down));
    const double log_mass = std::max(cells_.log_mass[i], cells_.log_mass[i + 1]) + bow;
    const double exponent = log_mass + worst_swell + turn - 2 * kPi * theta * s2 / step;
    // What is left out here is below e^-100 times the length of the window, over the smallest of these divisors.
    if (exponent > -100) error += std::exp(exponent) / -std::expm1(-2 * kPi * theta * s2 / step);
  }
  const double steepest = (law_.mixed_up() ? 1 : 0) + (law_.mixed_down() ? 1 : 0);
  const double fall = 2 * kPi * theta_at(steepest) * s2 / step;
  const double cells = static_cast<double>(cells_.inside);
  error = cells_.width * (error * std::exp(cells_.log_slack) + cells * 1e-43 / -std::expm1(-fall));
  // Beyond the window.
  const double turn = std::min(limit, y * theta_max * steepest);
  const double outside = cells_.outside * std::exp(worst_swell + turn - fall) / -std::expm1(-fall);
  // √(1 + η′²) ≤ √2 as |η′| ≤ θ ≤ 1; twice for both sides of the line, and twice for e^{sL} and 1.
  return 4 * std::numbers::sqrt2 * (error + outside) * (1 + 1e-9);
}

double OnLine::quadrature_step(double y, double tolerance) const {
  const double s2 = law_.sigma * law_.sigma;
  double high = std::min(law_.sigma, 4 * s2);
  const auto is_fine = [&](double step) { return quadrature_error(step, y, tolerance) <= tolerance; };
  if (is_fine(high)) return high;
  double low = high;
  while (!is_fine(low) && low > 1e-6 * s2) {
    high = low;
    low /= 2;
  }
  return bisect_ratio({.holds = low, .fails = high}, 1, 3, is_fine).holds;
}

OnLine::Rule OnLine::trapezoid(double y, double tolerance, double most) const {
  // Points are whole multiples of a step with few bits: they are exact.
  const double step = short_below(quadrature_step(y, tolerance));
  const Law::Window window = law_.window(tolerance / 2, step);
  const double first = std::floor(window.lower / step);
  const double last = std::ceil(window.upper / step);
  if (!(last - first < most && std::fabs(first) < 0x1p28 && std::fabs(last) < 0x1p28)) return {{}, kInfinity};
  Rule rule{{}, quadrature_error(step, y, tolerance) + law_.outside(window, step)};
  const auto count = static_cast<std::size_t>(last - first) + 1;
  rule.points.reserve(count);
  for (std::size_t j = 0; j < count; ++j) rule.points.push_back({step * (first + static_cast<double>(j)), step});
  return rule;
}

// Gauss-Legendre panels up to x_max, each as wide as its error allows.
OnLine::Rule OnLine::panels(double y, double tolerance) const {
  // From x_max down, by a power of two: the middles are exact, as x_max has few bits.
  const Law::Window window = law_.window(tolerance / 2, 0);
  const double half = std::exp2(std::floor(std::log2(std::min(law_.sigma * law_.sigma, law_.sigma))));
  const double count = std::ceil((law_.x_max - window.lower) / (2 * half));
  if (!(20 * count < kMaxPoints)) return {{}, kInfinity};
  const double range = 2 * half * count;
  const double lower = law_.x_max - range;
  Rule rule{{}, law_.left_tail(lower, 0) + law_.untilted().left_tail(lower, 0)};
  for (double k = 1; k < 2 * count && std::isfinite(rule.error); k += 2) {
    add_panel(law_.x_max - half * k, half, y, tolerance / range, rule);
  }
  return rule;
}

// The error of N points is at most half · 64/15 M ρ^{2−2N}/(1 − ρ^−2), with M the maximum of |G| on the ellipse whose
// half-axes add up to half · ρ (Trefethen 2013, Theorem 19.3). It lies in the strip |Im x| ≤ θσ²: bounds as above. Not
// for adding, which has a bounded loss: nothing is cut off.
void OnLine::add_panel(double middle, double half, double y, double tolerance, Rule& rule) const {
  const double s2 = law_.sigma * law_.sigma;
  double best = kInfinity;
  for (double rho : {8.0, 4.0, 2.5, 1.7}) {
    const double theta = half * (rho - 1 / rho) / 2 / s2;
    const double reach = half * (rho + 1 / rho) / 2;
    if (theta > 1) continue;
    // The cells that the ellipse touches. To the left of all cells the mass is below that of the first.
    const double first = cells_.x.front();
    const double start = (middle - reach - first) / cells_.width;
    const auto from = static_cast<std::size_t>(std::max(start, 0.0));
    const double to = std::max((middle + reach - first) / cells_.width, 0.0);
    const std::size_t last = cells_.x.size() - 1;
    if (to > static_cast<double>(last)) continue;
    double log_mass = -kInfinity;
    const std::size_t end = std::min(static_cast<std::size_t>(to) + 1, last);
    for (std::size_t k = from; k <= end; ++k) log_mass = std::max(log_mass, cells_.log_mass[k]);
    const double down = law_.mixed_down() ? (start >= 0 ? cells_.share_down[from] : 1) : 0;
    const double turn = y * Law::turn(theta, std::cos(theta), cells_.share_up[end], down);
    const double bow = law_.bow(cells_.width, 1);
    const double log_error = log_mass + bow + law_.swell(theta) + turn - 38 * std::log(rho);
    best = std::min(best,
                    2 * half * 64 / 15 / (1 - 1 / (rho * rho)) * std::exp(log_error + cells_.log_slack) * (1 + 1e-9));
  }
  if (rule.points.size() > kMaxPoints) {
    rule.error = kInfinity;
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
  // What takes longer than this is not worth it.
  const double most_points = std::min(2e5, kMostOperations / (static_cast<double>(ratios.size()) + 32));
  Rule rule = cells_.cut ? panels(y_max, target) : trapezoid(y_max, target, most_points);
  if (static_cast<double>(rule.points.size()) > most_points) rule = {{}, kInfinity};
  // An integral that passes over x_max takes in what should be cut off there.
  const double beyond = !cells_.cut && std::isfinite(law_.x_max) ? law_.right_tail(law_.x_max, 0) : 0;
  const double method_error = rule.error + beyond;

  // Four sums side by side; points of weight 0 fill them up.
  constexpr std::size_t lanes = 4;
  const std::size_t points = (rule.points.size() + lanes - 1) / lanes * lanes;
  std::vector<double> weight(points, 0.0);  // times p(x) e^{cL}
  std::vector<double> loss(points, 0.0);
  const double lost = cells_.cut ? law_.lost_mass() : 0;
  double moment_minus_one = -lost;
  double carry = 0;
  // Roundings, in units: of the sum for φ(c) − 1, and of that of weight (e^{iyL} − 1), divided by y.
  double moment_rounding = 0;
  double loss_rounding = 0;
  const double steps_of_sum = static_cast<double>(points) / (8 * lanes);
  for (std::size_t j = 0; j < rule.points.size(); ++j) {
    const Place place = law_.at(rule.points[j].x);
    const double l = place.loss();
    const double log_p = law_.log_normal(place.x) + place.log_up;
    const double p = rule.points[j].weight * std::exp(log_p);
    weight[j] = rule.points[j].weight * std::exp(log_p + law_.c * l);
    loss[j] = l;
    const bool small = law_.c * l < 1;
    const double gain = small ? p * std::expm1(law_.c * l) : weight[j] - p;
    const double next = moment_minus_one + gain;
    carry += std::fabs(moment_minus_one) >= std::fabs(gain) ? (moment_minus_one - next) + gain
                                                            : (gain - next) + moment_minus_one;
    moment_minus_one = next;
    const double loss_error = law_.loss_rounding(place);
    const double size = law_.tilted_rounding(place);
    moment_rounding += small ? std::fabs(gain) * size + 3 * p * law_.c * loss_error : (weight[j] + p) * size;
    loss_rounding += weight[j] * (std::fabs(l) * (size + 12 + steps_of_sum) + loss_error);
  }
  moment_minus_one += carry;
  moment_rounding = (moment_rounding + std::fabs(moment_minus_one)) * kUnit * 1.01 + lost * 1e-9;
  loss_rounding *= kUnit * 1.01;
  const double moment_error = method_error + moment_rounding;
  const double moment = 1 + moment_minus_one;
  const double moment_low = moment - moment_error;
  if (!(moment_error < 0.5 * moment)) {
    std::fill(ratios.begin(), ratios.end(), 0.0);
    std::fill(errors.begin(), errors.end(), kInfinity);
    return {0, kInfinity};
  }

  // E = e^{iyL} − 1 advances by E ← E e^{ihL} + (e^{ihL} − 1), which keeps it accurate where it is small. Every few
  // nodes it is computed anew, so that roundings do not add up: they are below 9 units of y|L|.
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
    std::array<double, lanes> re{};
    std::array<double, lanes> im{};
    if (n % fresh == 0) {
      set_turn(y, e_re, e_im);
    } else {
      for (std::size_t j = 0; j < points; ++j) {
        const double new_re = e_re[j] + turn_re[j] + (e_re[j] * turn_re[j] - e_im[j] * turn_im[j]);
        e_im[j] = e_im[j] + turn_im[j] + (e_re[j] * turn_im[j] + e_im[j] * turn_re[j]);
        e_re[j] = new_re;
      }
    }
    for (std::size_t j = 0; j < points; j += lanes) {
      for (std::size_t k = 0; k < lanes; ++k) {
        re[k] += weight[j + k] * e_re[j + k];
        im[k] += weight[j + k] * e_im[j + k];
      }
    }
    ratios[n] = {((re[0] + re[1]) + (re[2] + re[3])) / moment, ((im[0] + im[1]) + (im[2] + im[3])) / moment};
    const double size = std::abs(ratios[n]);
    errors[n] = (2 * method_error + y * loss_rounding + size * moment_error) / moment_low * (1 + 1e-9) + kUnit * size;
  }
  return {std::log1p(moment_minus_one), moment_error / moment_low};
}

}  // namespace

SubsampledGaussianTransform::SubsampledGaussianTransform(SamplingRate rate, NoiseMultiplier multiplier,
                                                         Direction direction)
    : q_(rate.value()), sigma_(multiplier.value()), direction_(direction), x_max_(kInfinity) {}

std::unique_ptr<LossTransform> SubsampledGaussianTransform::truncated(double mass) const {
  auto copy = std::make_unique<SubsampledGaussianTransform>(*this);
  if (direction_ == Direction::kAdd) return copy;  // the loss is bounded as it is
  // Smaller masses are not normal numbers.
  const double goal = std::max(mass, 1e-305);
  const auto loses_more = [&](double x) { return Law{q_, sigma_, direction_, x, 0}.lost_mass() > goal; };
  const double far = 1 + 40 * sigma_;
  copy->x_max_ = short_above(bisect({.holds = 0.5, .fails = far}, {.halvings = 40}, loses_more).fails);
  return copy;
}

double SubsampledGaussianTransform::lost_mass() const {
  return std::isfinite(x_max_) ? Law{q_, sigma_, direction_, x_max_, 0}.lost_mass() * (1 + 1e-9) + 1e-320 : 0;
}

double SubsampledGaussianTransform::max_loss() const {
  return direction_ == Direction::kAdd ? -std::log1p(-q_) * (1 + 0x1p-50) : kInfinity;
}

MomentEstimate SubsampledGaussianTransform::estimate(double c) const {
  const Law law{q_, sigma_, direction_, x_max_, c};
  const double s2 = sigma_ * sigma_;
  // Where the outer peak is overwhelming, it is all.
  const MomentEstimate peak = law.peak();
  if (peak.log_moment > 300 && !std::isfinite(x_max_)) return peak;
  const Law::Window window = law.window(1e-13 * std::exp(std::clamp(peak.log_moment, 0.0, 300.0)), 0);
  const double upper = std::min(window.upper, x_max_);
  const double needed = (upper - window.lower) / std::min(0.6 * sigma_, 1.2 * s2);
  if (!(needed < kMaxPoints)) return {kInfinity, 0, 0};
  const auto points = static_cast<std::size_t>(needed) + 2;
  const double step = (upper - window.lower) / static_cast<double>(points - 1);
  double excess = 0;
  double first = 0;
  double second = 0;
  for (std::size_t j = 0; j < points; ++j) {
    const Place place = law.at(window.lower + step * static_cast<double>(j));
    const double l = place.loss();
    const double log_p = law.log_normal(place.x) + place.log_up;
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
