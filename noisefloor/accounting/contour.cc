#include "noisefloor/accounting/contour.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ln δ comes from callers that round it, or that round δ by up to 2^-50 of itself before: both sides allow for that.
double log_delta_slack(double log_delta) { return 0x1p-49 * (1 + std::fabs(log_delta)); }

// ln of the least K with (1 − e^−x)⁺ ≤ K e^{cx} for all x, from above: K = c^c/(1 + c)^{1 + c}.
double log_chernoff_factor(double c) { return (-c * std::log1p(1 / c) - std::log1p(c)) * (1 - 0x1p-48); }

// A gain below this is not worth another attempt.
bool is_narrow(Interval epsilon) {
  return std::isfinite(epsilon.upper) && epsilon.upper - epsilon.lower <= std::max(2e-7 * epsilon.upper, 2e-10);
}

MomentEstimate composed_estimate(std::span<const RepeatedLoss> losses, double c) {
  MomentEstimate sum{0, 0, 0};
  for (const auto& [loss, count] : losses) {
    const MomentEstimate one = loss->estimate(c);
    sum.log_moment += count * one.log_moment;
    sum.slope += count * one.slope;
    sum.curvature += count * one.curvature;
  }
  return sum;
}

}  // namespace

// Estimates of the composed moment at one c.
struct ContourIntegral::Sample {
  double c;
  MomentEstimate moments;
};

// The integrand has its saddle at c for this ε, and δ is then about e^log_delta.
struct ContourIntegral::Saddle {
  double epsilon;
  double log_delta;
};

ContourIntegral::Saddle ContourIntegral::saddle_at(const Sample& s) {
  const double c = s.c;
  const double epsilon = s.moments.slope - 1 / c - 1 / (c + 1);
  const double width = s.moments.curvature + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  return {epsilon, s.moments.log_moment - c * epsilon - std::log(c * (c + 1)) - 0.5 * std::log(2 * kPi * width)};
}

// Samples at growing c, spaced by a factor of √2 or less, that surround the best Chernoff bound on ε for `log_delta`.
std::vector<ContourIntegral::Sample> ContourIntegral::samples_for(std::span<const RepeatedLoss> losses,
                                                                  double log_delta, std::optional<double> about) {
  const auto at = [&](double c) { return Sample{c, composed_estimate(losses, c)}; };
  const auto chernoff = [&](const Sample& s) {
    const double epsilon = (s.moments.log_moment - log_delta) / s.c;
    if (!std::isfinite(epsilon)) return kInfinity;
    return epsilon;
  };
  // Where a Gaussian law of the same variance has its saddle.
  const auto gaussian_saddle = [&] {
    const Sample first = at(1);
    const double deviation = std::sqrt(std::max(first.moments.curvature, 1e-18));
    const double start = std::clamp(std::sqrt(-2 * log_delta + 1) / deviation, 0x1p-10, 0x1p20);
    return std::isfinite(start) ? start : 1;
  };
  const double start = about ? *about : gaussian_saddle();
  // Where δ is small, moments of losses that are cut off rise steeply.
  const double ratio = about ? std::exp(6 / (16 - log_delta)) : std::numbers::sqrt2;
  std::vector<Sample> samples = {at(start)};
  const auto best = [&] {
    return std::min_element(samples.begin(), samples.end(),
                            [&](const Sample& a, const Sample& b) { return chernoff(a) < chernoff(b); }) -
           samples.begin();
  };
  // Three on each side of the best; where losses are cut off, larger orders are of use.
  const std::ptrdiff_t fewer = about ? 6 : 3;
  const std::ptrdiff_t more = about ? 10 : 3;
  while (samples.size() < 200) {
    const auto place = best();
    if (place < fewer && samples.front().c > 1e-6) {
      samples.insert(samples.begin(), at(samples.front().c / ratio));
    } else if (place + more >= static_cast<std::ptrdiff_t>(samples.size())) {
      samples.push_back(at(samples.back().c * ratio));
    } else {
      break;
    }
  }
  return samples;
}

