#include "noisefloor/audit/membership_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace noisefloor::audit {
namespace {

// A spread below this is that of models which agree, and would make every difference infinite.
constexpr double kLeastSpread = 1e-6;

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  const double upper = values[half];
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half))) / 2;
}

double squares_about_mean(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value;
  mean /= static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares;
}

// The confidences of one example under the models that had it, or under those that had not.
std::vector<double> under(const References& references, std::size_t example, bool member) {
  std::vector<double> values;
  for (std::size_t model = 0; model < references.models; ++model) {
    const std::size_t place = model * references.examples + example;
    if ((references.member[place] != 0) == member) values.push_back(references.confidence[place]);
  }
  return values;
}

// The spread over models of one kind, pooled over all examples.
double pooled_spread(const References& references, bool member) {
  double squares = 0;
  double freedom = 0;
  for (std::size_t example = 0; example < references.examples; ++example) {
    const std::vector<double> values = under(references, example, member);
    if (values.size() < 2) continue;
    squares += squares_about_mean(values);
    freedom += static_cast<double>(values.size() - 1);
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : 1;
}

double spread_of(const std::vector<double>& values, double pooled, const LiraOptions& options) {
  const bool enough = values.size() >= std::max<std::size_t>(2, options.models_for_own_spread);
  const double own = enough ? std::sqrt(squares_about_mean(values) / static_cast<double>(values.size() - 1)) : pooled;
  return std::max(own, kLeastSpread);
}

double log_density(double x, double middle, double spread) {
  const double z = (x - middle) / spread;
  return -z * z / 2 - std::log(spread);
}

// ln Φ(x), also far in the lower tail, where Φ itself is 0.
double log_phi(double x) {
  if (x > -30) return std::log(boost::math::erfc(-x / std::numbers::sqrt2) / 2);
  return -x * x / 2 - std::log(-x) - std::log(2 * std::numbers::pi) / 2 + std::log1p(-1 / (x * x));
}

Result<void> check_target(std::span<const double> target, const References& references) {
  NF_TRY_VOID(check_references(references));
  if (target.size() == references.examples) return success();
  return invalid_argument(fmt::format("{} confidences of the target for {} examples of the reference models",
                                      target.size(), references.examples));
}

Error lacks_models(std::size_t example, const char* kind) {
  return invalid_argument(
      fmt::format("no reference model was trained {} example {}: train more, each on a random half", kind, example));
}

double probability_of(double confidence) { return 1 / (1 + std::exp(-confidence)); }

}  // namespace

double logit_confidence(std::span<const float> logits, std::size_t right) {
  if (logits.size() == 1) return right == 1 ? logits[0] : -static_cast<double>(logits[0]);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (i != right) largest = std::max(largest, static_cast<double>(logits[i]));
  }
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (i != right) sum += std::exp(static_cast<double>(logits[i]) - largest);
  }
  return static_cast<double>(logits[right]) - largest - std::log(sum);
}

Result<void> check_references(const References& references) {
  const std::size_t cells = references.models * references.examples;
  if (cells == 0 || references.confidence.size() != cells || references.member.size() != cells) {
    return invalid_argument(
        fmt::format("{} reference models and {} examples need as many confidences and coins; got "
                    "{} and {}",
                    references.models, references.examples, references.confidence.size(), references.member.size()));
  }
  if (std::any_of(references.confidence.begin(), references.confidence.end(),
                  [](double value) { return std::isnan(value); })) {
    return invalid_argument("a reference model has no confidence in an example: its training has diverged");
  }
  return success();
}

Result<std::vector<double>> lira_online(std::span<const double> target, const References& references,
                                        const LiraOptions& options) {
  NF_TRY_VOID(check_target(target, references));
  const double pooled_in = pooled_spread(references, true);
  const double pooled_out = pooled_spread(references, false);
  std::vector<double> scores;
  for (std::size_t example = 0; example < target.size(); ++example) {
    const std::vector<double> in = under(references, example, true);
    const std::vector<double> out = under(references, example, false);
    if (in.empty()) return lacks_models(example, "with");
    if (out.empty()) return lacks_models(example, "without");
    scores.push_back(log_density(target[example], median(in), spread_of(in, pooled_in, options)) -
                     log_density(target[example], median(out), spread_of(out, pooled_out, options)));
  }
  return scores;
}

Result<std::vector<double>> lira_offline(std::span<const double> target, const References& references,
                                         const LiraOptions& options) {
  NF_TRY_VOID(check_target(target, references));
  const double pooled = pooled_spread(references, false);
  std::vector<double> scores;
  for (std::size_t example = 0; example < target.size(); ++example) {
    const std::vector<double> out = under(references, example, false);
    if (out.empty()) return lacks_models(example, "without");
    scores.push_back(log_phi((target[example] - median(out)) / spread_of(out, pooled, options)));
  }
  return scores;
}

Result<std::vector<double>> rmia(std::span<const double> target, const References& references,
                                 std::span<const std::size_t> population, const RmiaOptions& options) {
  NF_TRY_VOID(check_target(target, references));
  if (!(options.gamma > 0) || !(options.offline >= 0 && options.offline <= 1)) {
    return invalid_argument("gamma of RMIA is above 0, and its offline constant between 0 and 1");
  }
  std::vector<double> log_ratio;  // of the target's probability to what references without the example suggest
  for (std::size_t example = 0; example < target.size(); ++example) {
    const std::vector<double> out = under(references, example, false);
    if (out.empty()) return lacks_models(example, "without");
    double mean = 0;
    for (const double confidence : out) mean += probability_of(confidence);
    mean /= static_cast<double>(out.size());
    const double reference = ((1 + options.offline) * mean + (1 - options.offline)) / 2;
    log_ratio.push_back(-std::log1p(std::exp(-target[example])) - std::log(reference));
  }
  std::vector<double> others;
  for (const std::size_t place : population) {
    if (place >= target.size()) {
      return invalid_argument(fmt::format("population example {} of {}: there is none", place, target.size()));
    }
    others.push_back(log_ratio[place]);
  }
  std::sort(others.begin(), others.end());
  std::vector<std::uint8_t> in_population(target.size(), 0);
  for (const std::size_t place : population) in_population[place] = 1;
  std::vector<double> scores;
  for (std::size_t example = 0; example < target.size(); ++example) {
    const double most = log_ratio[example] - std::log(options.gamma);
    auto smaller = std::upper_bound(others.begin(), others.end(), most) - others.begin();
    auto all = static_cast<std::ptrdiff_t>(others.size());
    if (in_population[example] != 0) {  // not with itself
      --all;
      if (options.gamma <= 1) --smaller;
    }
    if (all <= 0) return invalid_argument("RMIA compares with a population: name at least one other example");
    scores.push_back(static_cast<double>(std::max<std::ptrdiff_t>(smaller, 0)) / static_cast<double>(all));
  }
  return scores;
}

}  // namespace noisefloor::audit
