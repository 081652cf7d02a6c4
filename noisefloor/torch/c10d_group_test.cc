// Workers as real processes (worker_probe.cc): what they release together, and what happens when one is lost.
#include "noisefloor/torch/c10d_group.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "noisefloor/random/gaussian_vector.h"
#include "tests/support/child_process.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::ChildProcess;

// `size` processes of one scenario, and what they wrote.
class Workers {
 public:
  Workers(const std::string& scenario, std::size_t size, std::string rendezvous = "", long timeout_ms = 60'000) {
    if (rendezvous.empty()) rendezvous = folder_.path("meeting");
    for (std::size_t rank = 0; rank < size; ++rank) {
      const std::vector<std::string> words{NOISEFLOOR_WORKER_PROBE,   scenario,   std::to_string(rank),
                                           std::to_string(size),      rendezvous, folder_.path("."),
                                           std::to_string(timeout_ms)};
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: exec's way
      arguments.push_back(nullptr);
      processes_.push_back(ChildProcess::start([&] { return ::execv(arguments[0], arguments.data()); }));
    }
  }
  ChildProcess& process(std::size_t rank) { return processes_[rank]; }
  void expect_success() {
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      processes_[rank].wait();
      EXPECT_EQ(processes_[rank].exit_code(), 0) << "worker " << rank;
    }
  }
  template <class Number>
  [[nodiscard]] std::vector<Number> read(std::size_t rank, const std::string& extension) const {
    const std::string bytes = text(rank, extension);
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
    return numbers;
  }
  [[nodiscard]] std::string text(std::size_t rank, const std::string& extension) const {
    std::ifstream file(folder_.path(std::to_string(rank) + "." + extension), std::ios::binary);
    EXPECT_TRUE(file) << "worker " << rank << " wrote no " << extension;
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  testing::TemporaryFolder folder_;
  std::vector<ChildProcess> processes_;
};

// The relative standard error of a variance from 10^6 draws is √2/1000 = 0.14 %: 1 % is 7 of them (α = 1e-11).
constexpr double kTolerance = 0.01;
constexpr double kVariance = 1.3 * 0.7 * 1.3 * 0.7;

TEST(C10dGroup, NoiseHasTheVarianceOfTheEventForAnyNumberOfWorkers) {
  for (const std::size_t size : {1U, 2U, 4U}) {
    Workers workers("noise", size);
    workers.expect_success();
    for (std::size_t rank = 0; rank < size; ++rank) {
      const double measured = workers.read<double>(rank, "variance").at(0) / kVariance;
      EXPECT_NEAR(measured, 1, kTolerance) << "worker " << rank << " of " << size;
    }
  }
}

// The relative standard error of a variance from 1000 draws is 4.5 %: 22.5 % is 5 of them (α = 6e-7). Whole noise from
// each of two workers would be 100 % off, half of the scale from each 50 %.
TEST(C10dGroup, AdaptiveClippingsCountHasItsNoiseOnce) {
  Workers workers("count", 2);
  workers.expect_success();
  EXPECT_NEAR(workers.read<double>(0, "variance").at(0) / (20.0 * 20.0), 1, 0.225);
}

// Exercise 35.6.2 with its K = 8. What it calls too little noise is so on a mean to which noise was already scaled. On
// the sum it is too much. One measure tells all four apart: they are factors of 8 from each other.
TEST(C10dGroup, DistributedNoiseBug) {
  Workers workers("exercise", 8);
  workers.expect_success();
  constexpr double kRight = kVariance / 1e6;  // on the mean of 1000 records
  const std::vector<double> found = workers.read<double>(0, "variances");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_NEAR(found[0] / kRight, 8, 8 * kTolerance) << "full noise on each partial sum: √8 too much";
  EXPECT_NEAR(found[1] / kRight, 1.0 / 8, kTolerance / 8) << "full noise on each mean, then averaged: √8 too little";
  EXPECT_NEAR(found[2] / kRight, 1, kTolerance) << "1/8 of the variance each: right";
  EXPECT_NEAR(found[3] / kRight, 1.0 / 8, kTolerance / 8) << "1/8 of the scale each: √8 too little";
  for (const std::size_t wrong : {0U, 1U, 3U}) EXPECT_GT(std::abs(found[wrong] / kRight - 1), kTolerance);
}

