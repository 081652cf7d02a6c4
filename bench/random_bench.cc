// How fast randomness is, on one core. Every benchmark checks its answer first: a sampler with a wrong law is an error,
// not a speed. Rates are compared within one run, because machines are noisy: the table at the end gives each as a
// multiple of what the standard library does in the same run.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "noisefloor/mechanisms/selection.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/discrete_laplace.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/random/skellam.h"
#include "noisefloor/random/subset.h"
#include "statistics.h"

namespace noisefloor {
namespace {

constexpr std::size_t kBatch = 1 << 16;

SecureRandom secure() { return SecureRandom::create().value(); }

// Whether numbers scaled to unit variance fill 100 bins of equal normal probability evenly.
template <class Numbers>
bool looks_normal(const Numbers& numbers, double sigma) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (const auto x : numbers) {
    const double u = std::erfc(static_cast<double>(x) / (sigma * std::sqrt(2.0))) / 2;
    ++counts[std::min<std::int64_t>(static_cast<std::int64_t>(u * 100), 99)];
  }
  return testing::chi_square_p_value(counts, numbers.size(), 0, 99, [](std::int64_t) { return 0.01; }) >
         testing::kAlpha;
}

void finish(benchmark::State& state, std::size_t items_a_round) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(items_a_round));
}

// --- Bits
// -----------------------------------------------------------------------------------------------------------------

void cipher_alone(benchmark::State& state) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  const std::array<unsigned char, 32> key{};
  EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, key.data(), key.data());
  std::vector<unsigned char> buffer(16384);
  int written = 0;
  for (auto _ : state) {
    EVP_EncryptUpdate(context.get(), buffer.data(), &written, buffer.data(), 16384);
    benchmark::DoNotOptimize(buffer.data());
  }
  finish(state, buffer.size() / 8);
}
BENCHMARK(cipher_alone)->Name("bits/aes-256-ctr, cipher alone (64-bit words)");

void stream_words(benchmark::State& state) {
  SecureRandom stream = secure();
  std::vector<std::uint64_t> words(kBatch);
  for (auto _ : state) {
    stream.fill(std::as_writable_bytes(std::span(words)));
    benchmark::DoNotOptimize(words.data());
  }
  finish(state, words.size());
}
BENCHMARK(stream_words)->Name("bits/secure stream (64-bit words)");

void mersenne_words(benchmark::State& state) {
  std::mt19937_64 engine(1);
  std::vector<std::uint64_t> words(kBatch);
  for (auto _ : state) {
    for (std::uint64_t& word : words) word = engine();
    benchmark::DoNotOptimize(words.data());
  }
  finish(state, words.size());
}
BENCHMARK(mersenne_words)->Name("bits/std::mt19937_64 (not secure)");

// --- Gaussian floats
// ------------------------------------------------------------------------------------------------------

void standard_normal(benchmark::State& state) {
  std::mt19937_64 engine(1);
  std::normal_distribution<float> law;
  std::vector<float> out(kBatch);
  for (auto _ : state) {
    for (float& x : out) x = law(engine);
    benchmark::DoNotOptimize(out.data());
  }
  if (!looks_normal(out, 1)) state.SkipWithError("wrong law");
  finish(state, out.size());
}
BENCHMARK(standard_normal)->Name("float normal/std::normal_distribution (not secure)");

void gaussian_floats(benchmark::State& state) {
  SecureRandom stream = secure();
  std::vector<float> out(kBatch);
  fill_gaussian(stream, out, 1);
  if (!looks_normal(out, 1)) state.SkipWithError("wrong law");
  for (auto _ : state) {
    fill_gaussian(stream, out, 1);
    benchmark::DoNotOptimize(out.data());
  }
  finish(state, out.size());
}
BENCHMARK(gaussian_floats)->Name("float normal/noisefloor");

// --- Discrete noise
// -------------------------------------------------------------------------------------------------------

void discrete_gaussian(benchmark::State& state) {
  SecureRandom stream = secure();
  const double sigma = std::ldexp(1.37, static_cast<int>(state.range(0)));
  const DiscreteGaussian law = DiscreteGaussian::create(NoiseScale::make(sigma).value()).value();
  std::vector<std::int64_t> out(kBatch);
  law.fill(stream, out);
  if (sigma > 1000 && !looks_normal(out, sigma)) state.SkipWithError("wrong law");
  for (auto _ : state) {
    law.fill(stream, out);
    benchmark::DoNotOptimize(out.data());
  }
  finish(state, out.size());
}
BENCHMARK(discrete_gaussian)
    ->Name("discrete normal/noisefloor, sigma 1.37 * 2^k")
    ->Arg(0)
    ->Arg(4)
    ->Arg(10)
    ->Arg(20)
    ->Arg(40);

void discrete_gaussian_single(benchmark::State& state) {
  SecureRandom stream = secure();
  constexpr auto sigma = NoiseScale::of(0x1.8p20);
  for (auto _ : state) benchmark::DoNotOptimize(sample_discrete_gaussian(stream, sigma));
  finish(state, 1);
}
BENCHMARK(discrete_gaussian_single)->Name("discrete normal/single draw without set-up");

