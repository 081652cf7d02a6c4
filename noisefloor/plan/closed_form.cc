#include "noisefloor/plan/closed_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/numerics/bisect.h"
#include "noisefloor/plan/nearest.h"
#include "noisefloor/plan/search.h"

namespace noisefloor {

namespace proactive {
namespace {

constexpr double kE = std::numbers::e;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A factor larger than all rounding errors of a formula here.
constexpr double kUp = 1 + 1e-12;

}  // namespace

double h(double sigma) {
  const double x = kE / sigma;
  const double root = 1 / (std::sqrt(1 + x * x) + x);  // √(1 + x²) − x, without cancellation
  return root * root;
}

double g(double sigma) { return std::min(1 / (kE * sigma), h(sigma)); }

double gamma_bound(double sigma, double alpha) {
  const double root = std::sqrt(alpha);
  const double rest = sigma * (1 - alpha) - 2 * kE * root;
  if (!(alpha < 1) || !(rest > 0)) return kInfinity;
  const double near = sigma / ((1 - root) * (1 - root));
  const double far = kE * kE * kE / (sigma * rest);
  return kUp * (2 + 16 * alpha * (near + far) * std::exp(3 / (sigma * sigma))) / (1 - alpha);
}

double gamma(double sigma, double epsilon_per_epoch) {
  const auto enough = [&](double gamma) { return gamma >= gamma_bound(sigma, epsilon_per_epoch / gamma); };
  double upper = 2;
  while (!enough(upper)) {
    upper *= 2;
    if (upper > 1e300) return kInfinity;
  }
  return bisect({.holds = upper, .fails = upper / 2}, {.relative = 1e-14}, enough).holds;
}

double gamma_once(double sigma, double epsilon_per_epoch) { return gamma_bound(sigma, epsilon_per_epoch / 2); }

double sigma_for(double epsilon, double delta) { return std::sqrt(2 * (epsilon - std::log(delta)) / epsilon); }

double epsilon_for(double sigma, double delta) {
  if (!(sigma * sigma > 2)) return kInfinity;
  return -2 * std::log(delta) / (sigma * sigma - 2);
}

}  // namespace proactive

namespace {

using proactive::kE;
using proactive::kInfinity;

constexpr double kLeastNoise = 216.0 / 215;  // Theorem B.2
constexpr double kMaxTheta = 6.85;
constexpr double kMinRows = 10'000;

double real(std::uint64_t count) { return static_cast<double>(count); }

Condition at_least(std::string name, std::string statement, double value, double bound, std::string remedy) {
  return {std::move(name), std::move(statement), value, true, bound, value >= bound, std::move(remedy)};
}

Condition at_most(std::string name, std::string statement, double value, double bound, std::string remedy) {
  return {std::move(name), std::move(statement), value, false, bound, value <= bound, std::move(remedy)};
}

// The quantities in the conditions.
struct Numbers {
  explicit Numbers(const ProactiveSetting& setting)
      : rows(real(setting.rows.value())),
        epsilon(setting.epsilon.value()),
        delta(setting.delta.value()),
        noise(setting.noise.value()),
        rounds(real(setting.sizes.rounds())),
        epochs(real(setting.sizes.total()) / rows),
        theta(setting.sizes.theta()),
        gamma(proactive::gamma(noise, epsilon / epochs)) {}

