// A recommender's numbers: how many users clicked, and how engaged users are. Counts over many people hardly notice the
// noise.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "example.h"
#include "noisefloor/mechanisms/histogram.h"
#include "noisefloor/mechanisms/laplace.h"

using namespace noisefloor;
using example::must;

namespace {

constexpr Neighbours kUsers{Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::of(1)};

void click_count(SecureRandom& source, example::Expectations& expect) {
  example::heading("Clicks on a recommendation: 5,000 users", "Laplace noise of scale 1/epsilon.");
  const Sensitivity sensitivity = must(count_sensitivity(kUsers));
  fmt::print("  {:>7}  {:>8}  {:>12}  {:>14}\n", "epsilon", "scale", "released", "relative error");
  for (const double e : {0.01, 0.1, 1.0, 3.0, 8.0}) {
    const LaplaceMechanism laplace = must(LaplaceMechanism::create(sensitivity, must(Epsilon::make(e))));
    const double released = must(laplace.release(5000.0, source)).value();
    const double error = std::fabs(released - 5000);
    fmt::print("  {:>7.2f}  {:>8.2f}  {:>12.1f}  {:>12.2f} %\n", e, laplace.scale(), released, 100 * error / 5000);
    expect.between("scale", laplace.scale(), 1 / e * (1 - 1e-9), 1 / e * (1 + 1e-6));
    expect.between("error in scales", error * e, 0, 25);  // beyond 25 scales: probability e^-25
  }
}

void engagement_histogram(SecureRandom& source, example::Expectations& expect) {
  example::heading(
      "Engagement of 80,000 users in four bins, epsilon = 1",
      "Each user is in one bin: adding one changes one count by 1. All four counts together cost epsilon = 1.");
  const std::vector<std::string_view> names = {"low", "medium", "high", "very_high"};
  const std::vector<std::int64_t> truth = {12000, 35000, 28000, 5000};
  const HistogramMechanism histogram =
      must(HistogramMechanism::create(kUsers, Dimension::of(4), Epsilon::of(1), Delta::of(0)));
  const auto release = must(histogram.release(truth, source));
  fmt::print("  {:>10}  {:>8}  {:>9}\n", "bin", "true", "released");
  for (std::size_t i = 0; i < truth.size(); ++i) {
    fmt::print("  {:>10}  {:>8}  {:>9}\n", names[i], truth[i], release.value()[i]);
    expect.between("noise on a bin", std::fabs(static_cast<double>(release.value()[i] - truth[i])), 0, 30);
  }
  const double bound = histogram.error_bound(Confidence::of(0.95));
  fmt::print("\n  95 % interval of each count: ± {}\n", bound);
  expect.between("95 % bound", bound, 3, 3);
}

}  // namespace

int main() {
  SecureRandom source = must(SecureRandom::create());
  example::Expectations expect;
  click_count(source, expect);
  engagement_histogram(source, expect);
  return expect.exit_code();
}