// The losses without tails that are too small to matter for `log_delta`.
struct ContourIntegral::Truncated {
  std::vector<std::unique_ptr<LossTransform>> owned;
  std::vector<RepeatedLoss> losses;

  Truncated(std::span<const RepeatedLoss> whole, double log_delta) {
    double steps = 0;
    for (const RepeatedLoss& one : whole) steps += one.count;
    for (const auto& [loss, count] : whole) {
      owned.push_back(loss->truncated(1e-10 * std::exp(log_delta) / steps));
      losses.push_back({owned.back().get(), count});
    }
  }
};

std::optional<ContourIntegral> ContourIntegral::for_delta(std::span<const RepeatedLoss> losses, double log_delta,
                                                          double max_operations) {
  std::optional<ContourIntegral> whole = search(losses, log_delta, max_operations);
  if (whole && is_narrow(whole->epsilon(log_delta))) return whole;
  const Truncated truncated(losses, log_delta);
  std::optional<ContourIntegral> cut = search(truncated.losses, log_delta, max_operations);
  if (!whole || !cut) return whole ? std::move(whole) : std::move(cut);
  const Interval a = whole->epsilon(log_delta);
  const Interval b = cut->epsilon(log_delta);
  return a.upper - a.lower <= b.upper - b.lower ? std::move(whole) : std::move(cut);
}

std::optional<ContourIntegral> ContourIntegral::search(std::span<const RepeatedLoss> losses, double log_delta,
                                                       double max_operations) {
  std::vector<Sample> samples = samples_for(losses, log_delta);
  double epsilon = kInfinity;
  for (const Sample& s : samples) epsilon = std::min(epsilon, (s.moments.log_moment - log_delta) / s.c);
  // Chernoff's bound is too large. The saddle-point estimate is good where the law is tame, and too large as well where
  // it is not. What the integral itself says is used the second time, if need be.
  double saddle_epsilon = kInfinity;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Saddle a = saddle_at(samples[i - 1]);
    const Saddle b = saddle_at(samples[i]);
    if (!(a.log_delta >= log_delta && b.log_delta < log_delta)) continue;
    const double share = std::sqrt((a.log_delta - log_delta) / (a.log_delta - b.log_delta));
    const double c = samples[i - 1].c + share * (samples[i].c - samples[i - 1].c);
    const Sample middle{c, composed_estimate(losses, c)};
    const Saddle m = saddle_at(middle);
    saddle_epsilon = m.epsilon + (m.log_delta - log_delta) / middle.c;
    samples.insert(samples.begin() + static_cast<std::ptrdiff_t>(i), middle);
    break;
  }
  epsilon = std::max(0.0, saddle_epsilon < epsilon ? saddle_epsilon : 0.95 * epsilon);
  std::optional<ContourIntegral> best;
  Interval narrowest{0, kInfinity};
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::optional<ContourIntegral> integral = on_line(losses, samples, epsilon, log_delta, max_operations);
    if (!integral) break;
    const Interval found = integral->epsilon(log_delta);
    if (!best || found.upper - found.lower < narrowest.upper - narrowest.lower) {
      best = std::move(integral);
      narrowest = found;
    }
    if (is_narrow(found)) break;
    if (found.upper < 0.999 * epsilon || (found.lower > 0 && found.upper > 1.001 * epsilon)) {
      epsilon = found.upper;
    } else if (found.lower == 0) {
      epsilon *= 0.7;  // the estimate was far too large, so that nothing was left of the sum
    } else {
      break;
    }
  }
  return best;
}