  double rows;
  double epsilon;
  double delta;
  double noise;
  double rounds;
  double epochs;
  double theta;
  double gamma;
};

// The noise is set by the same formulas, so the last bits do not matter for privacy.
bool reaches(double noise, double needed) { return noise * (1 + 1e-12) >= needed; }

Condition enough_noise(const Numbers& n, const char* name) {
  const double needed = proactive::sigma_for(n.epsilon, n.delta);
  Condition condition = at_least(name, "noise: sigma against sqrt(2(epsilon + ln(1/delta))/epsilon)", n.noise, needed,
                                 fmt::format("take sigma {} or above", at_least_shown(needed)));
  condition.holds = reaches(n.noise, needed);
  return condition;
}

// The remedy: whole samples of at most this share of the rows.
std::string smaller_samples(const Numbers& n, double share) {
  const double most = std::floor(share * n.rows);
  if (most >= 1) return fmt::format("take samples of {:.0f} at most", most);
  return fmt::format("even samples of 1 are too large: take {:.0f} rows or more", std::ceil(1 / share));
}

Condition enough_rounds(const Numbers& n, const char* name) {
  const double needed = n.gamma * n.theta * n.theta * n.epochs * n.epochs / n.epsilon;
  return at_least(name, "rounds: T against gamma theta^2 k^2/epsilon", n.rounds, needed,
                  fmt::format("take smaller samples, for at least {:.0f} rounds", std::ceil(needed)));
}

std::string least_noise() { return fmt::format("take sigma {} or above", at_least_shown(kLeastNoise)); }

// The further quantities of Theorem B.2.
struct General {
  General(const Numbers& n, const SampleSizes& sizes) : r0(n.noise * real(sizes.largest()) / n.rows) {
    double s1 = 0;
    double s2 = 0;
    double s3 = 0;
    for (const SampleSizes::Stretch& one : sizes.stretches()) {
      const double size = real(one.size);
      const double ratio = size < n.rows ? size / (n.rows - size) : kInfinity;
      const double weight = real(one.rounds) * size / (n.rows * n.rounds);
      s1 += weight;
      s2 += weight * ratio;
      s3 += weight * ratio * ratio;
    }
    u0 = r0 < n.noise ? 2 * std::sqrt(r0 * n.noise) / (n.noise - r0) : kInfinity;
    u1 = u0 * kE / n.noise;
    const double cube = n.noise * n.noise * n.noise;
    const double r = u0 < 1 && u1 < 1 ? r0 * 8 * (1 / (1 - u0) + kE * kE * kE / (cube * (1 - u1))) *
                                            std::exp(3 / (n.noise * n.noise))
                                      : kInfinity;
    const double c1 = n.epsilon / (n.rounds * s1 * s1);
    const double x = r * (s1 * s3 / (s2 * s2)) * c1;  // rρc₁
    const double c0 = std::min((std::sqrt(2 * x + 1) - 1) / x, 2 * s2 / (s1 * s1 * c1));
    needed = std::isfinite(x)
                 ? 2 / std::sqrt(c0) * std::sqrt(s2 * n.rounds * (n.epsilon - std::log(n.delta))) / n.epsilon
                 : kInfinity;
  }

  double r0;
  double u0;
  double u1;
  double needed;  // the least σ
};

// The remedy for samples of one size: the largest size for which the noise suffices for as many gradients.
std::string nearest_size(const ProactiveSetting& setting) {
  if (setting.sizes.stretches().size() > 1) return "take smaller samples or more noise";
  const std::uint64_t size = largest_that_fits(1, setting.sizes.largest(), [&](std::uint64_t one) {
    ProactiveSetting smaller = setting;
    const auto rounds = static_cast<std::uint64_t>(std::ceil(real(setting.sizes.total()) / real(one)));
    auto sizes = SampleSizes::constant(one, rounds);
    if (!sizes.has_value()) return false;
    smaller.sizes = std::move(sizes).value();
    return reaches(setting.noise.value(), General(Numbers(smaller), smaller.sizes).needed);
  });
  if (size == 0) return "no sample is small enough with this noise: take more noise";
  return fmt::format("take samples of {} at most, or more noise", size);
}

}  // namespace

bool all_hold(const std::vector<Condition>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [](const Condition& one) { return one.holds; });
}

std::vector<Condition> theorem_3_1(const ProactiveSetting& setting) {
  const Numbers n(setting);
  Condition small =
      at_most("(6)", "epsilon below 0.5", n.epsilon, 0.5,
              fmt::format("take an epsilon below 0.5, hence sigma above {}; or use Theorem B.4, which has "
                          "no such bound",
                          at_least_shown(proactive::sigma_for(0.5, n.delta))));
  small.holds = n.epsilon < 0.5;
  const double needed = 0.5 - std::log(n.delta);
  return {enough_noise(n, "(6)"),
          at_most("(6)", "delta at most 1/N", n.delta, 1 / n.rows,
                  fmt::format("take delta {} or below", at_most_shown(1 / n.rows))),
          small,
          at_least("N", "rows at least 10,000", n.rows, kMinRows,
                   "take 10,000 rows or more; or use Theorem B.4, which has no such bound"),
          at_most("theta", "largest over mean sample size", n.theta, kMaxTheta,
                  fmt::format("let sizes vary less: with this mean, at most {} in a sample",
                              std::floor(kMaxTheta * setting.sizes.mean()))),
          at_least("(7)", "epochs: (2/e)^2 k^2 against 1/2 + ln(1/delta)", 4 / (kE * kE) * n.epochs * n.epochs, needed,
                   fmt::format("train for at least {} epochs", at_least_shown(kE / 2 * std::sqrt(needed)))),
          enough_rounds(n, "(8)")};
}

