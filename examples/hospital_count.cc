// How many patients have a diagnosis? The true count is 342 and one patient moves it by 1; at epsilon = 0.5 the noise
// has scale 2.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "example.h"
#include "noisefloor/mechanisms/geometric.h"

using namespace noisefloor;
using example::must;

int main() {
  example::heading("A hospital's count: 342 patients, epsilon = 0.5",
                   "Whole Laplace noise of scale 1/0.5 = 2. What might be published, and how often it is how close.");
  const Sensitivity sensitivity = must(count_sensitivity({Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::of(1)}));
  const GeometricMechanism mechanism = must(GeometricMechanism::create(sensitivity, Epsilon::of(0.5)));
  SecureRandom source = must(SecureRandom::create());
  constexpr std::int64_t truth = 342;
  example::Expectations expect;

  fmt::print("  ten releases:");
  for (int i = 0; i < 10; ++i) fmt::print(" {}", mechanism.release(truth, source).value());
  fmt::print("\n\n  {:<16}  {:>10}  {:>10}\n", "within", "exact", "measured");
  constexpr int draws = 200'000;
  std::array<int, 21> within{};
  for (int i = 0; i < draws; ++i) {
    const auto error = static_cast<std::size_t>(std::abs(mechanism.release(truth, source).value() - truth));
    for (std::size_t bound = error; bound < within.size(); ++bound) ++within[bound];
  }
  const double r = std::exp(-0.5);
  for (const std::size_t bound : {0U, 1U, 2U, 4U, 6U, 10U, 20U}) {
    const double exact = 1 - 2 * std::pow(r, static_cast<double>(bound) + 1) / (1 + r);
    const double measured = within[bound] / static_cast<double>(draws);
    fmt::print("  {:<16}  {:>9.3f} %  {:>8.3f} %\n", bound == 0 ? "exactly 342" : fmt::format("{} of 342", bound),
               100 * exact, 100 * measured);
    expect.between("frequency", measured, exact - 0.008, exact + 0.008);
  }
  const auto bound = mechanism.error_bound(Confidence::of(0.95));
  fmt::print("\n  95 % interval: released count ± {}\n", bound);
  expect.between("95 % bound", static_cast<double>(bound), 6, 6);
  return expect.exit_code();
}
