#include "noisefloor/audit/mechanism_tester.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace noisefloor::audit {
namespace {

constexpr std::size_t kCoordinates = 16;
constexpr std::size_t kLowBits = 4;      // coordinates whose lowest bits are looked at
constexpr std::size_t kThresholds = 64;  // for each number
constexpr std::size_t kFewestRuns = 1000;
constexpr int kDescents = 200;  // of the classifier
// What is not a number, as a number that is no other one.
constexpr double kNotANumber = -std::numeric_limits<double>::max();

// The numbers that events are about.
enum Feature : std::size_t { kSize, kSum, kMost, kWhereMost, kLeast, kWhereLeast, kNans, kFirstLow };
constexpr std::size_t kFirstCoordinate = kFirstLow + kLowBits;
constexpr std::size_t kFeatures = kFirstCoordinate + kCoordinates;
constexpr std::size_t kScore = kFeatures;  // of the classifier

std::string name_of_feature(std::size_t feature) {
  constexpr std::array<const char*, kFirstLow> names{
      "the count of numbers",          "their sum",           "the largest number",
      "the place of the largest",      "the smallest number", "the place of the smallest",
      "the count of what is no number"};
  if (feature < kFirstLow) return names[feature];
  if (feature < kFirstCoordinate)
    return fmt::format("the zeros at the end of number {} in binary", feature - kFirstLow);
  if (feature < kFeatures) return fmt::format("number {}", feature - kFirstCoordinate);
  return "the score of a classifier";
}

// How many zeros a double ends with.
double low_zeros(double x) {
  if (x == 0 || !std::isfinite(x)) return 64;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  const auto whole = static_cast<std::uint64_t>(std::fabs(mantissa) * 0x1p53);
  // Relative to a fixed grid, so that large numbers do not seem rounder than small ones.
  return static_cast<double>(std::countr_zero(whole) + exponent);
}

using Numbers = std::array<double, kFeatures>;

Numbers numbers_of(const std::vector<double>& output) {
  Numbers numbers{};
  numbers.fill(kNotANumber);
  numbers[kSize] = static_cast<double>(output.size());
  numbers[kNans] = 0;
  double sum = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double x = output[i];
    if (std::isnan(x)) {
      numbers[kNans] += 1;
      continue;
    }
    sum += x;
    if (i < kCoordinates) numbers[kFirstCoordinate + i] = x;
    if (i < kLowBits) numbers[kFirstLow + i] = low_zeros(x);
    if (numbers[kMost] == kNotANumber || x > numbers[kMost]) {
      numbers[kMost] = x;
      numbers[kWhereMost] = static_cast<double>(i);
    }
    if (numbers[kLeast] == kNotANumber || x < numbers[kLeast]) {
      numbers[kLeast] = x;
      numbers[kWhereLeast] = static_cast<double>(i);
    }
  }
  numbers[kSum] = std::isnan(sum) ? kNotANumber : sum;
  return numbers;
}

// A logistic regression on the numbers, each brought to a usual size; squares let it see what is in the middle.
class Classifier {
 public:
  void learn(const std::vector<Numbers>& with, const std::vector<Numbers>& without) {
    for (std::size_t f = 0; f < kFeatures; ++f) {
      std::vector<double> values;
      for (const auto* world : {&with, &without}) {
        for (const Numbers& numbers : *world) values.push_back(numbers[f]);
      }
      std::sort(values.begin(), values.end());
      middle_[f] = values[values.size() / 2];
      const double wide = values[values.size() * 9 / 10] - values[values.size() / 10];
      wide_[f] = std::isfinite(wide) && wide > 0 ? wide : 0;
    }
    const double rate = 1.0;
    std::array<double, 2 * kFeatures + 1> slope{};
    for (int step = 0; step < kDescents; ++step) {
      slope.fill(0);
      for (const bool in : {true, false}) {
        const auto& world = in ? with : without;
        for (const Numbers& numbers : world) {
          const auto usual = scaled(numbers);
          const double off = (1 / (1 + std::exp(-dot(usual))) - (in ? 1 : 0)) / static_cast<double>(world.size());
          for (std::size_t i = 0; i < slope.size(); ++i) slope[i] += off * usual[i];
        }
      }
      for (std::size_t i = 0; i < slope.size(); ++i) weights_[i] -= rate * slope[i];
    }
  }
  [[nodiscard]] double score(const Numbers& numbers) const { return dot(scaled(numbers)); }

 private:
  using Usual = std::array<double, 2 * kFeatures + 1>;
  [[nodiscard]] Usual scaled(const Numbers& numbers) const {
    Usual usual{};
    for (std::size_t f = 0; f < kFeatures; ++f) {
      const double x = wide_[f] > 0 ? std::clamp((numbers[f] - middle_[f]) / wide_[f], -3.0, 3.0) : 0;
      usual[f] = x;
      usual[kFeatures + f] = x * x;
    }
    usual.back() = 1;
    return usual;
  }
  [[nodiscard]] double dot(const Usual& usual) const {
    double sum = 0;
    for (std::size_t i = 0; i < usual.size(); ++i) sum += weights_[i] * usual[i];
    return sum;
  }

  Numbers middle_{};
  Numbers wide_{};
  Usual weights_{};
};

enum class Side : std::uint8_t { kAbove, kBelow, kEqual };

struct Event {
  std::size_t feature = 0;
  double at = 0;
  Side side = Side::kAbove;
  World likelier = World::kWith;
};

bool happens(const Event& event, const Numbers& numbers, const Classifier& classifier) {
  const double x = event.feature == kScore ? classifier.score(numbers) : numbers[event.feature];
  switch (event.side) {
    case Side::kAbove:
      return x > event.at;
    case Side::kBelow:
      return x < event.at;
    case Side::kEqual:
      break;
  }
  return x == event.at;
}