std::vector<Condition> theorem_b4(const ProactiveSetting& setting) {
  const Numbers n(setting);
  const double h = proactive::h(n.noise);
  const double g = proactive::g(proactive::sigma_for(n.epsilon, n.delta));
  return {at_least("sigma", "noise at least 216/215, as Theorem B.2 assumes", n.noise, kLeastNoise, least_noise()),
          at_most("(32)", "largest sample: theta s/N against g(sigma)", n.theta * setting.sizes.mean() / n.rows, g,
                  smaller_samples(n, g)),
          at_most("(33)", "epsilon against gamma h(sigma) k", n.epsilon, n.gamma * h * n.epochs,
                  fmt::format("take epsilon {} or below, or more epochs", at_most_shown(n.gamma * h * n.epochs))),
          enough_rounds(n, "(34)"), enough_noise(n, "(35)")};
}

std::vector<Condition> theorem_b2(const ProactiveSetting& setting) {
  const Numbers n(setting);
  const General general(n, setting.sizes);
  const bool enough = reaches(n.noise, general.needed);
  Condition noise = at_least("B.2", "noise: sigma against 2 sqrt(S_2 T (epsilon + ln(1/delta)))/(sqrt(c_0) epsilon)",
                             n.noise, general.needed, enough ? "" : nearest_size(setting));
  noise.holds = enough;
  // u0 < 1 and u1 < 1, solved for s_max/N.
  const double share0 = std::pow(std::numbers::sqrt2 - 1, 2);
  return {at_least("sigma", "noise at least 216/215", n.noise, kLeastNoise, least_noise()),
          at_most("r0", "sigma s_max/N against 1/e", general.r0, 1 / kE, smaller_samples(n, 1 / (kE * n.noise))),
          at_most("u0", "2 sqrt(r0 sigma)/(sigma - r0) below 1", general.u0, std::nextafter(1.0, 0.0),
                  smaller_samples(n, share0)),
          at_most("u1", "2e sqrt(r0 sigma)/((sigma - r0) sigma) below 1", general.u1, std::nextafter(1.0, 0.0),
                  smaller_samples(n, proactive::h(n.noise))),
          noise};
}

namespace {

Result<SampleSizes> sizes_of(const ClosedFormQuestion& question, std::uint64_t largest) {
  return SampleSizes::for_epochs(question.rows, question.epochs, largest, question.growth);
}

std::uint64_t smallest_size(const ClosedFormQuestion& question) {
  return SampleSizes::smallest_for_epochs(question.rows, question.epochs, question.growth);
}

Result<void> check(const ClosedFormQuestion& question) {
  if (question.delta.value() <= 0) return invalid_argument("the theorems need a delta above 0, such as 1/rows");
  NF_TRY_VOID(sizes_of(question, question.rows.value()));
  return success();
}

Error no_plan(const ClosedFormQuestion& question, Epsilon epsilon) {
  const double most = most_epochs(question, epsilon);
  return invalid_argument(
      fmt::format("no sample size keeps epsilon {:g} by Theorem B.4 over {:g} epochs of {} rows: even one row a round "
                  "is too much. {}",
                  epsilon.value(), question.epochs, question.rows.value(),
                  most > 0 ? fmt::format("At most {} epochs fit", at_most_shown(most)) : "Take a larger epsilon"));
}

ClosedFormPlan filled(const ClosedFormQuestion& question, ProactiveSetting setting, double gamma) {
  const double epsilon = setting.epsilon.value();
  const double theta = 1 + question.growth;
  const double total = question.epochs * real(question.rows.value());
  const double rounds = gamma * theta * theta * question.epochs * question.epochs / epsilon;
  const double asymptotic = theta * theta * question.epochs * question.epochs / (2 * epsilon);
  return {std::move(setting), gamma, epsilon / (gamma * question.epochs), rounds, asymptotic, total / rounds,
          total / asymptotic};
}

// The plan as the paper prints it: γ after one update, and no ε in σ.
Result<ClosedFormPlan> paper_plan(const ClosedFormQuestion& question, Epsilon target) {
  const double rows = real(question.rows.value());
  const double log = -std::log(question.delta.value());
  struct Printed {
    double gamma;
    double epsilon;
    double sigma;
  };
  const auto at = [&](std::uint64_t size) -> Printed {
    const double theta = 1 + question.growth;
    const double unit = theta * real(size) * question.epochs / rows;  // θ²s̄K/N²
    const double gamma = proactive::gamma_once(std::sqrt(log / unit), 2 * unit / question.epochs);
    return {gamma, gamma * unit, std::sqrt(2 * log / (gamma * unit))};
  };
  const auto fits = [&](std::uint64_t size) {
    const Printed printed = at(size);
    return printed.epsilon <= target.value() * (1 + 1e-6) && real(size) <= proactive::g(printed.sigma) * rows &&
           printed.epsilon <= printed.gamma * proactive::h(printed.sigma) * question.epochs;
  };
  const std::uint64_t size = largest_that_fits(1, question.rows.value(), fits);
  if (size == 0) return no_plan(question, target);
  const Printed printed = at(size);
  NF_TRY(const Epsilon epsilon, Epsilon::make(printed.epsilon));
  NF_TRY(const NoiseMultiplier noise, NoiseMultiplier::make(printed.sigma));
  NF_TRY(SampleSizes sizes, sizes_of(question, size));
  return filled(question, {question.rows, epsilon, question.delta, noise, std::move(sizes)}, printed.gamma);
}

Result<ClosedFormPlan> root_plan(const ClosedFormQuestion& question, Epsilon epsilon, NoiseMultiplier noise) {
  const auto setting_of = [&](std::uint64_t largest) -> Result<ProactiveSetting> {
    NF_TRY(SampleSizes sizes, sizes_of(question, largest));
    return ProactiveSetting{question.rows, epsilon, question.delta, noise, std::move(sizes)};
  };
  NF_TRY_VOID(setting_of(question.rows.value()));
  const std::uint64_t smallest = smallest_size(question);
  const std::uint64_t largest = largest_that_fits(smallest, question.rows.value(), [&](std::uint64_t size) {
    const Result<ProactiveSetting> setting = setting_of(size);
    return setting.has_value() && all_hold(theorem_b4(setting.value()));
  });
  if (largest < smallest) return no_plan(question, epsilon);
  NF_TRY(ProactiveSetting setting, setting_of(largest));
  return filled(question, std::move(setting), proactive::gamma(noise.value(), epsilon.value() / question.epochs));
}

}  // namespace

