#include "noisefloor/sgd/lanes_source.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "noisefloor/sgd/dp_sgd.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

float uneven(std::size_t i) { return static_cast<float>(std::sin(static_cast<double>(i) * 12.9898) * 0.9); }

// Two classes that a line tells apart.
Dataset two_classes(std::size_t rows) {
  Dataset data{.rows = rows, .shape = {4}, .features = {}, .labels = {}, .classes = 2, .targets = {}};
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const float x = uneven(row * 4 + i);
      data.features.push_back(x);
      sum += i % 2 == 0 ? x : -x;
    }
    data.labels.push_back(sum > 0 ? 1 : 0);
  }
  return data;
}

lanes::Program network(std::vector<lanes::Layer> layers = {lanes::Linear{6}, lanes::Activate{lanes::Activation::kTanh},
                                                           lanes::Linear{2}}) {
  return lanes::Program::create({4, 1, 1}, layers, lanes::Loss::kCrossEntropy).value();
}

std::vector<float> weights(std::size_t count) {
  std::vector<float> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(0.5F * uneven(i + 1000));
  return result;
}

ClipRule clip(double norm) { return ClipRule::create(FlatClip{ClipNorm::make(norm).value()}).value(); }

// An example's gradient is the mean over its copies, clipped once.
TEST(LanesSource, MakesCopiesAndAveragesThem) {
  Dataset images{.rows = 5, .shape = {1, 4, 4}, .features = {}, .labels = {0, 1, 0, 1, 1}, .classes = 2, .targets = {}};
  for (std::size_t i = 0; i < 5 * 16; ++i) images.features.push_back(uneven(i));
  const Augmentation how{.copies = 3, .shift = 1, .mirror = true};
  const auto program = [&](std::size_t copies) {
    return lanes::Program::create({1, 4, 4}, {lanes::Conv2d{2, 3, 3}, lanes::Flatten{}, lanes::Linear{2}},
                                  lanes::Loss::kCrossEntropy, copies)
        .value();
  };
  const std::vector<float> at = weights(program(1).parameters());
  const std::vector<std::uint64_t> rows{3};
  const ClipRule rule = clip(1e6);
  auto source = LanesSource::create(program(3), images, 2, how).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(at.size());
  ASSERT_TRUE(source->add(at, rows, &rule, random, sum));
  // The same random bits, copy by copy: each is an image of its own.
  ReplayRandom again = ReplayRandom::create(1).value();
  std::array<std::uint32_t, 3> words{};
  again.fill(std::as_writable_bytes(std::span(words)));
  std::vector<float> mean(at.size());
  for (const std::uint32_t word : words) {
    Dataset one = images.take(rows).value();
    std::vector<float> copy(16);
    augment(one.features, {1, 4, 4}, how, word, copy);
    one.features = copy;
    auto plain = LanesSource::create(program(1), one, 1).value();
    std::vector<float> gradient(at.size());
    ASSERT_TRUE(plain->add(at, std::vector<std::uint64_t>{0}, &rule, again, gradient));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / 3;
  }
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(sum[i], mean[i], 1e-5);
  // Predictions use the examples as they are, without copies.
  auto plain = LanesSource::create(program(1), images, 1).value();
  EXPECT_EQ(source->predict(at, images), plain->predict(at, images));
  testing::expect_invalid(LanesSource::create(program(2), images, 1, how).error(), "the augmentation makes 3");
  testing::expect_invalid(LanesSource::create(network(), two_classes(3), 1, {.mirror = true}).error(), "plain vectors");
}

TEST(LanesSource, SumsOnAGridAsOneRowAfterTheOtherDoes) {
  const Dataset data = two_classes(101);
  const std::vector<float> at = weights(network().parameters());
  const ClipRule rule = clip(0.3);
  const GradientGrid grid = GradientGrid::create(rule.sensitivity(), at.size()).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<std::uint64_t> rows(data.rows);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  for (const std::size_t threads : {1U, 3U}) {
    auto source = LanesSource::create(network(), data, threads).value();
    std::vector<std::int64_t> fast(at.size());
    ASSERT_TRUE(source->add_on_grid(at, rows, rule, grid, random, fast));
    std::vector<std::int64_t> slow(at.size());
    ASSERT_TRUE(source->GradientSource::add_on_grid(at, rows, rule, grid, random, slow));
    EXPECT_EQ(fast, slow);
    std::vector<float> sum(at.size());
    ASSERT_TRUE(source->add(at, rows, &rule, random, sum));
    for (std::size_t i = 0; i < sum.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(fast[i]) * grid.step(), sum[i], 1e-4);
    }
  }
}