std::optional<ContourIntegral> ContourIntegral::for_epsilon(std::span<const RepeatedLoss> whole, double epsilon,
                                                            double max_operations) {
  // The δ that Chernoff gives for this ε.
  double log_delta = -0.5;
  for (int i = 0; i < 8; ++i) {
    const Truncated truncated(whole, log_delta);
    double bound = 0;
    for (const Sample& s : samples_for(truncated.losses, log_delta)) {
      bound = std::min(bound, s.moments.log_moment - s.c * epsilon);
    }
    const bool done = std::fabs(bound - log_delta) < 1;
    log_delta = std::clamp(bound, -680.0, -0.1);
    if (done) break;
  }
  const auto attempt = [&](double about) {
    const Truncated truncated(whole, about);
    return on_line(truncated.losses, samples_for(truncated.losses, about), epsilon, about, max_operations);
  };
  std::optional<ContourIntegral> first = attempt(log_delta);
  if (!first) return first;
  // Chernoff's δ is too large, by a factor of ten or so: the second time it is known.
  const Interval found = first->log_delta(epsilon);
  if (!std::isfinite(found.lower) || found.upper - found.lower <= 2e-7) return first;
  std::optional<ContourIntegral> second = attempt(std::clamp(found.lower, -680.0, -0.1));
  if (!second) return first;
  const Interval again = second->log_delta(epsilon);
  return again.upper - again.lower < found.upper - found.lower ? std::move(second) : std::move(first);
}

