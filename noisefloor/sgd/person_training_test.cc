// Training where whole people are protected. Compares each person's gradient with one that is worked out by hand,
// measures how far one person can move a sum, and shows that people with one row each are trained on exactly as rows
// are, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/lanes_source.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using Numbers = std::vector<std::uint64_t>;

float uneven(std::size_t i) { return static_cast<float>(std::sin(static_cast<double>(i) * 12.9898) * 0.9); }

// Images of 4 x 4 in three classes. Person p of the list has counts[p] rows, which lie among those of others.
Dataset images_of(const std::vector<std::size_t>& counts, std::size_t rows_per_person, std::size_t start = 0) {
  Dataset data{.rows = 0, .shape = {1, 4, 4}, .features = {}, .labels = {}, .classes = 3, .targets = {}};
  data.rows_per_person = rows_per_person;
  std::vector<std::size_t> left = counts;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t person = 0; person < left.size(); ++person) {
      if (left[person] == 0) continue;
      more = --left[person] > 0 || more;
      for (std::size_t i = 0; i < 16; ++i) data.features.push_back(2 * uneven(start + 16 * data.rows + i));
      data.labels.push_back(static_cast<std::int32_t>((data.rows * 7 + start) % 3));
      data.people.push_back(static_cast<std::uint32_t>(1000 - 3 * person));
      ++data.rows;
    }
    for (const std::size_t count : left) more = more || count > 0;
  }
  return data;
}

// The same rows without people.
Dataset as_rows(Dataset data) {
  data.people.clear();
  data.rows_per_person = 0;
  return data;
}

lanes::Program network(bool dropout = false) {
  std::vector<lanes::Layer> layers{lanes::Conv2d{3, 3, 3}, lanes::Activate{lanes::Activation::kTanh}, lanes::Flatten{},
                                   lanes::Linear{3}};
  if (dropout) layers.insert(layers.begin() + 3, lanes::Dropout{0.3F});
  return lanes::Program::create({1, 4, 4}, layers, lanes::Loss::kCrossEntropy).value();
}

std::vector<float> weights(std::size_t count) {
  std::vector<float> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(0.7F * uneven(i + 1000));
  return result;
}

std::unique_ptr<LanesSource> source_of(const Dataset& data, std::size_t threads = 2, bool dropout = false) {
  return LanesSource::create(network(dropout), data, threads).value();
}

ClipRule rule_of(ClipRule::Kind kind) { return ClipRule::create(std::move(kind)).value(); }

std::vector<ClipRule> all_rules(double norm) {
  const ClipNorm clip = ClipNorm::make(norm).value();
  return {rule_of(FlatClip{clip}), rule_of(AutomaticClip{clip, 0.01}),
          rule_of(GroupClip{{clip, ClipNorm::make(norm / 2).value()}})};
}

double norm_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float x : values) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm_of(difference);
}

