// How narrow, fast and monotone the certified ε of sampled Gaussians is over the grid of all settings that are
// promised: rates 1e-7 … 1, noise 0.2 … 1,000, steps 1 … 10^8, δ 1e-30 … 0.1, both neighbouring relations. Prints the
// worst ten.
//
//   accounting_grid [N]     takes every N-th setting (default 1: all)
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;

struct Setting {
  double rate;
  double noise;
  double steps;
  double delta;
  Adjacency adjacency;
  Interval epsilon{0, HUGE_VAL};
  double milliseconds = 0;
  bool refused = false;

  [[nodiscard]] double width() const {
    if (!std::isfinite(epsilon.upper)) return HUGE_VAL;
    const double absolute = epsilon.upper - epsilon.lower;
    return absolute <= 1e-9 ? 0 : absolute / epsilon.upper;
  }
};

std::vector<Setting> grid() {
  std::vector<Setting> all;
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (const double delta : {0.1, 1e-3, 1e-5, 1e-7, 1e-10, 1e-15, 1e-30}) {
      for (const double noise : {0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 3.0, 30.0, 1000.0}) {
        for (const double rate : {1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
          for (const double steps : {1.0, 10.0, 1e2, 1e3, 1e4, 1e6, 1e8}) {
            all.push_back({rate, noise, steps, delta, adjacency});
          }
        }
      }
    }
  }
  return all;
}

void solve(Setting& s) {
  const DpEvent event = SelfComposedEvent{
      Steps::make(static_cast<std::uint64_t>(s.steps)).value(),
      PoissonSampledEvent{SamplingRate::make(s.rate).value(), GaussianEvent{NoiseMultiplier::make(s.noise).value()}}};
  const auto start = Clock::now();
  const Result<Interval> found = pld_epsilon(event, s.adjacency, Delta::make(s.delta).value());
  s.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  s.refused = !found.has_value();
  if (found.has_value()) s.epsilon = found.value();
}

void print_worst(const std::string& title, std::vector<Setting> settings, double (*badness)(const Setting&)) {
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const Setting& a, const Setting& b) { return badness(a) > badness(b); });
  fmt::print("{}:\n", title);
  for (std::size_t i = 0; i < std::min<std::size_t>(10, settings.size()); ++i) {
    const Setting& s = settings[i];
    fmt::print(
        "  rate {:<8.3g} noise {:<6.3g} steps {:<8.3g} delta {:<8.1e} {:<12} [{:.9g}, {:.9g}]  width {:.1e}  {:.2f} "
        "ms\n",
        s.rate, s.noise, s.steps, s.delta, s.adjacency == Adjacency::kAddRemove ? "add-remove" : "replace-one",
        s.epsilon.lower, s.epsilon.upper, s.width(), s.milliseconds);
  }
}

int run(std::size_t every) {
  std::vector<Setting> settings;
  const std::vector<Setting> all = grid();
  for (std::size_t i = 0; i < all.size(); i += every) settings.push_back(all[i]);
  for (Setting& s : settings) solve(s);
  const auto count = [&](auto&& holds) {
    return static_cast<double>(std::count_if(settings.begin(), settings.end(), holds)) /
           static_cast<double>(settings.size()) * 100;
  };
  std::vector<double> times;
  for (const Setting& s : settings) times.push_back(s.milliseconds);
  std::sort(times.begin(), times.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} settings: width <= 1e-6 in {:.2f} %, <= 1e-2 in {:.2f} %, refused {:.2f} %\n", settings.size(),
             count([](const Setting& s) { return s.width() <= 1e-6; }),
             count([](const Setting& s) { return s.width() <= 1e-2; }),
             count([](const Setting& s) { return s.refused; }));
  fmt::print("median {:.3f} ms, 99 % below {:.2f} ms, slowest {:.1f} ms; peak memory {:.1f} MB\n",
             times[times.size() / 2], times[times.size() * 99 / 100], times.back(),
             static_cast<double>(usage.ru_maxrss) / 1024);
  print_worst("widest", settings, [](const Setting& s) { return s.width(); });
  print_worst("slowest", settings, [](const Setting& s) { return s.milliseconds; });
  return 0;
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) {
  return noisefloor::run(argc > 1 ? std::max<std::size_t>(1, std::strtoul(argv[1], nullptr, 10)) : 1);
}