std::optional<ContourIntegral> ContourIntegral::on_line(std::span<const RepeatedLoss> losses,
                                                        std::span<const Sample> samples, double epsilon,
                                                        double log_delta, double max_operations, double smoothing) {
  ContourIntegral integral;
  integral.centre_ = epsilon;
  integral.smoothing_ = smoothing;
  const double variance = smoothing * smoothing;
  double steps = 0;
  double log_kept = 0;
  for (const auto& [loss, count] : losses) {
    integral.max_loss_ += count * loss->max_loss() * (1 + 0x1p-50);
    log_kept += count * std::log1p(-std::min(loss->lost_mass(), 1.0));
    steps += count;
  }
  integral.lost_mass_ = -std::expm1(log_kept) * (1 + 1e-12);
  if (smoothing > 0) integral.max_loss_ = kInfinity;
  // The line c and the order c′ for the aliases, with the shortest period W: aliases below are at most e^{−cW}, those
  // above e^{Σ ln φ(c′) − c′ε − (c′ − c)W}. Where e^{Σ ln φ(c) − cε} is far above δ, digits cancel.
  double period = kInfinity;
  double best = kInfinity;
  MomentEstimate moments{0, 0, 0};
  double log_small = 0;
  double relative = 0;
  // Where smoothed losses leave no such line, one with more cancellation is better than none.
  for (const double most_cancelled : {16.0, 26.0}) {
    if (std::isfinite(period) || (most_cancelled > 16 && smoothing == 0)) break;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double c = samples[i].c;
      // An error of ε by 2e-8 of itself is one of ln δ by c times that.
      const double tolerance = std::clamp(c * std::max(2e-8 * epsilon, 1e-11), 1e-12, 1e-7);
      const double small = log_delta + std::log(tolerance);
      // (For c > 1 the terms of the sum, with their factor 1/s(s + 1), add up to 1/c or so.)
      const double terms = -std::log(std::max(1.0, c));
      const double cancelled = samples[i].moments.log_moment - c * epsilon + terms - log_delta;
      if (!std::isfinite(cancelled) || cancelled > most_cancelled) continue;
      const double near_zero = -2 * small / c + std::exp(std::min(samples[i].moments.log_moment, 50.0)) / c;
      const double below = (-small + std::min(0.0, std::log(near_zero))) / c;
      for (std::size_t j = i + 1; j < samples.size(); ++j) {
        const double order = samples[j].c;
        const double above =
            (samples[j].moments.log_moment + log_chernoff_factor(order) - order * epsilon - small) / (order - c);
        if (!std::isfinite(above)) continue;
        const double needed = 1.02 * std::max({below, above, 1e-3 * epsilon});
        const double price = needed * (1 + 0.05 * std::max(0.0, cancelled));
        if (price < best) {
          best = price;
          period = needed;
          integral.c_ = c;
          integral.alias_order_ = order;
          moments = samples[i].moments;
          log_small = small;
          relative = tolerance;
        }
      }
    }
  }
  if (!std::isfinite(period)) return std::nullopt;
  const double c = integral.c_;
  integral.h_ = 2 * kPi / period;

  // How far the line must be followed.
  std::vector<std::unique_ptr<TransformOnLine>> lines;
  for (const auto& one : losses) lines.push_back(one.loss->on_line(c));
  const auto log_tail = [&](double y) {
    double log_ratio = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) log_ratio += losses[i].count * std::log1p(-lines[i]->decay(y));
    return log_ratio - y * y * variance / 2 - std::log(kPi * y);
  };
  // Σ over the line of e^{Σ ln φ − cε} is to be compared with δ.
  const double goal = log_small - (moments.log_moment - c * epsilon);
  double nodes = 8;
  while (log_tail(nodes * integral.h_) > goal && nodes < 4e6) nodes *= 2;
  const auto is_enough = [&](double count) { return !(log_tail(count * integral.h_) > goal); };
  nodes = std::ceil(bisect_ratio({.holds = nodes, .fails = nodes / 2}, 1, 6, is_enough).holds);
  const double y_max = nodes * integral.h_;
  double operations = 0;
  for (const auto& one : lines) operations += nodes * one->cost(y_max);
  if (operations > max_operations) return std::nullopt;
  integral.tail_ = std::exp(log_tail(y_max)) * (1 + 1e-9) + 1e-300;

  // Composed ratios at the nodes.
  const auto count = static_cast<std::size_t>(nodes);
  const double value = std::exp(log_delta - (moments.log_moment - c * epsilon));  // what the sum will be, about
  const double tolerance = 0.1 * relative * std::min(1.0, c * value) / steps;
  // The error of the product of the (1 + Dᵢ)^Tᵢ, where each 1 + Dᵢ is known up to eᵢ:
  std::vector<double> log_magnitude(count, 0.0);
  std::vector<double> log_growth(count, 0.0);  // Σ Tᵢ ln((|1 + Dᵢ| + eᵢ) / |1 + Dᵢ|)
  std::vector<double> share(count, 0.0);       // Σ Tᵢ eᵢ / (|1 + Dᵢ| + eᵢ)
  std::vector<double> rounding(count, 0.0);    // of ln of the product, in units of 2^-50
  integral.phase_.assign(count, 0.0);
  std::vector<std::complex<double>> ratios(count);
  std::vector<double> errors(count);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto values = lines[i]->evaluate(integral.h_, tolerance, ratios, errors);
    if (!(values.log_moment_error < 1)) return std::nullopt;
    const double times = losses[i].count;
    integral.log_moment_ += times * values.log_moment;
    integral.log_moment_error_ += times * (values.log_moment_error + 0x1p-51 * std::fabs(values.log_moment));
    for (std::size_t n = 0; n < count; ++n) {
      const double re = ratios[n].real();
      const double im = ratios[n].imag();
      const double e = errors[n];
      if (!(e < 1)) return std::nullopt;
      // |1 + D|, without cancellation: from |1 + D|² − 1 where that is small, else from 1 + D.
      const double size2 = re * (2 + re) + im * im;
      const bool near_one = size2 > -0.5;
      const double size = near_one ? std::sqrt(1 + size2) : std::max(std::hypot(1 + re, im), 1e-300);
      const double log_size = near_one ? 0.5 * std::log1p(size2) : std::log(size);
      const double angle = std::atan2(im, 1 + re);
      log_magnitude[n] += times * log_size;
      integral.phase_[n] += times * angle;
      rounding[n] += times * ((near_one ? 2 * std::fabs(re) + im * im : 2) + std::fabs(log_size) + std::fabs(angle));
      const double relative_error = e / size;
      log_growth[n] += times * (relative_error < 1e-3 ? relative_error : std::log1p(relative_error));
      share[n] += times * e / (size + e);
    }
  }
  integral.log_moment_ += c * (c + 1) * variance / 2;
  integral.log_moment_error_ += 0x1p-50 * (std::fabs(integral.log_moment_) + 1 + c * (c + 1) * variance);
  integral.magnitude_.resize(count);
  integral.node_error_.resize(count);
  for (std::size_t n = 0; n < count; ++n) {
    const double y = integral.h_ * static_cast<double>(n + 1);
    const double kernel = 1 / std::sqrt((c * c + y * y) * ((c + 1) * (c + 1) + y * y));
    if (smoothing > 0) {
      const double fall = y * y * variance / 2;
      const double turn = y * (2 * c + 1) * variance / 2;
      log_magnitude[n] -= fall;
      integral.phase_[n] += turn;
      rounding[n] += 2 * (fall + turn);
    }
    integral.magnitude_[n] = std::exp(log_magnitude[n]) * kernel;
    // The angles of s and s + 1 are less than π/2 each: their sum is that of the product.
    integral.phase_[n] -= std::atan2(y * (2 * c + 1), c * (c + 1) - y * y);
    // |Π aᵢ^Tᵢ − Π bᵢ^Tᵢ| ≤ Π (|aᵢ| + eᵢ)^Tᵢ Σ Tᵢ eᵢ / (|aᵢ| + eᵢ) if |aᵢ − bᵢ| ≤ eᵢ; and |a − a e^ρ| ≤ 2ρ e^ρ |a|.
    const double rho = 0x1p-50 * (16 + 2 * rounding[n]);
    integral.node_error_[n] =
        std::exp(log_magnitude[n] + log_growth[n] + 2 * rho) * kernel * (share[n] + 2 * rho) * (1 + 1e-9) + 1e-300;
  }
  integral.drop_small_nodes();

  // The aliases above need a certified moment at c′.
  for (const auto& [loss, times] : losses) {
    const auto values = loss->on_line(integral.alias_order_)->evaluate(1, tolerance, {}, {});
    if (!(values.log_moment_error < 1)) return std::nullopt;
    integral.alias_log_moment_ +=
        times * (values.log_moment + values.log_moment_error + 0x1p-51 * std::fabs(values.log_moment));
  }
  const double order = integral.alias_order_;
  integral.alias_log_moment_ += order * (order + 1) * variance / 2 * (1 + 0x1p-48);
  integral.alias_log_moment_ += 0x1p-50 * (std::fabs(integral.alias_log_moment_) + 1);
  return integral;
}