Result<ClosedFormPlan> closed_form_plan(const ClosedFormQuestion& question, Epsilon epsilon, GammaMode mode) {
  NF_TRY_VOID(check(question));
  if (mode == GammaMode::kPaper) return paper_plan(question, epsilon);
  NF_TRY(const NoiseMultiplier noise,
         NoiseMultiplier::make(proactive::sigma_for(epsilon.value(), question.delta.value())));
  return root_plan(question, epsilon, noise);
}

Result<ClosedFormPlan> closed_form_plan(const ClosedFormQuestion& question, NoiseMultiplier noise, GammaMode mode) {
  NF_TRY_VOID(check(question));
  const double value = proactive::epsilon_for(noise.value(), question.delta.value());
  if (!std::isfinite(value)) {
    return invalid_argument(
        fmt::format("sigma {:g} is too small for the closed form, which needs one above sqrt(2) = 1.41422: no epsilon "
                    "follows from it",
                    noise.value()));
  }
  NF_TRY(const Epsilon epsilon, Epsilon::make(value));
  if (mode == GammaMode::kRoot) return root_plan(question, epsilon, noise);
  const double gamma = proactive::gamma_once(noise.value(), value / question.epochs);
  const double size = value * real(question.rows.value()) / (gamma * (1 + question.growth) * question.epochs);
  if (size < 1) return no_plan(question, epsilon);
  NF_TRY(SampleSizes sizes,
         sizes_of(question, static_cast<std::uint64_t>(std::min(size, real(question.rows.value())))));
  return filled(question, {question.rows, epsilon, question.delta, noise, std::move(sizes)}, gamma);
}

Result<Interval> certified_epsilon(const ProactiveSetting& setting) {
  NF_TRY(const DpEvent event, setting.sizes.event(setting.rows, setting.noise, Adjacency::kAddRemove, Draw::kPoisson));
  return pld_epsilon(event, Adjacency::kAddRemove, setting.delta);
}

double most_epochs(const ClosedFormQuestion& question, Epsilon epsilon) {
  const double sigma = proactive::sigma_for(epsilon.value(), question.delta.value());
  const double theta = 1 + question.growth;
  const double scale = epsilon.value() * real(question.rows.value()) / (theta * theta);
  // γ falls to 2 as epochs grow, so that kγ(k) grows: it reaches εN/θ² at one k.
  const auto fits = [&](double epochs) { return epochs * proactive::gamma(sigma, epsilon.value() / epochs) <= scale; };
  return bisect({.holds = 0, .fails = scale / 2}, {.halvings = 200, .relative = 1e-9}, fits).holds;
}

}  // namespace noisefloor