// Discrete noise with copies: the mean over them is rounded, once.
TEST(LanesSource, RoundsTheMeanOfCopiesOnceOnAGrid) {
  Dataset images{.rows = 30, .shape = {1, 4, 4}, .features = {}, .labels = {}, .classes = 2, .targets = {}};
  for (std::size_t i = 0; i < 30 * 16; ++i) images.features.push_back(uneven(i));
  for (int i = 0; i < 30; ++i) images.labels.push_back(i % 2);
  const lanes::Program program =
      lanes::Program::create({1, 4, 4}, {lanes::Conv2d{2, 3, 3}, lanes::Flatten{}, lanes::Linear{2}},
                             lanes::Loss::kCrossEntropy, 3)
          .value();
  auto source = LanesSource::create(program, images, 2, {.copies = 3, .shift = 1, .mirror = true}).value();
  const std::vector<float> at = weights(program.parameters());
  const ClipRule rule = clip(0.3);
  const GradientGrid grid = GradientGrid::create(rule.sensitivity(), at.size()).value();
  std::vector<std::uint64_t> rows(images.rows);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  ReplayRandom random = ReplayRandom::create(1).value();
  ReplayRandom again = ReplayRandom::create(1).value();
  std::vector<std::int64_t> steps(at.size());
  std::vector<float> sum(at.size());
  ASSERT_TRUE(source->add_on_grid(at, rows, rule, grid, random, steps));
  ASSERT_TRUE(source->add(at, rows, &rule, again, sum));
  double largest = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(steps[i]) * grid.step(), sum[i], 1e-4);
    largest = std::max(largest, std::abs(static_cast<double>(sum[i])));
  }
  EXPECT_GT(largest, 0.1);
}

TEST(LanesSource, CountsEveryRowOnceOnAnyNumberOfThreads) {
  const Dataset data = two_classes(101);
  const std::vector<float> at = weights(network().parameters());
  const ClipRule rule = clip(0.95);
  ReplayRandom random = ReplayRandom::create(1).value();
  // Each row is a batch of its own.
  auto single = LanesSource::create(network(), data, 1).value();
  std::vector<float> expected(at.size());
  std::size_t within = 0;
  for (std::uint64_t row = 0; row < data.rows; ++row) {
    const std::vector<std::uint64_t> rows{row};
    std::vector<float> one(at.size());
    within += single->add(at, rows, &rule, random, one).value();
    double squared = 0;
    for (const float x : one) squared += static_cast<double>(x) * x;
    EXPECT_LE(std::sqrt(squared), 0.95);
    for (std::size_t i = 0; i < one.size(); ++i) expected[i] += one[i];
  }
  EXPECT_GT(within, 0U);
  EXPECT_LT(within, data.rows);
  for (const std::size_t threads : {1U, 2U, 3U, 20U}) {
    auto source = LanesSource::create(network(), data, threads).value();
    std::vector<std::uint64_t> rows(data.rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<float> sum(at.size());
    EXPECT_EQ(source->add(at, rows, &rule, random, sum).value(), within);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], expected[i], 1e-4);
    std::vector<float> nothing(at.size());
    EXPECT_EQ(source->add(at, {}, &rule, random, nothing).value(), 0U);
    EXPECT_EQ(nothing, std::vector<float>(at.size(), 0.0F));
  }
}

TEST(LanesSource, AddsNothingForAnExampleThatIsNotFinite) {
  Dataset data = two_classes(20);
  for (std::size_t i = 0; i < 4; ++i) data.features[4 * 7 + i] = std::numeric_limits<float>::quiet_NaN();
  auto source = LanesSource::create(network(), data, 2).value();
  const std::vector<float> at = weights(source->parameters());
  const ClipRule rule = clip(1);
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(at.size());
  ASSERT_TRUE(source->add(at, std::vector<std::uint64_t>{7}, &rule, random, sum));
  EXPECT_EQ(sum, std::vector<float>(at.size(), 0.0F));
}

// A batch that needs many random bits is split into pieces, here of 64 blocks each. The sum is the same as that of the
// pieces one after the other.
TEST(LanesSource, DrawsRandomBitsForOnePieceOfTheBatchAtATime) {
  const Dataset data = two_classes(2500);
  const lanes::Program program =
      network({lanes::Linear{1500}, lanes::Activate{}, lanes::Dropout{0.5F}, lanes::Linear{2}});
  const std::size_t piece = 64 * program.lanes();
  ASSERT_LT(piece, data.rows);
  auto source = LanesSource::create(program, data, 2).value();
  const std::vector<float> at = weights(source->parameters());
  const ClipRule rule = clip(0.5);
  std::vector<std::uint64_t> rows(data.rows);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> whole(at.size());
  const std::size_t within = source->add(at, rows, &rule, random, whole).value();
  ReplayRandom again = ReplayRandom::create(1).value();
  std::vector<float> parts(at.size());
  std::size_t within_parts = 0;
  for (std::size_t first = 0; first < rows.size(); first += piece) {
    const std::size_t count = std::min(piece, rows.size() - first);
    within_parts += source->add(at, std::span(rows).subspan(first, count), &rule, again, parts).value();
  }
  EXPECT_EQ(within_parts, within);
  EXPECT_EQ(again.position(), random.position());
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], parts[i], 1e-3) << i;
}