ContourIntegral::Sum ContourIntegral::sum(double epsilon) const {
  // With what additions round off in `carry`: then the sum is as good as if it were rounded once.
  double value = 0.5 / (c_ * (c_ + 1));
  double carry = 0;
  double slope = 0;
  double error = value * 0x1p-50;
  // The same without the factor 1/s(s + 1), which is multiplied back.
  double density = 0.5;
  double density_error = 0x1p-50;
  const bool smooth = smoothing_ > 0;
  for (std::size_t n = 0; n < magnitude_.size(); ++n) {
    const double y = h_ * static_cast<double>(n + 1);
    const double angle = phase_[n] - y * epsilon;
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double term = magnitude_[n] * cosine;
    const double next = value + term;
    carry += std::fabs(value) >= std::fabs(term) ? (value - next) + term : (term - next) + value;
    value = next;
    slope += magnitude_[n] * y * sine;
    error += node_error_[n] + magnitude_[n] * 0x1p-50 * (2 + y * std::fabs(epsilon));
    if (smooth) {
      const double re = c_ * (c_ + 1) - y * y;
      const double im = y * (2 * c_ + 1);
      density += magnitude_[n] * (re * cosine - im * sine);
      density_error +=
          (std::fabs(re) + im) * (node_error_[n] + magnitude_[n] * 0x1p-50 * (8 + y * std::fabs(epsilon))) +
          0x1p-53 * std::fabs(density);
    }
  }
  value += carry;
  error += 0x1p-50 * std::fabs(value);
  Sum found{value * h_ / kPi, error * h_ / kPi * (1 + 1e-9) + tail_, -c_ + slope / value};
  if (smooth) {
    // What lies beyond the nodes is at most ∫ e^{−y²w²/2} dy/π beyond them. Aliases are not negative: they stay.
    const double y = last_node_;
    const double variance = smoothing_ * smoothing_;
    const double rest = std::exp(-y * y * variance / 2) / (kPi * y * variance) * (1 + 1e-9) + density_tail_;
    found.density = (density + density_error * (1 + 1e-9)) * h_ / kPi + rest;
    found.density += 0x1p-50 * std::fabs(found.density);
  }
  return found;
}

