// What the robust rules cost: n vectors of d floats, one thread. The answers are checked first, against the definitions
// on the first coordinates and with liars among the vectors: a wrong result is an error, not a speed.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/federated/robust.h"
#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor::federated {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "federated_bench: {}\n", what);
  std::exit(1);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Honest vectors lie around (1, 1, …); the liars send −4 · that. The mean would be moved by more than 0.4.
void check_answer(const RobustOptions& options, const Combined& combined, const std::vector<ClientVector>& vectors) {
  const auto n = static_cast<double>(vectors.size());
  for (std::size_t k = 0; k < 1000; ++k) {
    const double value = static_cast<double>(combined.value[k]);
    std::vector<double> column;
    for (const ClientVector& vector : vectors) column.push_back(static_cast<double>(vector.values[k]));
    std::sort(column.begin(), column.end());
    if (options.rule == RobustRule::kMedian &&
        value != static_cast<double>(
                     static_cast<float>((column[vectors.size() / 2 - 1] + column[vectors.size() / 2]) / 2))) {
      fail("the median is wrong");
    }
    double sum = 0;
    for (const double each : column) sum += each;
    if (options.rule == RobustRule::kMean && std::fabs(value - sum / n) > 1e-5) fail("the mean is wrong");
    const bool exact = options.rule != RobustRule::kMean && options.rule != RobustRule::kNormBound &&
                       options.rule != RobustRule::kCentredClipping;
    if (exact && std::fabs(value - 1) > 0.6) fail(std::string(name_of(options.rule)) + " let liars in");
  }
  if (options.rule == RobustRule::kKrum || options.rule == RobustRule::kMultiKrum) {
    for (const std::uint32_t client : combined.chosen) {
      if (client % 5 == 0) fail("Krum chose a liar");
    }
  }
}

}  // namespace
}  // namespace noisefloor::federated

int main(int argc, char** argv) {
  using namespace noisefloor;             // NOLINT(google-build-using-namespace)
  using namespace noisefloor::federated;  // NOLINT(google-build-using-namespace)
  if (argc > 2) {
    fmt::print(stderr, "usage: federated_bench [RESULT.json]\n");
    return 2;
  }
  constexpr std::size_t kClients = 100;
  constexpr std::size_t kDimension = 1'000'000;
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<std::vector<float>> rows(kClients, std::vector<float>(kDimension));
  std::vector<ClientVector> vectors;
  for (std::size_t i = 0; i < kClients; ++i) {
    fill_gaussian(random, rows[i], 0.1F);
    for (float& value : rows[i]) value = i % 5 == 0 ? -4.0F : value + 1.0F;
    vectors.push_back({static_cast<std::uint32_t>(i), rows[i]});
  }
  Json json;
  fmt::print("{} vectors of {} floats, 20 of them lies; seconds of one core\n", kClients, kDimension);
  for (const auto& [name, rule] : kRobustRules) {
    RobustOptions options{.rule = rule, .liars = rule == RobustRule::kMean ? 0U : 20U, .norm = {}};
    if (rule == RobustRule::kCentredClipping) options.norm = 2000;
    const double start = cpu_seconds();
    const auto combined = combine_robustly(options, vectors);
    const double seconds = cpu_seconds() - start;
    if (!combined.has_value()) fail(combined.error().message);
    check_answer(options, combined.value(), vectors);
    fmt::print("  {:<18} {:8.3f} s\n", name, seconds);
    json["robust"][std::string(name)] = seconds;
  }
  if (argc == 2 && !(std::ofstream(argv[1]) << json.dump(2) << "\n")) fail("cannot write the result");
  return 0;
}