void discrete_laplace(benchmark::State& state) {
  SecureRandom stream = secure();
  const DiscreteLaplace law = DiscreteLaplace::create(NoiseScale::of(0x1p32)).value();
  for (auto _ : state) benchmark::DoNotOptimize(law.sample(stream));
  finish(state, 1);
}
BENCHMARK(discrete_laplace)->Name("discrete laplace/noisefloor");

void skellam(benchmark::State& state) {
  SecureRandom stream = secure();
  const Skellam law = Skellam::create(NoiseVariance::of(1e6)).value();
  std::vector<std::int64_t> out(kBatch);
  law.fill(stream, out);
  if (!looks_normal(out, 1000)) state.SkipWithError("wrong law");
  for (auto _ : state) {
    law.fill(stream, out);
    benchmark::DoNotOptimize(out.data());
  }
  finish(state, out.size());
}
BENCHMARK(skellam)->Name("skellam/noisefloor, variance 10^6");

void standard_poisson_difference(benchmark::State& state) {
  std::mt19937_64 engine(1);
  std::poisson_distribution<std::int64_t> law(5e5);
  std::vector<std::int64_t> out(1 << 10);
  for (auto _ : state) {
    for (std::int64_t& x : out) x = law(engine) - law(engine);
    benchmark::DoNotOptimize(out.data());
  }
  finish(state, out.size());
}
BENCHMARK(standard_poisson_difference)->Name("skellam/two std::poisson_distribution (not secure)");

// --- Subsets and choices
// --------------------------------------------------------------------------------------------------

void poisson_subsample(benchmark::State& state) {
  SecureRandom stream = secure();
  const double rate = std::pow(10.0, -static_cast<double>(state.range(0)));
  const PoissonSubsampler sampler(SamplingRate::make(rate).value());
  constexpr std::uint64_t rows = 10'000'000;
  double chosen = 0;
  for (auto _ : state) chosen += static_cast<double>(sampler.sample(stream, rows).size());
  const double expected = rate * static_cast<double>(rows) * static_cast<double>(state.iterations());
  if (std::fabs(chosen - expected) > 6 * std::sqrt(expected)) state.SkipWithError("wrong rate");
  finish(state, rows);
}
BENCHMARK(poisson_subsample)->Name("poisson subsample/noisefloor, rows at rate 10^-k")->Arg(1)->Arg(2)->Arg(4);

void bernoulli_subsample(benchmark::State& state) {
  std::mt19937_64 engine(1);
  std::bernoulli_distribution coin(0.01);
  constexpr std::uint64_t rows = 1'000'000;
  std::vector<std::uint64_t> chosen;
  for (auto _ : state) {
    chosen.clear();
    for (std::uint64_t row = 0; row < rows; ++row) {
      if (coin(engine)) chosen.push_back(row);
    }
    benchmark::DoNotOptimize(chosen.data());
  }
  finish(state, rows);
}
BENCHMARK(bernoulli_subsample)->Name("poisson subsample/std::bernoulli_distribution a row (not secure)");

void choice(benchmark::State& state) {
  SecureRandom source = secure();
  const auto sensitivity = Sensitivity::of_scalar({}, 1).value();
  const auto rule = static_cast<SelectionRule>(state.range(0));
  const SelectionMechanism mechanism = SelectionMechanism::create(sensitivity, Epsilon::of(1), {rule, false}).value();
  std::vector<double> scores(1000);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<double>(i % 50);
  for (auto _ : state) benchmark::DoNotOptimize(mechanism.release(scores, source).value().value());
  state.SetLabel(std::string(name_of(rule)));
  finish(state, 1);
}
BENCHMARK(choice)->Name("choice among 1000/noisefloor, rule")->DenseRange(0, 2);

// --- The table at the end
// -------------------------------------------------------------------------------------------------

class TableReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const auto rate = run.counters.find("items_per_second");
      if (!run.error_occurred && rate != run.counters.end()) {
        rows_.push_back({run.run_name.function_name, run.run_name.args, run.report_label, rate->second});
      } else {
        failed_ = true;
      }
    }
  }

  void print_table() const {
    std::map<std::string, double> baseline;  // by group: the standard library's rate
    for (const Row& row : rows_) {
      if (row.name.find("std::") != std::string::npos) baseline[group(row.name)] = row.rate;
    }
    fmt::print("\n{:<68} {:>12} {:>16}\n", "one core", "million/s", "standard library");
    for (const Row& row : rows_) {
      const auto found = baseline.find(group(row.name));
      const std::string what =
          row.name + (row.label.empty() ? (row.arguments.empty() ? "" : " " + row.arguments) : " " + row.label);
      fmt::print("{:<68} {:>12.3f} {:>16}\n", what, row.rate / 1e6,
                 found == baseline.end() ? "" : fmt::format("{:.1f} x", row.rate / found->second));
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }

 private:
  struct Row {
    std::string name;
    std::string arguments;
    std::string label;
    double rate;
  };
  static std::string group(const std::string& name) { return name.substr(0, name.find('/')); }

  std::vector<Row> rows_;
  bool failed_ = false;
};

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  noisefloor::TableReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_table();
  return reporter.failed() ? 1 : 0;
}
