// How fast and how narrow the certified accountant is, on settings whose exact answers are known: each answer is checked
// before its time counts. One core.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;

enum class Kind : std::uint8_t { kDpSgd, kGaussian, kLaplace, kResponse, kCalibrate };

// Exact answers, converged to 1e-9 relatively by two independent programs. `scale` is the noise multiplier, the Laplace
// scale, the local epsilon, or the target epsilon; `exact` is epsilon, or the noise multiplier.
struct Setting {
  Kind kind;
  const char* id;
  double rate;
  double scale;
  std::uint64_t count;
  double delta;
  double exact;
};

constexpr Setting kSettings[] = {
    {Kind::kDpSgd, "S01", 0.0001, 0.5, 1, 1e-05, 0.004395826777675456},
    {Kind::kDpSgd, "S02", 0.0001, 0.5, 100000, 1e-06, 2.877547904882033},
    {Kind::kDpSgd, "S03", 0.0001, 1.0, 100000, 1e-05, 0.13187229551963633},
    {Kind::kDpSgd, "S05", 0.001, 1.0, 10000, 1e-05, 0.4757612892476454},
    {Kind::kDpSgd, "S06", 0.001, 1.0, 100000, 1e-06, 1.8610474589628836},
    {Kind::kDpSgd, "S08", 0.004266666666666667, 1.1, 14062, 1e-05, 2.3815969214244412},
    {Kind::kDpSgd, "S09", 0.01, 0.5, 1000, 1e-05, 13.36082398534957},
    {Kind::kDpSgd, "S11", 0.01, 1.0, 1000, 1e-05, 1.828236666516579},
    {Kind::kDpSgd, "S12", 0.01, 1.0, 10000, 1e-05, 6.187712389971482},
    {Kind::kDpSgd, "S13", 0.01, 2.0, 10000, 1e-05, 2.162704590678792},
    {Kind::kDpSgd, "S14", 0.01, 4.0, 10000, 1e-05, 0.946866800764366},
    {Kind::kDpSgd, "S15", 0.01, 10.0, 100000, 1e-06, 1.3721865931716037},
    {Kind::kDpSgd, "S17", 0.0256, 1.0, 390, 1e-05, 3.212051800687597},
    {Kind::kDpSgd, "S19", 0.1, 1.0, 100, 0.001, 4.784349951968425},
    {Kind::kDpSgd, "S20", 0.1, 2.0, 1000, 1e-07, 10.009790541303095},
    {Kind::kDpSgd, "S22", 0.25, 3.0, 500, 1e-05, 9.599800225965648},
    {Kind::kDpSgd, "S23", 0.5, 1.0, 1, 1e-05, 3.5339979854489583},
    {Kind::kDpSgd, "S24", 0.5, 5.0, 100, 1e-09, 6.383859918670028},
    {Kind::kDpSgd, "S26", 1.0, 1.0, 1, 1e-05, 4.377178095681235},
    {Kind::kDpSgd, "S27", 1.0, 10.0, 1000, 1e-06, 19.423656474031056},
    {Kind::kDpSgd, "S29", 0.256, 10.0, 30, 1e-05, 0.5058209304242477},
    {Kind::kDpSgd, "S30", 0.01, 4.0, 10000, 1e-05, 0.946866800764366},
    {Kind::kGaussian, "G01", 1, 1, 1, 1e-05, 4.377178095681235},
    {Kind::kGaussian, "G02", 1, 1, 1000, 1e-05, 633.9298513356148},
    {Kind::kGaussian, "G04", 1, 2, 10, 1e-08, 9.69784519165654},
    {Kind::kGaussian, "G05", 1, 10, 1000, 1e-05, 17.856586830107638},
    {Kind::kGaussian, "G06", 1, 50, 10000, 1e-06, 10.997151214220652},
    {Kind::kGaussian, "G08", 1, 4.844805262605389, 1, 1e-05, 0.7509769568672022},
    {Kind::kGaussian, "G09", 1, 1, 100, 1e-10, 112.84032670423228},
    {Kind::kResponse, "R01", 1, 1.0, 1, 1e-06, 0.9999986321196233},
    {Kind::kResponse, "R02", 1, 1.0, 10, 1e-06, 9.999977065820733},
    {Kind::kResponse, "R04", 1, 0.1, 10, 1e-06, 0.9993709057217587},
    {Kind::kResponse, "R05", 1, 0.1, 100, 1e-06, 4.7745675881079865},
    {Kind::kResponse, "R07", 1, 0.01, 1000, 1e-05, 1.1977327983086998},
    {Kind::kResponse, "R08", 1, 1.0986122886681098, 50, 1e-06, 52.67970940888214},
    {Kind::kDpSgd, "D01", 0.01, 4.0, 1000, 1e-12, 0.5300540811974833},
    {Kind::kDpSgd, "D02", 0.01, 4.0, 1000, 1e-14, 0.5858850052914323},
    {Kind::kDpSgd, "D04", 0.01, 4.0, 1000, 1e-20, 0.7312803132608583},
    {Kind::kDpSgd, "D06", 0.2, 1.0, 500, 1e-05, 38.17024720648779},
    {Kind::kDpSgd, "D07", 0.01, 1.0, 1000000, 1e-06, 145.4968355114884},
    {Kind::kLaplace, "L03", 1, 1.0, 100, 1e-05, 68.25295105561433},
    {Kind::kLaplace, "L06", 1, 10.0, 100, 1e-06, 4.692667415611285},
    {Kind::kLaplace, "L07", 1, 10.0, 1000, 1e-06, 18.950287367539527},
    {Kind::kLaplace, "L09", 1, 100.0, 1000, 1e-08, 1.651834244107855},
    {Kind::kLaplace, "L10", 1, 1.0, 1000, 1e-05, 474.3024465555185},
    {Kind::kCalibrate, "C01", 0.01, 8.0, 10000, 1e-05, 0.8825284902876901},
    {Kind::kCalibrate, "C02", 0.01, 8.0, 20000, 1e-05, 1.0812300002525717},
    {Kind::kCalibrate, "C04", 0.0256, 3.0, 390, 1e-05, 1.0339045588701499},
    {Kind::kCalibrate, "C05", 0.025, 3.0, 400, 1e-05, 1.0270681681539795},
    {Kind::kCalibrate, "C06", 0.00510204081632653, 1.0, 1960, 1e-06, 1.2119348813130224},
    {Kind::kCalibrate, "C06", 0.00510204081632653, 3.0, 1960, 1e-06, 0.7575305411756263},
    {Kind::kCalibrate, "C06", 0.00510204081632653, 8.0, 1960, 1e-06, 0.5617745317000726},
    {Kind::kCalibrate, "C08", 0.004266666666666667, 3.0, 14062, 1e-05, 0.9684079236468319}};

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

DpEvent dpsgd(double rate, double multiplier, std::uint64_t count) {
  return SelfComposedEvent{
      Steps::make(count).value(),
      PoissonSampledEvent{SamplingRate::make(rate).value(), GaussianEvent{NoiseMultiplier::make(multiplier).value()}}};
}

DpEvent event_of(const Setting& s) {
  const Steps count = Steps::make(s.count).value();
  switch (s.kind) {
    case Kind::kGaussian:
      return SelfComposedEvent{count, GaussianEvent{NoiseMultiplier::make(s.scale).value()}};
    case Kind::kLaplace:
      return SelfComposedEvent{count, LaplaceEvent{NoiseMultiplier::make(s.scale).value()}};
    case Kind::kResponse:
      return SelfComposedEvent{count, RandomizedResponseEvent{Epsilon::make(s.scale).value(), Categories::of(2)}};
    case Kind::kDpSgd:
    case Kind::kCalibrate:
      break;
  }
  return dpsgd(s.rate, s.scale, s.count);
}

Interval answer(const Setting& s) {
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
  for (const Setting& s : kSettings) {
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
