// How narrow, fast and monotone the certified ε of sampled Gaussians is over the grid of all settings that are
// promised: rates 1e-7 … 1, noise 0.2 … 1,000, steps 1 … 10^8, δ 1e-30 … 0.1, both neighbouring relations. Prints the
// worst ten, and where a bound falls although the rate, the steps, 1/noise or 1/δ grow. Times are those of the
// processor.
//
//   accounting_grid [N] [M]    takes every N-th setting (default 1: all; monotony is looked at only then), and prints
//                              the worst M (default 10)
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

// Milliseconds of processor time of this thread: what else runs on the machine does not count.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

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
  const double start = processor_time();
  const Result<Interval> found = pld_epsilon(event, s.adjacency, Delta::make(s.delta).value());
  s.milliseconds = processor_time() - start;
  s.refused = !found.has_value();
  if (found.has_value()) s.epsilon = found.value();
}

void print_worst(const std::string& title, std::vector<Setting> settings, std::size_t most,
                 double (*badness)(const Setting&)) {
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const Setting& a, const Setting& b) { return badness(a) > badness(b); });
  fmt::print("{}:\n", title);
  for (std::size_t i = 0; i < std::min(most, settings.size()); ++i) {
    const Setting& s = settings[i];
    fmt::print(
        "  rate {:<8.3g} noise {:<6.3g} steps {:<8.3g} delta {:<8.1e} {:<12} [{:.9g}, {:.9g}]  width {:.1e}  {:.2f} "
        "ms\n",
        s.rate, s.noise, s.steps, s.delta, s.adjacency == Adjacency::kAddRemove ? "add-remove" : "replace-one",
        s.epsilon.lower, s.epsilon.upper, s.width(), s.milliseconds);
  }
}

// Whether the certified interval of one setting contradicts that of a worse one: the upper bound is larger by more than
// both intervals are wide.
struct Fall {
  const Setting* better;
  const Setting* worse;
  [[nodiscard]] double size() const { return better->epsilon.upper / worse->epsilon.upper - 1; }
};

std::vector<Fall> falls(const std::vector<Setting>& settings) {
  using Key = std::tuple<int, double, double, double, double>;
  const auto key = [](const Setting& s) {
    return Key{static_cast<int>(s.adjacency), s.rate, s.noise, s.steps, s.delta};
  };
  std::map<Key, const Setting*> all;
  std::array<std::map<double, double>, 4> next;  // of each parameter, towards a larger ε
  const auto chain = [](std::map<double, double>& next_of, std::vector<double> values) {
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      if (values[i] != values[i + 1]) next_of[values[i]] = values[i + 1];
    }
  };
  std::array<std::vector<double>, 4> values;
  for (const Setting& s : settings) {
    all[key(s)] = &s;
    values[0].push_back(s.rate);
    values[1].push_back(-s.noise);
    values[2].push_back(s.steps);
    values[3].push_back(-s.delta);
  }
  for (std::size_t i = 0; i < 4; ++i) chain(next[i], values[i]);
  std::vector<Fall> found;
  for (const Setting& s : settings) {
    for (std::size_t i = 0; i < 4; ++i) {
      Setting worse = s;
      double& parameter = i == 0 ? worse.rate : i == 1 ? worse.noise : i == 2 ? worse.steps : worse.delta;
      const double sign = i == 1 || i == 3 ? -1 : 1;
      const auto larger = next[i].find(sign * parameter);
      if (larger == next[i].end()) continue;
      parameter = sign * larger->second;
      const auto other = all.find(key(worse));
      if (other == all.end() || !std::isfinite(s.epsilon.upper)) continue;
      if (s.epsilon.upper > other->second->epsilon.upper) found.push_back({&s, other->second});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Fall& a, const Fall& b) { return a.size() > b.size(); });
  return found;
}

int run(std::size_t every, std::size_t most) {
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
  if (every == 1) {
    const std::vector<Fall> found = falls(settings);
    fmt::print("not monotone: {} pairs of neighbours in the grid\n", found.size());
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) {
      const Setting& s = *found[i].better;
      const Setting& w = *found[i].worse;
      fmt::print(
          "  rate {:g} noise {:g} steps {:g} delta {:g}: {:.12g}, above {:.12g} at rate {:g} noise {:g} steps {:g} "
          "delta {:g}\n",
          s.rate, s.noise, s.steps, s.delta, s.epsilon.upper, w.epsilon.upper, w.rate, w.noise, w.steps, w.delta);
    }
  }
  print_worst("widest", settings, most, [](const Setting& s) { return s.width(); });
  print_worst("slowest", settings, most, [](const Setting& s) { return s.milliseconds; });
  return 0;
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? std::max<std::size_t>(1, std::strtoul(argv[i], nullptr, 10)) : otherwise;
  };
  return noisefloor::run(number(1, 1), number(2, 10));
}
