// How fast and how narrow the certified accountant is, on settings whose exact answers are known: each answer is
// checked before its time counts. One core.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden_accounting.h"
#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

using testing::golden::dpsgd;
using testing::golden::Kind;
using testing::golden::Row;
// Processor time of this thread: what else runs on the machine does not count.
struct Clock {
  static std::chrono::nanoseconds now() {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec);
  }
};

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kDpSgd:
      return "dp-sgd";
    case Kind::kGaussian:
      return "gaussian";
    case Kind::kLaplace:
      return "laplace";
    case Kind::kResponse:
      return "response";
    case Kind::kCalibrate:
      return "calibrate";
  }
  return "";
}

Interval answer(const Row& s) {
  const Delta delta = Delta::make(s.delta).value();
  if (s.kind != Kind::kCalibrate) return pld_epsilon(event_of(s), Adjacency::kAddRemove, delta).value();
  const Target target{Adjacency::kAddRemove, Epsilon::make(s.scale).value(), delta};
  const double z =
      calibrate_noise(target, [&](NoiseMultiplier multiplier) { return dpsgd(s.rate, multiplier.value(), s.count); })
          .value()
          .value.value();
  return {z * (1 - 1e-6), z};
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int run(const char* json_path) {
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  bool all_right = true;
  std::vector<double> times;
  const double at_start = peak_megabytes();
  fmt::print("{:<5}{:<10}{:>10}{:>9}{:>9}{:>8}  {:>16}{:>11}{:>10}\n", "id", "kind", "rate", "scale", "count", "delta",
             "upper bound", "width", "ms");
  for (const Row& s : testing::golden::kRows) {
    const Interval found = answer(s);
    // The golden value itself is good to 1e-9.
    const bool right = found.lower <= s.exact * (1 + 1e-9) && s.exact * (1 - 1e-9) <= found.upper;
    all_right = all_right && right;
    std::vector<double> runs;
    const auto until = Clock::now() + std::chrono::milliseconds(200);
    while (runs.size() < 3 || (Clock::now() < until && runs.size() < 50)) {
      const auto start = Clock::now();
      const Interval again = answer(s);
      runs.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      if (again.upper != found.upper) all_right = false;
    }
    std::nth_element(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2), runs.end());
    const double milliseconds = runs[runs.size() / 2];
    const double width = (found.upper - found.lower) / found.upper;
    if (s.kind == Kind::kDpSgd) times.push_back(milliseconds);
    fmt::print("{:<5}{:<10}{:>10.4g}{:>9.4g}{:>9}{:>8.0e}  {:>16.10g}{:>11.1e}{:>10.3f}{}\n", s.id, name_of(s.kind),
               s.rate, s.scale, s.count, s.delta, found.upper, width, milliseconds, right ? "" : "  WRONG");
    table.push_back({{"id", s.id},
                     {"kind", name_of(s.kind)},
                     {"rate", s.rate},
                     {"scale", s.scale},
                     {"count", s.count},
                     {"delta", s.delta},
                     {"exact", s.exact},
                     {"lower", found.lower},
                     {"upper", found.upper},
                     {"relative_width", width},
                     {"milliseconds", milliseconds},
                     {"right", right}});
  }
  std::sort(times.begin(), times.end());
  const double memory = peak_megabytes();
  fmt::print(
      "dp-sgd: median {:.3f} ms, slowest {:.3f} ms. Peak memory {:.1f} MB, of which {:.1f} MB before the first "
      "answer.\n",
      times[times.size() / 2], times.back(), memory, at_start);
  const nlohmann::ordered_json result = {
      {"settings", table}, {"peak_megabytes", memory}, {"start_megabytes", at_start}};
  if (json_path != nullptr) {
    std::FILE* file = std::fopen(json_path, "w");
    if (file == nullptr) return 1;
    const std::string text = result.dump(1) + "\n";
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written) return 1;
  }
  if (!all_right) fmt::print("An answer does not hold the exact value.\n");
  return all_right ? 0 : 1;
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) { return noisefloor::run(argc > 1 ? argv[1] : nullptr); }