// The last nodes may add up to less than what the rest of the line does: then they count as part of it.
void ContourIntegral::drop_small_nodes() {
  last_node_ = h_ * static_cast<double>(magnitude_.size());
  const double enough = 0.01 * tail_ * kPi / h_;
  double sum = 0;
  double density = 0;
  std::size_t count = magnitude_.size();
  for (; count > 0; --count) {
    const double y = h_ * static_cast<double>(count);
    const double size = (magnitude_[count - 1] + node_error_[count - 1]) * (1 + 1e-9);
    if (!(sum + size <= enough)) break;
    sum += size;
    density += size * std::hypot(c_, y) * std::hypot(c_ + 1, y);
  }
  magnitude_.resize(count);
  node_error_.resize(count);
  phase_.resize(count);
  tail_ += sum * h_ / kPi * (1 + 1e-9);
  density_tail_ = density * h_ / kPi * (1 + 1e-9);
}

std::optional<ContourIntegral> ContourIntegral::smoothed(std::span<const RepeatedLoss> losses, double log_delta,
                                                         double epsilon, double tilt, double smoothing,
                                                         double max_operations) {
  return on_line(losses, samples_for(losses, log_delta, tilt), epsilon, log_delta, max_operations, smoothing);
}

double ContourIntegral::log_density(double epsilon, const Sum& s) const {
  if (!(s.density > 0)) return std::isnan(s.density) ? kInfinity : -kInfinity;
  const double log_scale = log_moment_ - c_ * epsilon;
  const double log_density = std::log(s.density);
  return log_density + log_scale + log_moment_error_ +
         0x1p-50 * (std::fabs(c_ * epsilon) + std::fabs(log_scale) + std::fabs(log_density) + 1);
}

ContourIntegral::Local ContourIntegral::local(double epsilon) const {
  const Sum s = sum(epsilon);
  return {log_delta(epsilon, s), s.slope, smoothing_ > 0 ? log_density(epsilon, s) : kInfinity};
}

Interval ContourIntegral::log_delta(double epsilon) const {
  if (epsilon >= max_loss_) return {-kInfinity, lost_mass_ > 0 ? std::log(lost_mass_) + 1e-9 : -kInfinity};
  return log_delta(epsilon, sum(epsilon));
}

