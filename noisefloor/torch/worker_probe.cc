// One worker of c10d_group_test.cc, as a process of its own: worker_probe SCENARIO RANK SIZE RENDEZVOUS FOLDER
// TIMEOUT_MS. What it finds it writes to FOLDER/RANK.EXTENSION, as numbers in binary.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/torch/c10d_group.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMany = 200'000;

struct Worker {
  WorkerGroup& group;
  std::string folder;

  template <class Number>
  void write(const std::string& extension, const std::vector<Number>& numbers) const {
    std::ofstream file(folder + "/" + std::to_string(group.rank()) + "." + extension, std::ios::binary);
    file.write(reinterpret_cast<const char*>(numbers.data()),  // NOLINT: as bytes
               static_cast<std::streamsize>(numbers.size() * sizeof(Number)));
  }
  [[nodiscard]] ReplayRandom replay() const { return ReplayRandom::create(100 + group.rank()).value(); }
};

// Example r has the gradient (sin(r + p))_p, of about norm √(parameters / 2).
class Waves final : public GradientSource {
 public:
  Waves(std::size_t examples, std::size_t parameters, float height)
      : examples_(examples), parameters_(parameters), height_(height) {}
  [[nodiscard]] std::size_t examples() const override { return examples_; }
  [[nodiscard]] std::size_t parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> /*at*/, std::span<const std::uint64_t> rows,
                                        const ClipRule* rule, BitStream& /*stream*/, std::span<float> sum) override {
    drawn.assign(rows.begin(), rows.end());
    std::size_t within = 0;
    std::vector<float> gradient(parameters_);
    for (const std::uint64_t row : rows) {
      std::vector<float> norm{0};
      for (std::size_t p = 0; p < parameters_; ++p) {
        gradient[p] = height_ * std::sin(static_cast<float>(row) + static_cast<float>(p));
        norm[0] += gradient[p] * gradient[p];
      }
      std::vector<float> factor{1};
      if (rule != nullptr) within += rule->factors(norm, 1, 1, factor);
      for (std::size_t p = 0; p < parameters_; ++p) sum[p] += factor[0] * gradient[p];
    }
    return within;
  }
  std::vector<std::uint64_t> drawn;

 private:
  std::size_t examples_;
  std::size_t parameters_;
  float height_;
};

DpSgd::Options options(double noise, double clip) {
  DpSgd::Options result;
  if (noise > 0) result.noise = NoiseMultiplier::make(noise).value();
  result.clip = ClipRule::create(FlatClip{ClipNorm::make(clip).value()}).value();
  result.learning_rate = {.initial = 1.0};
  return result;
}

BatchSampler poisson(std::uint64_t rows, std::uint64_t batch) {
  return BatchSampler::poisson(Rows::make(rows).value(), Rows::make(batch).value(), Adjacency::kAddRemove).value();
}

// The variance of the released sum, from 5 · 200 000 coordinates.
int noise(const Worker& worker) {
  Waves source(100, kMany, 0);
  DpSgd sgd =
      DpSgd::create(options(1.3, 0.7), poisson(100, 10), source, std::vector<float>(kMany), &worker.group).value();
  ReplayRandom random = worker.replay();
  double squares = 0;
  for (int s = 0; s < 5; ++s) {
    const std::vector<float> before = sgd.parameters();
    if (!sgd.step(random)) return 3;
    for (std::size_t i = 0; i < kMany; ++i) {
      squares += std::pow((static_cast<double>(before[i]) - static_cast<double>(sgd.parameters()[i])) * 10, 2);
    }
  }
  worker.write("variance", std::vector<double>{squares / (5.0 * kMany)});
  return 0;
}

// The variance of the noise on adaptive clipping's count, read from how the norm moves.
int count(const Worker& worker) {
  constexpr int kSteps = 1000;
  Waves source(100, 1, 0);
  DpSgd::Options adaptive = options(1, 1);
  adaptive.adaptive = AdaptiveClip{.quantile = 0.5, .rate = 1e-3, .count_noise_share = 0.2};
  DpSgd sgd = DpSgd::create(adaptive, poisson(100, 100), source, {0}, &worker.group).value();
  ReplayRandom random = worker.replay();
  double squares = 0;
  for (int s = 0; s < kSteps; ++s) {
    const double before = sgd.clip_norm();
    if (!sgd.step(random)) return 3;
    // All 100 norms are within: the count less half of all is 50.
    const double share = -std::log(sgd.clip_norm() / before) / 1e-3 + 0.5;
    squares += std::pow((share - 0.5) * 100 - 50, 2);
  }
  worker.write("variance", std::vector<double>{squares / kSteps});
  return 0;
}

// One step without noise on rows that are written down.
int rows(const Worker& worker) {
  Waves source(301, 50, 1.0F);
  DpSgd sgd = DpSgd::create(options(0, 2), poisson(301, 100), source, std::vector<float>(50), &worker.group).value();
  ReplayRandom random = worker.replay();
  if (!sgd.step(random)) return 3;
  worker.write("rows", source.drawn);
  worker.write("weights", sgd.parameters());
  return 0;
}

