#include "noisefloor/table/dataset.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

Dataset labelled() {
  return {.rows = 3, .shape = {1, 2}, .features = {1, 2, 3, 4, 5, 6}, .labels = {0, 1, 0}, .classes = 2, .targets = {}};
}

Dataset with_targets() {
  return {.rows = 2, .shape = {1}, .features = {1, 2}, .labels = {}, .classes = 0, .targets = {0.5, -987}};
}

TEST(Dataset, TakesRowsInTheOrderAsked) {
  const std::vector<std::uint64_t> numbers = {2, 0, 2};
  const Dataset taken = labelled().take(numbers).value();
  EXPECT_EQ(taken, (Dataset{.rows = 3,
                            .shape = {1, 2},
                            .features = {5, 6, 1, 2, 5, 6},
                            .labels = {0, 0, 0},
                            .classes = 2,
                            .targets = {}}));
  EXPECT_EQ(with_targets().take(std::vector<std::uint64_t>{1}).value().targets, std::vector<float>{-987});
  EXPECT_TRUE(check_dataset(labelled().take({}).value()).has_value());
  expect_invalid(labelled().take(std::vector<std::uint64_t>{3}).error(), "below the number of examples");
  EXPECT_EQ(labelled().example(1)[1], 4);
}

TEST(Dataset, CountsRowsOrPeople) {
  Dataset data = labelled();
  EXPECT_EQ(data.unit(), PrivacyUnit::kRow);
  EXPECT_EQ(data.units(), 3U);
  data.rows_per_person = 4;
  EXPECT_EQ(data.unit(), PrivacyUnit::kPerson);
  expect_invalid(check_dataset(data).error(), "people must be one a row");
  data.people = {8, 2, 8};
  EXPECT_TRUE(check_dataset(data).has_value());
  EXPECT_EQ(data.units(), 2U);
  const Dataset taken = data.take(std::vector<std::uint64_t>{2, 1}).value();
  EXPECT_EQ(taken.people, (std::vector<std::uint32_t>{8, 2}));
  EXPECT_EQ(taken.rows_per_person, 4U);
  data.rows_per_person = 0;
  expect_invalid(check_dataset(data).error(), "people must be one a row");
}

TEST(Dataset, ChecksItsInvariants) {
  EXPECT_TRUE(check_dataset(labelled()).has_value());
  EXPECT_TRUE(check_dataset(with_targets()).has_value());
  const auto broken = [](Dataset dataset, auto&& change) {
    change(dataset);
    return check_dataset(dataset).error();
  };
  expect_invalid(broken(labelled(), [](Dataset& d) { d.rows = 2; }), "features");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.features.pop_back(); }), "features");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.features[3] = std::numeric_limits<float>::quiet_NaN(); }),
                 "features must be finite");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.shape = {}; }), "shape");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.shape = {2, 0}; }), "shape");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.labels[1] = 2; }), "labels");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.labels[1] = -1; }), "labels");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.labels.pop_back(); }), "labels");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.targets = {1, 2, 3}; }), "targets");
  expect_invalid(broken(labelled(), [](Dataset& d) { d.classes = -2; }), "classes");
  expect_invalid(broken(with_targets(), [](Dataset& d) { d.targets[1] = std::numeric_limits<float>::infinity(); }),
                 "targets must be finite");
  expect_invalid(broken(with_targets(), [](Dataset& d) { d.labels = {0, 0}; }), "labels");
}

TEST(Dataset, ComputesVolumesWithoutWrappingAround) {
  const std::size_t large = std::size_t{1} << 32;
  EXPECT_EQ(volume(std::vector<std::size_t>{3, 4, 5}).value(), 60U);
  EXPECT_EQ(volume(std::vector<std::size_t>{large, 1U << 16}).value(), std::size_t{1} << 48);
  expect_invalid(volume(std::vector<std::size_t>{large, large}).error(), "2^48");
  expect_invalid(volume(std::vector<std::size_t>{large, large, 0}).error(), "2^48");
}

}  // namespace
}  // namespace noisefloor