Numbers everybody(const People& people) {
  Numbers all(people.size());
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

std::vector<float> sum_over(GradientSource& source, const Numbers& examples, const ClipRule* rule,
                            std::uint64_t seed = 1) {
  ReplayRandom random = ReplayRandom::create(seed).value();
  std::vector<float> sum(source.parameters());
  EXPECT_TRUE(source.add(weights(source.parameters()), examples, rule, random, sum));
  return sum;
}

// The groups of network(): a convolution of 27 weights and 3 biases, then a linear layer.
constexpr std::size_t kFirstGroup = 30;

// The sum of the clipped means of people's gradients, row by row from a source that knows no people; and how many are
// within the bound.
struct ByHand {
  std::vector<double> sum;
  std::size_t within = 0;
};
ByHand by_hand(const Dataset& data, const ClipRule* rule) {
  const Dataset rows = as_rows(data);
  auto source = source_of(rows, 1);
  const People people = *People::of(data).value();
  ByHand result{std::vector<double>(source->parameters()), 0};
  for (const std::uint64_t person : everybody(people)) {
    std::vector<double> mean(source->parameters());
    const auto own = people.rows_of(person);
    for (const std::uint64_t row : own) {
      const std::vector<float> gradient = sum_over(*source, {row}, nullptr);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / static_cast<double>(own.size());
    }
    std::vector<double> squares(2);
    for (std::size_t i = 0; i < mean.size(); ++i) squares[i < kFirstGroup ? 0 : 1] += mean[i] * mean[i];
    std::vector<double> factors{1, 1};
    if (rule != nullptr) result.within += rule->factors(squares, 2, 1, factors);
    for (std::size_t i = 0; i < mean.size(); ++i) result.sum[i] += factors[i < kFirstGroup ? 0 : 1] * mean[i];
  }
  return result;
}

const std::vector<std::size_t> kCounts{1, 3, 40, 1, 2, 17, 1, 5, 16, 2, 100, 1, 1, 4};

TEST(PersonTraining, ClipsEachPersonsMeanOnce) {
  const Dataset data = images_of(kCounts, 100);
  const Numbers all = everybody(*People::of(data).value());
  ASSERT_EQ(all.size(), kCounts.size());
  std::vector<ClipRule> rules = all_rules(0.8);
  for (std::size_t r = 0; r <= rules.size(); ++r) {
    const ClipRule* rule = r < rules.size() ? &rules[r] : nullptr;
    const ByHand expected = by_hand(data, rule);
    for (const std::size_t threads : {1U, 2U, 3U, 20U}) {
      auto source = source_of(data, threads);
      EXPECT_EQ(source->examples(), kCounts.size());
      ReplayRandom random = ReplayRandom::create(1).value();
      std::vector<float> sum(source->parameters());
      const auto within = source->add(weights(sum.size()), all, rule, random, sum);
      EXPECT_EQ(within.value(), expected.within);
      for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], expected.sum[i], 2e-4) << r << " " << i;
      const std::vector<float> again = sum_over(*source, all, rule);
      EXPECT_EQ(again, sum) << "nothing is left over from the call before";
    }
  }
  ASSERT_GT(by_hand(data, rules.data()).within, 0U);
  ASSERT_LT(by_hand(data, rules.data()).within, kCounts.size());
}

TEST(PersonTraining, RoundsEachPersonOnceOnAGrid) {
  const Dataset data = images_of(kCounts, 100);
  const Numbers all = everybody(*People::of(data).value());
  for (const ClipRule& rule : all_rules(0.8)) {
    for (const std::size_t threads : {1U, 3U}) {
      auto source = source_of(data, threads);
      const GradientGrid grid = GradientGrid::create(rule.sensitivity(), source->parameters()).value();
      const std::vector<float> at = weights(source->parameters());
      ReplayRandom random = ReplayRandom::create(1).value();
      std::vector<std::int64_t> fast(at.size());
      ASSERT_TRUE(source->add_on_grid(at, all, rule, grid, random, fast));
      const ByHand expected = by_hand(data, &rule);
      // Each person is rounded by half a step, and gradients are floats: 2^-24 of a norm of up to 2^25 steps.
      for (std::size_t i = 0; i < at.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(fast[i]) * grid.step(), expected.sum[i], 2e-4) << i;
      }
      // One person alone is exactly within the bound of the grid.
      for (const std::uint64_t person : all) {
        std::vector<std::int64_t> one(at.size());
        ASSERT_TRUE(source->add_on_grid(at, Numbers{person}, rule, grid, random, one));
        double squares = 0;
        for (const std::int64_t step : one) squares += static_cast<double>(step) * static_cast<double>(step);
        EXPECT_LE(squares, grid.bound() * grid.bound());
        EXPECT_GT(squares, 0);
      }
    }
  }
}

// --- How far one person moves a sum ----------------------------------------------------------------------------------

// Sums are floats: they add to the clip norm a few units in the last place of sums of a few clip norms.
constexpr double kRounding = 1 + 1e-5;

using SumOf = std::function<std::vector<float>(const Dataset&, const Numbers&, const ClipRule&, std::uint64_t)>;

std::vector<float> by_person(const Dataset& data, const Numbers& people, const ClipRule& rule, std::uint64_t seed) {
  auto source = source_of(data, 2);
  return sum_over(*source, people, &rule, seed);
}