Interval ContourIntegral::log_delta(double epsilon, const Sum& s) const {
  const double log_scale = log_moment_ - c_ * epsilon;
  const double period = 2 * kPi / h_;
  const double d = alias_order_ - c_;
  const auto rounding = [&](double log_value) {
    return log_moment_error_ + 0x1p-51 * (std::fabs(c_ * epsilon) + std::fabs(log_value) + std::fabs(log_scale) + 1);
  };
  // From above: the aliases in the sum stay, what was truncated is added. A sum that is not positive, or not a number,
  // says nothing.
  double upper = 0;
  const double high = s.value + s.error;
  if (high > 0) {
    const double log_high = std::log(high);
    upper = log_high + log_scale + rounding(log_high);
    if (lost_mass_ > 0) {
      const double log_lost = std::log(lost_mass_) + 1e-9;
      const double larger = std::max(upper, log_lost);
      upper = larger + std::log1p(std::exp(std::min(upper, log_lost) - larger)) + 0x1p-50 * (1 + std::fabs(larger));
    }
    upper = std::isnan(upper) ? 0 : std::min(0.0, upper);
  }
  // From below: aliases are taken off, in the units of the sum.
  double lower = -kInfinity;
  // δ(ε − kW) is at most 1, and at most kW + E[S⁺] with E[S⁺] ≤ Φ(c)/(ec).
  const double fall = std::expm1(c_ * period);
  const double expected = std::exp(std::min(log_moment_ + log_moment_error_ - 1, 700.0)) / c_ * (1 + 1e-12);
  const double near_zero = std::min(1.0, period * (1 + 1 / fall) + expected);
  const double below = std::exp(-log_scale + 2 * rounding(0)) / fall * near_zero;
  const double order_rounding = 0x1p-51 * (std::fabs(alias_log_moment_) + std::fabs(alias_order_ * epsilon));
  const double log_above = alias_log_moment_ + log_chernoff_factor(alias_order_) - alias_order_ * epsilon - log_scale +
                           order_rounding + 2 * rounding(0);
  const double above = epsilon + period >= max_loss_ ? 0 : std::exp(log_above) / std::expm1(d * period);
  const double low = s.value - s.error - (below + above) * (1 + 1e-9);
  if (low > 0) {
    const double log_low = std::log(low);
    lower = log_low + log_scale - rounding(log_low);
    if (std::isnan(lower)) lower = -kInfinity;
  }
  return {lower, upper};
}

Interval ContourIntegral::epsilon(double log_delta) const {
  // Newton on ln of the sum; then step to either side until the bounds say so.
  double guess = std::max(centre_, 0.0);
  double slope = -c_;
  for (int i = 0; i < 40; ++i) {
    const Sum s = sum(guess);
    if (!(s.value > 0)) {
      guess *= 0.9;
      continue;
    }
    slope = std::min(s.slope, -1e-12);
    const double off = std::log(s.value) + log_moment_ - c_ * guess - log_delta;
    const double next = std::clamp(guess - off / slope, 0.0, 2 * guess + 1);
    if (!std::isfinite(next)) return {0, kInfinity};
    const bool done = std::fabs(next - guess) <= 1e-13 * (1e-3 + guess);
    guess = next;
    if (done) break;
  }
  const double slack = log_delta_slack(log_delta);
  const auto is_enough = [&](Interval b) { return b.upper <= log_delta - slack; };
  const auto is_too_small = [&](Interval b) { return b.lower >= log_delta + slack; };
  if (guess <= 1e-9 && is_enough(this->log_delta(0))) return {0, 0};
  const Interval at = this->log_delta(guess);
  const auto walk = [&](double start, double direction, auto&& holds) -> std::optional<double> {
    double width = std::max({1e-12 * guess, 1e-15, 1.1 * std::fabs((std::fabs(start) + slack) / slope)});
    for (int i = 0; i < 60; ++i) {
      const double epsilon = guess + direction * width;
      if (epsilon <= 0) return 0.0;
      if (holds(this->log_delta(epsilon))) return epsilon;
      width *= 1.5;
    }
    return std::nullopt;
  };
  const auto upper = walk(at.upper - log_delta, 1, is_enough);
  const auto lower = walk(at.lower - log_delta, -1, is_too_small);
  return {lower.value_or(0), upper.value_or(kInfinity)};
}

}  // namespace noisefloor