// ln of the ratio that such counts show for sure, roughly: two standard deviations to the safe side.
double worth(double often, double seldom, double runs, double delta) {
  const double more = often - 2 * std::sqrt(often + 1) - delta * runs;
  const double less = seldom + 2 * std::sqrt(seldom + 1) + 3;
  return more > 0 ? std::log(more / less) : -1;
}

class Search {
 public:
  Search(const std::vector<Numbers>& with, const std::vector<Numbers>& without, const Classifier& classifier,
         double delta)
      : with_(with), without_(without), classifier_(classifier), delta_(delta) {}

  Event best() {
    for (std::size_t feature = 0; feature <= kScore; ++feature) look(feature);
    return best_;
  }

 private:
  [[nodiscard]] std::vector<double> values(const std::vector<Numbers>& world, std::size_t feature) const {
    std::vector<double> all;
    for (const Numbers& numbers : world) {
      all.push_back(feature == kScore ? classifier_.score(numbers) : numbers[feature]);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  void try_event(std::size_t feature, double at, Side side, double in, double out, double runs) {
    for (const World likelier : {World::kWith, World::kWithout}) {
      const double found = likelier == World::kWith ? worth(in, out, runs, delta_) : worth(out, in, runs, delta_);
      if (found <= worth_) continue;
      worth_ = found;
      best_ = {feature, at, side, likelier};
    }
  }

  void look(std::size_t feature) {
    const std::vector<double> in = values(with_, feature);
    const std::vector<double> out = values(without_, feature);
    const auto runs = static_cast<double>(in.size());
    std::vector<double> cuts;
    for (const auto* world : {&in, &out}) {
      for (std::size_t i = 0; i <= kThresholds; ++i) {
        // Denser at both ends, where ratios are largest.
        const double share = 0.5 * (1 - std::cos(3.14159265358979 * static_cast<double>(i) / kThresholds));
        cuts.push_back((*world)[static_cast<std::size_t>(share * static_cast<double>(world->size() - 1))]);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (const double cut : cuts) {
      const auto below = [&](const std::vector<double>& world) {
        return static_cast<double>(std::lower_bound(world.begin(), world.end(), cut) - world.begin());
      };
      const auto to = [&](const std::vector<double>& world) {
        return static_cast<double>(std::upper_bound(world.begin(), world.end(), cut) - world.begin());
      };
      try_event(feature, cut, Side::kAbove, runs - to(in), runs - to(out), runs);
      try_event(feature, cut, Side::kBelow, below(in), below(out), runs);
      try_event(feature, cut, Side::kEqual, to(in) - below(in), to(out) - below(out), runs);
    }
  }

  const std::vector<Numbers>& with_;
  const std::vector<Numbers>& without_;
  const Classifier& classifier_;
  double delta_;
  Event best_;
  double worth_ = -2;
};

Result<std::vector<Numbers>> run_many(const BlackBox& mechanism, World world, std::size_t runs, BitStream& stream) {
  std::vector<Numbers> all;
  for (std::size_t i = 0; i < runs; ++i) {
    NF_TRY(const std::vector<double> output, mechanism(world, stream));
    all.push_back(numbers_of(output));
  }
  return all;
}

std::string in_words(const Event& event) {
  const char* side = event.side == Side::kAbove ? "above" : event.side == Side::kBelow ? "below" : "equal to";
  if (event.at == kNotANumber) return fmt::format("{} {} nothing at all", name_of_feature(event.feature), side);
  return fmt::format("{} {} {:.6g}", name_of_feature(event.feature), side, event.at);
}

}  // namespace

Result<TestedMechanism> test_mechanism(const BlackBox& mechanism, const MechanismClaim& claim,
                                       const TesterOptions& options, BitStream& stream) {
  if (options.search_runs < kFewestRuns || options.count_runs < kFewestRuns) {
    return invalid_argument(
        fmt::format("a test of a mechanism needs {} runs or more to search, and as many to count", kFewestRuns));
  }
  NF_TRY(const std::vector<Numbers> with, run_many(mechanism, World::kWith, options.search_runs, stream));
  NF_TRY(const std::vector<Numbers> without, run_many(mechanism, World::kWithout, options.search_runs, stream));
  Classifier classifier;
  const auto half = [](const std::vector<Numbers>& all) {
    return std::vector<Numbers>(all.begin(),
                                all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size() / 2, 4000)));
  };
  classifier.learn(half(with), half(without));
  const Event event = Search(with, without, classifier, claim.delta.value()).best();
  TestedMechanism tested;
  tested.event = in_words(event);
  tested.likelier = event.likelier;
  tested.counts = {0, options.count_runs, 0, options.count_runs};
  const World other = event.likelier == World::kWith ? World::kWithout : World::kWith;
  for (std::size_t i = 0; i < options.count_runs; ++i) {
    NF_TRY(const std::vector<double> often, mechanism(event.likelier, stream));
    NF_TRY(const std::vector<double> seldom, mechanism(other, stream));
    tested.counts.found += happens(event, numbers_of(often), classifier) ? 1U : 0U;
    tested.counts.false_alarms += happens(event, numbers_of(seldom), classifier) ? 1U : 0U;
  }
  NF_TRY(const Guesses guesses, Guesses::make(tested.counts));
  tested.at_least = epsilon_at_least(guesses, claim.delta, options.significance);
  tested.refuted = tested.at_least > claim.epsilon.value();
  return tested;
}

}  // namespace noisefloor::audit