// Everything that a descent can remember, with secure noise, from different weights.
int together(const Worker& worker) {
  Waves source(300, 5000, 0.02F);
  DpSgd::Options all = options(1, 1);
  all.adaptive = AdaptiveClip{.count_noise_share = 0.2};
  all.optimizer.kind = OptimizerKind::kAdam;
  all.averaging = 0.9;
  DpSgd sgd = DpSgd::create(all, poisson(300, 60), source,
                            std::vector<float>(5000, static_cast<float>(worker.group.rank() + 1)), &worker.group)
                  .value();
  SecureRandom random = SecureRandom::create().value();
  for (int s = 0; s < 20; ++s)
    if (!sgd.step(random)) return 3;
  worker.write("weights", sgd.parameters());
  worker.write("average", sgd.result());
  worker.write("norm", std::vector<double>{sgd.clip_norm()});
  return 0;
}

// The last of the workers ends, or falls silent, before its fourth exchange.
int losing(const Worker& worker, int signal) {
  Waves source(300, 1000, 1.0F);
  DpSgd sgd = DpSgd::create(options(1, 1), poisson(300, 60), source, std::vector<float>(1000), &worker.group).value();
  SecureRandom random = SecureRandom::create().value();
  for (int s = 0; s < 3; ++s)
    if (!sgd.step(random)) return 3;
  worker.write("before", sgd.parameters());
  if (worker.group.rank() + 1 == worker.group.size()) ::kill(::getpid(), signal);
  const auto start = std::chrono::steady_clock::now();
  const auto failed = sgd.step(random);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (failed || failed.error().code != ErrorCode::kProtocol || sgd.step(random) || sgd.steps() != 3) return 4;
  worker.write("after", sgd.parameters());
  worker.write("seconds", std::vector<double>{seconds});
  std::ofstream(worker.folder + "/" + std::to_string(worker.group.rank()) + ".error") << failed.error().message;
  return 0;
}

// Exercise 35.6.2: N = 1000 records, σ = 1.3, C = 0.7. The noise on the mean of all records, by how workers combine.
int exercise(const Worker& worker) {
  constexpr double kRecords = 1000;
  constexpr double kScale = 1.3 * 0.7;  // on the sum
  const auto size = static_cast<double>(worker.group.size());
  ReplayRandom random = worker.replay();
  // Each adds noise of this scale, all are added up, and divided.
  const auto variance = [&](double scale, double divisor) {
    double squares = 0;
    for (int s = 0; s < 5; ++s) {
      std::vector<float> part(kMany);
      add_gaussian(random, part, static_cast<float>(scale));
      if (!worker.group.sum(part)) std::exit(3);
      for (const float x : part) squares += std::pow(static_cast<double>(x) / divisor, 2);
    }
    return squares / (5.0 * kMany);
  };
  std::vector<double> found;
  found.push_back(variance(kScale, kRecords));                    // (a) the full noise on each partial sum
  found.push_back(variance(kScale / kRecords, size));             // (a) the full noise on each mean, averaged
  found.push_back(variance(kScale / std::sqrt(size), kRecords));  // (b)
  found.push_back(variance(kScale / size, kRecords));             // K instead of √K
  worker.write("variances", found);
  return 0;
}

// Sums that round differently in every order.
int sums(const Worker& worker) {
  std::vector<float> numbers(100'003);
  ReplayRandom random = worker.replay();
  add_gaussian(random, numbers, 1.0F);
  if (!worker.group.sum(numbers)) return 3;
  worker.write("numbers", numbers);
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  C10dOptions meeting{FileRendezvous{arguments[4]}, std::stoul(arguments[2]), std::stoul(arguments[3]),
                      std::chrono::milliseconds(std::stol(arguments[6]))};
  if (const auto tcp = parse_rendezvous(arguments[4])) meeting.rendezvous = tcp.value();
  const auto group = meet_workers(meeting);
  if (!group) {
    std::fprintf(stderr, "%s\n", group.error().message.c_str());
    return exit_code(group.error().code);
  }
  const Worker worker{*group.value(), arguments[5]};
  const std::map<std::string, std::function<int()>> scenarios{
      {"noise", [&] { return noise(worker); }},
      {"count", [&] { return count(worker); }},
      {"rows", [&] { return rows(worker); }},
      {"together", [&] { return together(worker); }},
      {"killed", [&] { return losing(worker, SIGKILL); }},
      {"silent", [&] { return losing(worker, SIGSTOP); }},
      {"exercise", [&] { return exercise(worker); }},
      {"sums", [&] { return sums(worker); }},
  };
  return scenarios.at(arguments[1])();
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) { return argc == 7 ? noisefloor::run({argv, argv + argc}) : 2; }
