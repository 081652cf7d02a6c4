// Which content category is most popular? The exponential mechanism chooses; how sure it is depends on the gap and on
// epsilon.
//
// At epsilon = 1 a lead of 4,000 users decides the choice: the odds against the runner-up are e^2000. Only where the
// gap is comparable to 2/epsilon does chance have a say, and that is where the privacy is.
#include <array>
#include <cmath>
#include <vector>

#include "example.h"
#include "noisefloor/mechanisms/selection.h"

using namespace noisefloor;
using example::must;

namespace {

// Of two coins from each other. Infinite where the first shows what the second never does.
double divergence(double measured, double exact) {
  const auto part = [](double p, double q) { return p == 0 ? 0 : p * std::log(p / q); };
  return part(measured, exact) + part(1 - measured, 1 - exact);
}

}  // namespace

int main() {
  example::heading(
      "The most popular of six categories",
      "Exponential mechanism, sensitivity 1; how often each category is chosen in 10,000 trials, in per cent, and\n"
      "how often it should be.");
  const std::array<const char*, 6> names = {"drama", "comedy", "documentary", "action", "sci-fi", "horror"};
  const std::vector<double> counts = {42000, 38000, 15000, 31000, 22000, 8000};
  const Sensitivity sensitivity = must(count_sensitivity({Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::of(1)}));
  SecureRandom source = must(SecureRandom::create());
  example::Expectations expect;
  constexpr int trials = 10'000;

  for (const double e : {1.0, 0.001, 0.0001}) {
    const SelectionMechanism mechanism =
        must(SelectionMechanism::create(sensitivity, must(Epsilon::make(e)), {SelectionRule::kExponential, false}));
    const std::vector<double> exact = must(mechanism.exponential_probabilities(counts));
    std::array<int, 6> chosen{};
    for (int i = 0; i < trials; ++i) ++chosen.at(must(mechanism.release(counts, source)).value());
    fmt::print("  epsilon = {}\n", e);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double measured = chosen.at(i) / static_cast<double>(trials);
      fmt::print("    {:>12}  {:>6.0f} users  {:>6.2f} %  (exact {:.2f} %)\n", names.at(i), counts[i], 100 * measured,
                 100 * exact[i]);
      // As likely as seven standard deviations, e^-24.5, and true of rare choices too (Chernoff).
      expect.between("surprise at a frequency", trials * divergence(measured, exact[i]), -1e-6, 24.5);
    }
  }
  return expect.exit_code();
}