// Examples are processed in blocks, but noise is added once. 10^6 draws: 1 % is 7 standard errors (α = 1e-11).
TEST(LanesSource, GetsNoiseOnceForAllBlocks) {
  Dataset data{.rows = 100, .shape = {4000}, .features = {}, .labels = {}, .classes = 50, .targets = {}};
  data.features.resize(100 * 4000);  // zeros: the gradient is 0
  data.labels.resize(100);
  auto source = LanesSource::create(lanes::Program::create({4000, 1, 1}, {lanes::Linear{.outputs = 50, .bias = false}},
                                                           lanes::Loss::kCrossEntropy)
                                        .value(),
                                    data, 2)
                    .value();
  for (const bool discrete : {false, true}) {
    DpSgd::Options options;
    options.noise = NoiseMultiplier::of(1.3);
    options.clip = clip(0.7);
    options.discrete = discrete;
    options.learning_rate = {.initial = 1.0};
    DpSgd sgd =
        DpSgd::create(options, BatchSampler::poisson(Rows::of(100), Rows::of(100), Adjacency::kAddRemove).value(),
                      *source, std::vector<float>(source->parameters()))
            .value();
    ReplayRandom random = ReplayRandom::create(2).value();
    double squares = 0;
    for (int step = 0; step < 5; ++step) {
      const std::vector<float> before = sgd.parameters();
      ASSERT_TRUE(sgd.step(random));
      for (std::size_t i = 0; i < before.size(); ++i)
        squares += std::pow((static_cast<double>(before[i]) - static_cast<double>(sgd.parameters()[i])) * 100, 2);
    }
    EXPECT_NEAR(squares / (5.0 * 200'000) / std::pow(1.3 * 0.7, 2), 1, 0.01) << discrete;
  }
}

TEST(LanesSource, TrainsWithDropout) {
  const Dataset data = two_classes(2000);
  auto source = LanesSource::create(
                    network({lanes::Linear{16}, lanes::Activate{}, lanes::Dropout{0.2F}, lanes::Linear{2}}), data, 2)
                    .value();
  DpSgd::Options options;
  options.noise = NoiseMultiplier::of(1.0);
  options.clip = clip(1);
  options.learning_rate = {.initial = 2.0};
  DpSgd sgd =
      DpSgd::create(options, BatchSampler::poisson(Rows::of(2000), Rows::of(200), Adjacency::kAddRemove).value(),
                    *source, weights(source->parameters()))
          .value();
  ReplayRandom random = ReplayRandom::create(2).value();
  for (int step = 0; step < 100; ++step) ASSERT_TRUE(sgd.step(random));
  const Dataset fresh = two_classes(3000);
  const std::vector<float> outputs = source->predict(sgd.parameters(), fresh);
  std::size_t right = 0;
  for (std::size_t row = 0; row < fresh.rows; ++row) {
    const int guess = outputs[2 * row + 1] > outputs[2 * row] ? 1 : 0;
    if (guess == fresh.labels[row]) ++right;
  }
  EXPECT_GT(right, fresh.rows * 9 / 10);
}

TEST(LanesSource, RefusesDataThatDoNotFit) {
  Dataset data = two_classes(10);
  const auto refused = [&](lanes::Program program, std::size_t threads, const std::string& named) {
    testing::expect_invalid(LanesSource::create(std::move(program), data, threads).error(), named);
  };
  refused(lanes::Program::create({5, 1, 1}, {lanes::Linear{2}}, lanes::Loss::kCrossEntropy).value(), 1, "5 features");
  refused(lanes::Program::create({4, 1, 1}, {lanes::Linear{3}}, lanes::Loss::kCrossEntropy).value(), 1, "3 classes");
  refused(lanes::Program::create({4, 1, 1}, {lanes::Linear{1}}, lanes::Loss::kSquared).value(), 1, "targets");
  refused(lanes::Program::create({4, 1, 1}, {lanes::Activate{}}, lanes::Loss::kCrossEntropy).value(), 1,
          "no parameters");
  refused(network(), 0, "thread");
}

// A null record adds nothing: to the sum of a rule, to the sum without one, and to the exact sum of discrete noise. Its
// features could not be learned from: as an ordinary record this one would move every sum.
TEST(LanesSource, AddsNothingForNullRecords) {
  const Dataset plain = two_classes(40);
  for (const bool by_person : {false, true}) {
    Dataset data = plain;
    if (by_person) {
      data.rows_per_person = 2;
      for (std::uint32_t row = 0; row < 40; ++row) data.people.push_back(row / 3);
    }
    data.nulls.resize(40);
    // All rows of the second person, some of the third, and the last one.
    for (const std::size_t row : {3U, 4U, 5U, 7U, 39U}) {
      data.nulls[row] = 1;
      for (std::size_t i = 0; i < 4; ++i) data.features[4 * row + i] = -3;
    }
    std::vector<std::uint64_t> kept;
    for (std::uint64_t row = 0; row < 40; ++row) {
      if (data.nulls[row] == 0) kept.push_back(row);
    }
    const Dataset rest = data.take(kept).value();
    ASSERT_TRUE(rest.nulls.empty());
    const auto odd = LanesSource::create(network(), data, 2).value();
    const auto without = LanesSource::create(network(), rest, 2).value();
    EXPECT_EQ(odd->examples(), by_person ? 14U : 40U);
    EXPECT_EQ(without->examples(), by_person ? 12U : 35U);
    const std::vector<float> at = weights(odd->parameters());
    const auto all_of = [](const LanesSource& source) {
      std::vector<std::uint64_t> all(source.examples());
      std::iota(all.begin(), all.end(), 0);
      return all;
    };
    const auto sum_of = [&](LanesSource& source, const ClipRule* rule, std::size_t& within) {
      ReplayRandom random = ReplayRandom::create(5).value();
      std::vector<float> sum(at.size());
      within = source.add(at, all_of(source), rule, random, sum).value();
      return sum;
    };
    const ClipRule rule = clip(0.5);
    for (const ClipRule* one : {&rule, static_cast<const ClipRule*>(nullptr)}) {
      std::size_t within_odd = 0;
      std::size_t within_rest = 0;
      EXPECT_EQ(sum_of(*odd, one, within_odd), sum_of(*without, one, within_rest));
      EXPECT_EQ(within_odd, within_rest);
    }
    const GradientGrid grid = GradientGrid::create(rule.sensitivity(), at.size()).value();
    const auto exact_sum_of = [&](LanesSource& source) {
      ReplayRandom random = ReplayRandom::create(5).value();
      std::vector<std::int64_t> sum(at.size());
      EXPECT_TRUE(source.add_on_grid(at, all_of(source), rule, grid, random, sum).has_value());
      return sum;
    };
    EXPECT_EQ(exact_sum_of(*odd), exact_sum_of(*without));
    // The mutant: the same record where it is not marked.
    data.nulls.clear();
    const auto marked_as_good = LanesSource::create(network(), data, 2).value();
    EXPECT_NE(exact_sum_of(*marked_as_good), exact_sum_of(*without));
  }
}

// Under replace-one, a record becomes null or null becomes a record: the sum over the same draw moves by one clip norm,
// and so does the exact one.
TEST(LanesSource, MovesByOneClipNormWhereARecordBecomesNull) {
  Dataset data = two_classes(8);
  const ClipRule rule = clip(0.25);
  const std::vector<float> at = weights(LanesSource::create(network(), data, 1).value()->parameters());
  std::vector<std::uint64_t> all(8);
  std::iota(all.begin(), all.end(), 0);
  const auto sum_of = [&](const Dataset& of) {
    ReplayRandom random = ReplayRandom::create(5).value();
    std::vector<float> sum(at.size());
    EXPECT_TRUE(LanesSource::create(network(), of, 1).value()->add(at, all, &rule, random, sum).has_value());
    return sum;
  };
  const std::vector<float> before = sum_of(data);
  for (std::size_t row = 0; row < 8; ++row) {
    Dataset changed = data;
    changed.nulls.resize(8);
    changed.nulls[row] = 1;
    const std::vector<float> after = sum_of(changed);
    double squared = 0;
    for (std::size_t i = 0; i < before.size(); ++i) squared += std::pow(before[i] - after[i], 2);
    EXPECT_LE(std::sqrt(squared), 0.25 * (1 + 1e-5)) << row;
    EXPECT_GT(squared, 0) << row;
  }
}

// Nobody can be told how many rows there are, not even that there is none.
TEST(LanesSource, TrainsOnDataWithoutRows) {
  const Dataset none = two_classes(0);
  const auto source = LanesSource::create(network(), none, 1).value();
  EXPECT_EQ(source->examples(), 0U);
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(source->parameters());
  const ClipRule rule = clip(1);
  ASSERT_TRUE(source->add(weights(sum.size()), {}, &rule, random, sum).has_value());
  EXPECT_EQ(sum, std::vector<float>(sum.size()));
}

}  // namespace
}  // namespace noisefloor