// The mutant: it clips each row of a person by itself and adds all of them up.
std::vector<float> by_row(const Dataset& data, const Numbers& people, const ClipRule& rule, std::uint64_t seed) {
  const Dataset rows = as_rows(data);
  auto source = source_of(rows, 2);
  const People whose = *People::of(data).value();
  Numbers examples;
  for (const std::uint64_t person : people) {
    const auto own = whose.rows_of(person);
    examples.insert(
        examples.end(), own.begin(),
        own.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(own.size(), whose.rows_each().value())));
  }
  return sum_over(*source, examples, &rule, seed);
}

// The largest distance between sums with and without the last person, and between sums with two versions of the last
// person, in units of the rule's sensitivity. The last person comes last in the draw, so that others choose the same
// rows.
struct Reach {
  double presence = 0;
  double exchange = 0;
};
Reach reach_of(const SumOf& sum_of, std::size_t rows_of_last, std::size_t rows_per_person) {
  Reach reach;
  for (std::size_t trial = 0; trial < 6; ++trial) {
    const Dataset data = images_of({1, 3, 9, 2, 1, rows_of_last}, rows_per_person, 100 * trial);
    // Other rows, in any number.
    Dataset other =
        images_of({1, 3, 9, 2, 1, trial % 2 == 0 ? rows_of_last : 1 + rows_of_last * 2}, rows_per_person, 100 * trial);
    const People people = *People::of(other).value();
    for (const std::uint64_t row : people.rows_of(5)) {
      for (std::size_t i = 0; i < 16; ++i) other.features[16 * row + i] *= -5;
      other.labels[row] = (other.labels[row] + 1) % 3;
    }
    const Numbers with{0, 1, 2, 3, 4, 5};
    const Numbers without{0, 1, 2, 3, 4};
    for (const ClipRule& rule : all_rules(trial < 3 ? 0.05 : 0.6)) {
      const double norm = rule.sensitivity().value();
      const std::vector<float> present = sum_of(data, with, rule, trial);
      reach.presence = std::max(reach.presence, distance(present, sum_of(data, without, rule, trial)) / norm);
      // Other people are the same in both: only the last one differs.
      const std::vector<float> alone = sum_of(data, {5}, rule, trial);
      const std::vector<float> exchanged = sum_of(other, {5}, rule, trial);
      reach.exchange = std::max(reach.exchange, distance(alone, exchanged) / norm);
    }
  }
  return reach;
}

TEST(PersonTraining, MovesASumByAtMostOneClipNormPerPerson) {
  for (const std::size_t rows_per_person : {1U, 4U, 1000U}) {
    for (const std::size_t rows : {1U, 4U, 50U}) {
      const Reach reach = reach_of(by_person, rows, rows_per_person);
      EXPECT_LE(reach.presence, kRounding) << rows << " " << rows_per_person;
      EXPECT_GT(reach.presence, 0.9) << "the clip norm is reached";
      EXPECT_LE(reach.exchange, 2 * kRounding) << rows << " " << rows_per_person;
    }
  }
  // The test finds the mutant: clipping by row moves sums by as many clip norms as there are rows.
  EXPECT_GT(reach_of(by_row, 4, 4).presence, 1.5);
  EXPECT_GT(reach_of(by_row, 50, 1000).presence, 5);
}

