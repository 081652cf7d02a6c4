#include "noisefloor/federated/partition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "noisefloor/federated/draws.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using noisefloor::testing::expect_invalid;

std::vector<std::int32_t> labels_of(std::size_t rows) {
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  return labels;
}

TEST(Partition, PutsEveryRowAtOneSite) {
  const auto labels = labels_of(1003);
  for (const auto& [name, kind] : kPartitions) {
    const PartitionOptions options{.kind = kind, .sites = 7, .alpha = 0.5, .least = 3, .seed = 5};
    const auto parts = partition_rows(options, 1003, labels, 10).value();
    ASSERT_EQ(parts.size(), 7U) << name;
    std::set<std::uint64_t> all;
    for (const auto& part : parts) {
      EXPECT_GE(part.size(), 3U) << name;
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end())) << name;
      all.insert(part.begin(), part.end());
    }
    EXPECT_EQ(all.size(), 1003U) << name;
    EXPECT_EQ(*all.rbegin(), 1002U) << name;
    EXPECT_EQ(parts, partition_rows(options, 1003, labels, 10).value()) << name;
  }
}

TEST(Partition, IsSkewedAsAskedFor) {
  const auto labels = labels_of(10000);
  const auto classes_at = [&](const std::vector<std::uint64_t>& part) {
    std::set<std::int32_t> classes;
    for (const std::uint64_t row : part) classes.insert(labels[row]);
    return classes.size();
  };
  const auto shards =
      partition_rows({.kind = PartitionKind::kLabels, .sites = 50, .shards = 2}, 10000, labels, 10).value();
  for (const auto& part : shards) {
    EXPECT_LE(classes_at(part), 4U);  // a piece of 100 rows may touch two classes
  }
  const auto largest = [&](PartitionKind kind, double alpha) {
    std::size_t most = 0;
    const auto parts = partition_rows({.kind = kind, .sites = 10, .alpha = alpha}, 10000, labels, 10).value();
    for (const auto& part : parts) most = std::max(most, part.size());
    return most;
  };
  EXPECT_EQ(largest(PartitionKind::kEven, 1), 1000U);
  EXPECT_GT(largest(PartitionKind::kQuantity, 0.5), 1500U);
  EXPECT_LT(largest(PartitionKind::kQuantity, 1000), 1200U);
  EXPECT_GT(largest(PartitionKind::kDirichlet, 0.1), 1500U);
}

TEST(Partition, RefusesWhatCannotBe) {
  const auto refusal = [](const PartitionOptions& options, std::uint64_t rows) {
    return partition_rows(options, rows, {}, 0).error();
  };
  expect_invalid(refusal({.kind = PartitionKind::kEven, .sites = 5, .least = 3}, 14), "too few");
  expect_invalid(refusal({.kind = PartitionKind::kDirichlet, .sites = 2}, 14), "have none");
  expect_invalid(refusal({.kind = PartitionKind::kQuantity, .sites = 2, .alpha = 0}, 14), "alpha");
  expect_invalid(refusal({.kind = PartitionKind::kQuantity, .sites = 100, .alpha = 1e-3, .least = 5}, 1000), "no draw");
}

// The mean of ln G is the digamma function, and its variance the trigamma function. α = 1e-6.
TEST(Partition, DrawsGammaVariates) {
  struct Known {
    double shape;
    double digamma;
    double trigamma;
  };
  auto random = ReplayRandom::create(11).value();
  constexpr int kDraws = 20000;
  for (const Known& known : {Known{0.1, -10.423754940411, 101.433299150792}, Known{1, -0.577215664902, 1.644934066848},
                             Known{5, 1.506117668432, 0.221322955737}}) {
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) sum += internal::log_gamma_variate(random, known.shape);
    const double error = 4.9 * std::sqrt(known.trigamma / kDraws);
    EXPECT_NEAR(sum / kDraws, known.digamma, error) << known.shape;
    EXPECT_GT(std::fabs(std::log(1.1 * known.shape) - std::log(known.shape)), error * 0.2) << "a wrong shape shows";
  }
}

}  // namespace
}  // namespace noisefloor::federated