// The sum over all workers' rows, each clipped to norm 2, as one process makes it.
TEST(C10dGroup, ClippedSumsAreThoseOfOneProcess) {
  for (const std::size_t size : {1U, 2U, 4U}) {
    Workers workers("rows", size);
    workers.expect_success();
    std::vector<double> expected(50);
    std::size_t drawn = 0;
    for (std::size_t rank = 0; rank < size; ++rank) {
      for (const std::uint64_t row : workers.read<std::uint64_t>(rank, "rows")) {
        ++drawn;
        double norm = 0;
        for (std::size_t p = 0; p < 50; ++p) norm += std::pow(std::sin(static_cast<double>(row + p)), 2);
        for (std::size_t p = 0; p < 50; ++p)
          expected[p] += std::min(1.0, 2 / std::sqrt(norm)) * std::sin(static_cast<double>(row + p));
      }
    }
    EXPECT_NEAR(static_cast<double>(drawn), 100, 5 * std::sqrt(67.0)) << "the rate of the whole, over all parts";
    const std::vector<float> weights = workers.read<float>(0, "weights");
    ASSERT_EQ(weights.size(), 50U);
    // Factors are smaller by up to 2^-13, on purpose.
    for (std::size_t p = 0; p < 50; ++p) EXPECT_NEAR(-100 * weights[p], expected[p], 2e-3) << size << " " << p;
  }
}

TEST(C10dGroup, WorkersStayBitwiseEqual) {
  Workers workers("together", 4);
  workers.expect_success();
  const std::string weights = workers.text(0, "weights");
  ASSERT_EQ(weights.size(), 5000 * sizeof(float));
  for (std::size_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(workers.text(rank, "weights"), weights) << rank;
    EXPECT_EQ(workers.text(rank, "average"), workers.text(0, "average")) << rank;
    EXPECT_EQ(workers.text(rank, "norm"), workers.text(0, "norm")) << rank;
  }
}

TEST(C10dGroup, SumsHaveTheSameBitsEverywhere) {
  for (const std::size_t size : {2U, 3U, 5U}) {
    Workers workers("sums", size);
    workers.expect_success();
    std::vector<double> expected(100'003);
    for (std::size_t rank = 0; rank < size; ++rank) {
      std::vector<float> own(expected.size());
      ReplayRandom random = ReplayRandom::create(100 + rank).value();
      add_gaussian(random, own, 1.0F);
      for (std::size_t i = 0; i < own.size(); ++i) expected[i] += static_cast<double>(own[i]);
    }
    const std::vector<float> numbers = workers.read<float>(0, "numbers");
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(numbers[i], expected[i], 1e-5);
    for (std::size_t rank = 1; rank < size; ++rank)
      EXPECT_EQ(workers.text(rank, "numbers"), workers.text(0, "numbers"));
  }
}

// A worker is killed, or stops answering: the others fail within the timeout, and keep the weights they had.
TEST(C10dGroup, ALostWorkerStopsTheOthersAndChangesNothing) {
  for (const std::string way : {"killed", "silent"}) {
    Workers workers(way, 3, "", 8000);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      workers.process(rank).wait();
      EXPECT_EQ(workers.process(rank).exit_code(), 0) << way << " " << rank;
      EXPECT_EQ(workers.text(rank, "before").size(), 1000 * sizeof(float));
      EXPECT_EQ(workers.text(rank, "after"), workers.text(rank, "before"));
      EXPECT_EQ(workers.text(rank, "before"), workers.text(2, "before"));
      EXPECT_LT(workers.read<double>(rank, "seconds").at(0), 12) << way;
      EXPECT_NE(workers.text(rank, "error").find("a worker is gone, or did not answer within 8000 ms"),
                std::string::npos);
    }
    workers.process(2).kill();
    EXPECT_TRUE(workers.process(2).was_killed());
  }
}

TEST(C10dGroup, WorkersMeetOverTcp) {
  const std::string place = "127.0.0.1:" + std::to_string(20'000 + ::getpid() % 10'000);
  Workers workers("sums", 2, place);
  workers.expect_success();
  EXPECT_EQ(workers.text(1, "numbers"), workers.text(0, "numbers"));
}

TEST(C10dGroup, AMissingWorkerIsNotWaitedForLongerThanTheTimeout) {
  const testing::TemporaryFolder folder;
  const auto alone = meet_workers({FileRendezvous{folder.path("meeting")}, 0, 2, std::chrono::seconds(1)});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kProtocol);
  EXPECT_NE(alone.error().message.find("did not meet within 1000 ms"), std::string::npos) << alone.error().message;
}

TEST(C10dGroup, OptionsThatDoNotFitAreRefused) {
  testing::expect_invalid(meet_workers({FileRendezvous{"x"}, 2, 2}).error(), "number 2 among 2");
  testing::expect_invalid(meet_workers({FileRendezvous{"x"}, 0, 0}).error(), "got 0");
  for (const char* bad : {"host", ":1", "host:", "host:0", "host:65536", "host:1x", "[]:1", ""}) {
    EXPECT_FALSE(parse_rendezvous(bad)) << bad;
  }
  EXPECT_EQ(parse_rendezvous("[::1]:29500").value().host, "::1");
  EXPECT_EQ(parse_rendezvous("node-1:80").value().port, 80);
}

}  // namespace
}  // namespace noisefloor