TEST(PersonTraining, GivesAPersonWithManyRowsNoMoreWeight) {
  for (const std::size_t rows_per_person : {7U, 20'000U}) {
    const Dataset data = images_of({2, 10'000, 1}, rows_per_person);
    auto source = source_of(data);
    for (const ClipRule& rule : all_rules(0.05)) {
      const double norm = rule.sensitivity().value();
      EXPECT_LE(norm_of(sum_over(*source, {1}, &rule)), norm * kRounding);
      EXPECT_LE(norm_of(sum_over(*source, {0, 1, 2}, &rule)), 3 * norm * kRounding);
    }
    // Without clipping it is the mean over the rows that were taken, so it is no longer than the longest of them.
    double longest = 0;
    const Dataset rows = as_rows(data);
    auto single = source_of(rows);
    for (std::uint64_t row = 0; row < 200; ++row) {
      longest = std::max(longest, norm_of(sum_over(*single, {row}, nullptr)));
    }
    EXPECT_LE(norm_of(sum_over(*source, {1}, nullptr)), 1.5 * longest);
  }
}

// For a person with fewer rows than the bound, the mean is over the rows that are there, not over the bound.
TEST(PersonTraining, AveragesOverTheRowsThatWereTaken) {
  Dataset data = images_of({3, 1}, 1'000'000);
  const People people = *People::of(data).value();
  // All three rows of the first person are alike: their mean is each of them.
  const auto own = people.rows_of(0);
  for (const std::uint64_t row : own) {
    std::copy_n(data.features.begin() + static_cast<std::ptrdiff_t>(16 * own[0]), 16,
                data.features.begin() + static_cast<std::ptrdiff_t>(16 * row));
    data.labels[row] = data.labels[own[0]];
  }
  auto source = source_of(data);
  const Dataset rows = as_rows(data);
  auto single = source_of(rows);
  EXPECT_LE(distance(sum_over(*source, {0}, nullptr), sum_over(*single, {own[0]}, nullptr)), 1e-5);
}

TEST(PersonTraining, SilencesOnlyThePersonWhoseRowIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Dataset data = images_of({2, 3, 40, 2, 1}, 100);
    const People people = *People::of(data).value();
    data.features[16 * people.rows_of(1)[1]] = bad;
    data.features[16 * people.rows_of(2)[30]] = bad;
    auto source = source_of(data, 1);
    for (const ClipRule& rule : all_rules(0.6)) {
      EXPECT_EQ(sum_over(*source, {1, 2}, &rule), std::vector<float>(source->parameters()));
      const std::vector<float> others = sum_over(*source, {0, 3, 4}, &rule);
      EXPECT_LE(distance(sum_over(*source, {0, 1, 2, 3, 4}, &rule), others), 1e-5);
      EXPECT_GT(norm_of(others), 0.1);
      const GradientGrid grid = GradientGrid::create(rule.sensitivity(), source->parameters()).value();
      ReplayRandom random = ReplayRandom::create(1).value();
      std::vector<std::int64_t> steps(source->parameters());
      ASSERT_TRUE(source->add_on_grid(weights(steps.size()), Numbers{1, 2}, rule, grid, random, steps));
      EXPECT_EQ(steps, std::vector<std::int64_t>(steps.size()));
    }
  }
}

// --- One row each ----------------------------------------------------------------------------------------------------

struct Outcome {
  std::vector<float> parameters;
  std::uint64_t position = 0;
  double clip_norm = 0;
  std::vector<std::vector<float>> sent;  // to other workers
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class ListeningGroup final : public WorkerGroup {
 public:
  ListeningGroup(std::size_t rank, std::size_t size) : rank_(rank), size_(size) {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Result<void> sum(std::span<float> numbers) override {
    sent.emplace_back(numbers.begin(), numbers.end());
    if (numbers.size() == 1) numbers[0] = 0;  // nobody differs from the first worker, which is not here
    return success();
  }
  std::vector<std::vector<float>> sent;

 private:
  std::size_t rank_;
  std::size_t size_;
};

BatchSampler sampler_of(const Dataset& data, std::uint64_t batch, bool fixed_size) {
  const Rows units = Rows::make(data.units()).value();
  if (fixed_size) {
    return BatchSampler::fixed_size(units, Rows::make(batch).value(), Adjacency::kReplaceOne, data.unit()).value();
  }
  return BatchSampler::poisson(units, Rows::make(batch).value(), Adjacency::kAddRemove, data.unit()).value();
}

Outcome run(const Dataset& data, const DpSgd::Options& options, bool fixed_size, bool dropout, ListeningGroup* group) {
  auto source = source_of(data, 2, dropout);
  auto created =
      DpSgd::create(options, sampler_of(data, 40, fixed_size), *source, weights(source->parameters()), group);
  if (!created.has_value()) {
    ADD_FAILURE() << created.error().message;
    return {};
  }
  DpSgd sgd = std::move(created).value();
  if (group != nullptr) group->sent.clear();  // drops the agreement, which says rows or people
  ReplayRandom random = ReplayRandom::create(7).value();
  for (int step = 0; step < 12; ++step) EXPECT_TRUE(sgd.step(random));
  Outcome result{sgd.parameters(), random.position(), sgd.clip_norm(), {}};
  if (group != nullptr) result.sent = group->sent;
  return result;
}

TEST(PersonTraining, EqualsTrainingByRowToTheBitWithOneRowEach) {
  const Dataset people = images_of(std::vector<std::size_t>(150, 1), 5);
  const Dataset rows = as_rows(people);
  for (const ClipRule& rule : all_rules(0.7)) {
    for (const bool discrete : {false, true}) {
      for (const bool fixed_size : {false, true}) {
        for (const bool dropout : {false, true}) {
          DpSgd::Options options;
          options.noise = NoiseMultiplier::of(0.8);
          options.clip = rule;
          options.discrete = discrete;
          EXPECT_EQ(run(people, options, fixed_size, dropout, nullptr),
                    run(rows, options, fixed_size, dropout, nullptr))
              << discrete << fixed_size << dropout;
        }
      }
    }
  }
  DpSgd::Options adaptive;
  adaptive.noise = NoiseMultiplier::of(0.8);
  adaptive.clip = rule_of(FlatClip{ClipNorm::of(0.7)});
  adaptive.adaptive = AdaptiveClip{};
  EXPECT_EQ(run(people, adaptive, false, false, nullptr), run(rows, adaptive, false, false, nullptr));
  for (const std::size_t rank : {0U, 1U, 2U}) {
    ListeningGroup of_people(rank, 3);
    ListeningGroup of_rows(rank, 3);
    const Outcome a = run(people, adaptive, false, false, &of_people);
    EXPECT_EQ(a, run(rows, adaptive, false, false, &of_rows));
    EXPECT_EQ(a.sent.size(), 12U);
  }
}

// --- Descent ---------------------------------------------------------------------------------------------------------

// A person's rows lie in two shards of rows; all the same, one worker has the whole person.
TEST(PersonTraining, SharesPeopleAndNotRowsAmongWorkers) {
  const Dataset data = images_of(std::vector<std::size_t>(9, 6), 4);
  DpSgd::Options options;  // without noise, so that sums can be compared
  options.clip = rule_of(FlatClip{ClipNorm::of(0.4)});
  std::vector<float> together;
  for (const std::size_t rank : {0U, 1U}) {
    ListeningGroup group(rank, 2);
    auto source = source_of(data);
    DpSgd sgd =
        DpSgd::create(options, sampler_of(data, 9, false), *source, weights(source->parameters()), &group).value();
    // All workers take the weights of the first, which is not here.
    ASSERT_TRUE(sgd.move_to(weights(source->parameters())));
    ReplayRandom random = ReplayRandom::create(3).value();
    ASSERT_TRUE(sgd.step(random));
    const std::vector<float>& sent = group.sent.back();
    const std::vector<float> own(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(source->parameters()));
    // 5 people and 4: a person in both shards would be counted twice.
    EXPECT_LE(norm_of(own), (rank == 0 ? 5 : 4) * 0.4 * kRounding);
    together.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) together[i] += own[i];
  }
  EXPECT_LE(norm_of(together), 9 * 0.4 * kRounding);
  // If all rows of each person are taken, both workers together give the sum of one process.
  const Dataset all = images_of(std::vector<std::size_t>(9, 6), 6);
  std::vector<float> whole(network().parameters());
  for (const std::size_t rank : {0U, 1U}) {
    ListeningGroup group(rank, 2);
    auto source = source_of(all);
    DpSgd sgd =
        DpSgd::create(options, sampler_of(all, 9, false), *source, weights(source->parameters()), &group).value();
    // All workers take the weights of the first, which is not here.
    ASSERT_TRUE(sgd.move_to(weights(source->parameters())));
    ReplayRandom random = ReplayRandom::create(3).value();
    ASSERT_TRUE(sgd.step(random));
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] += group.sent.back()[i];
  }
  auto source = source_of(all);
  EXPECT_LE(distance(whole, sum_over(*source, everybody(*source->people()), &*options.clip)), 1e-4);
}

TEST(PersonTraining, HasTheEventOfPeople) {
  const Dataset data = images_of(kCounts, 4);
  auto source = source_of(data);
  DpSgd::Options options;
  options.noise = NoiseMultiplier::of(1.1);
  options.clip = rule_of(FlatClip{ClipNorm::of(0.4)});
  const auto create = [&](BatchSampler sampler) {
    return DpSgd::create(options, std::move(sampler), *source, weights(source->parameters()));
  };
  const DpSgd sgd = create(sampler_of(data, 7, false)).value();
  EXPECT_EQ(sgd.unit(), PrivacyUnit::kPerson);
  EXPECT_EQ(sgd.event_of_step(),
            DpEvent(PoissonSampledEvent{SamplingRate::of(0.5), GaussianEvent{NoiseMultiplier::of(1.1)}}))
      << "7 of 14 people";
  EXPECT_EQ(create(sampler_of(data, 7, true)).value().event_of_step(),
            DpEvent(FixedSizeSampledEvent{Rows::of(7), Rows::of(14), GaussianEvent{NoiseMultiplier::of(0.55)}}));
  const auto poisson = [&](std::size_t count, PrivacyUnit unit) {
    return BatchSampler::poisson(Rows::make(count).value(), Rows::of(7), Adjacency::kAddRemove, unit).value();
  };
  testing::expect_invalid(create(poisson(14, PrivacyUnit::kRow)).error(), "draws rows");
  testing::expect_invalid(create(poisson(data.rows, PrivacyUnit::kPerson)).error(),
                          "as many examples as the data have");
  const Dataset rows = as_rows(data);
  auto plain = source_of(rows);
  testing::expect_invalid(
      DpSgd::create(options, poisson(data.rows, PrivacyUnit::kPerson), *plain, weights(plain->parameters())).error(),
      "draws people");
  testing::expect_invalid(
      BatchSampler::poisson(Rows::of(14), Rows::of(15), Adjacency::kAddRemove, PrivacyUnit::kPerson).error(),
      "14 people");
}

// A run continues from its state to the bit; its description differs from that of runs by row and of runs with another
// bound.
TEST(PersonTraining, ContinuesFromAState) {
  const Dataset data = images_of(kCounts, 4);
  const std::vector<float> initial = weights(network().parameters());
  for (const bool discrete : {false, true}) {
    DpSgd::Options options;
    options.noise = NoiseMultiplier::of(0.8);
    options.clip = rule_of(FlatClip{ClipNorm::of(0.4)});
    options.discrete = discrete;
    auto source = source_of(data);
    DpSgd whole = DpSgd::create(options, sampler_of(data, 7, false), *source, initial).value();
    ReplayRandom random = ReplayRandom::create(5).value();
    for (int step = 0; step < 4; ++step) ASSERT_TRUE(whole.step(random));
    const DpSgd::State state = whole.state();
    const std::uint64_t position = random.position();
    for (int step = 0; step < 4; ++step) ASSERT_TRUE(whole.step(random));
    DpSgd rest = DpSgd::create(options, sampler_of(data, 7, false), *source, initial).value();
    ASSERT_TRUE(rest.restore(state));
    ReplayRandom later = ReplayRandom::create(5, position).value();
    for (int step = 0; step < 4; ++step) ASSERT_TRUE(rest.step(later));
    EXPECT_EQ(rest.parameters(), whole.parameters());
    EXPECT_EQ(rest.description(), whole.description());
    const Dataset wider = images_of(kCounts, 5);
    auto wide = source_of(wider);
    EXPECT_NE(DpSgd::create(options, sampler_of(wider, 7, false), *wide, initial).value().description(),
              whole.description());
  }
}

}  // namespace
}  // namespace noisefloor
