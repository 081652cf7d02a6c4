// Training by person with torch: against each person's mean gradient by ordinary autograd, and against rows, to the
// bit.
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/torch/tape_source.h"
#include "tests/support/per_example_oracle.h"
#include "tests/support/tape_pieces.h"

namespace noisefloor {
namespace {

using testing::small_network;
using testing::source_of;
using Numbers = std::vector<std::uint64_t>;

const std::vector<std::size_t> kCounts{1, 3, 40, 1, 2, 17, 3, 5, 2, 1};

// Images of 8 x 8 in three classes; the rows of people lie among each other.
Dataset images_of(const std::vector<std::size_t>& counts, std::size_t rows_per_person) {
  Dataset data;
  data.shape = {1, 8, 8};
  data.classes = 3;
  data.rows_per_person = rows_per_person;
  for (std::size_t turn = 0; turn < 100; ++turn) {
    for (std::size_t person = 0; person < counts.size(); ++person) {
      if (turn >= counts[person]) continue;
      for (std::size_t i = 0; i < 64; ++i)
        data.features.push_back(static_cast<float>(std::sin(static_cast<double>(64 * data.rows + i) * 12.9898)));
      data.labels.push_back(static_cast<std::int32_t>(data.rows * 7 % 3));
      data.people.push_back(static_cast<std::uint32_t>(1000 - 3 * person));
      ++data.rows;
    }
  }
  return data;
}

Dataset as_rows(Dataset data) {
  data.people.clear();
  data.rows_per_person = 0;
  return data;
}

std::vector<ClipRule> all_rules(double norm) {
  const ClipNorm clip = ClipNorm::make(norm).value();
  const auto rule = [](ClipRule::Kind kind) { return ClipRule::create(std::move(kind)).value(); };
  return {rule(FlatClip{clip}), rule(AutomaticClip{clip, 0.01}),
          rule(GroupClip{{clip, ClipNorm::make(norm / 2).value()}})};
}

Numbers everybody(const TapeSource& source) {
  Numbers all(source.examples());
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

std::vector<float> sum_over(TapeSource& source, const Numbers& people, const ClipRule* rule) {
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(source.parameters());
  EXPECT_TRUE(source.add(source.weights(), people, rule, random, sum));
  return sum;
}

double norm_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float x : values) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

// Each person by itself through the module, by ordinary autograd; the mean is clipped with the norm of the oracle.
TEST(PersonTape, EachPersonsMeanIsClippedOnce) {
  const Dataset data = images_of(kCounts, 100);
  torch::nn::Sequential net = small_network();
  const People people = *People::of(data).value();
  const Tape tape(*net);
  for (const ClipRule& rule : all_rules(0.5)) {
    std::vector<double> expected;
    std::size_t within = 0;
    for (std::uint64_t person = 0; person < people.size(); ++person) {
      const auto own = people.rows_of(person);
      const Dataset taken = data.take(own).value();
      const torch::Tensor rows = torch::tensor(taken.features).view({-1, 1, 8, 8});
      const torch::Tensor labels = torch::tensor(taken.labels).to(torch::kInt64);
      const auto count = static_cast<std::int64_t>(own.size());
      auto gradients = testing::oracle_gradients(*net, tape, rows, count, [&](const torch::Tensor& x) {
        return torch::nn::functional::cross_entropy(
            net->forward(x), labels, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
      });
      for (torch::Tensor& gradient : gradients.front()) gradient = gradient / count;
      const TapeFactors factors = factors_of(rule, testing::oracle_norms(tape, gradients));
      within += factors.within;
      std::size_t place = 0;
      for (std::size_t p = 0; p < gradients.front().size(); ++p) {
        const double factor = factors.factors[static_cast<std::int64_t>(tape.parameters()[p].group)][0].item<double>();
        const torch::Tensor flat = (gradients.front()[p] * factor).flatten().contiguous();
        expected.resize(std::max(expected.size(), place + static_cast<std::size_t>(flat.numel())));
        for (std::int64_t i = 0; i < flat.numel(); ++i) expected[place++] += flat.data_ptr<double>()[i];
      }
    }
    // Micro-batches that hold everybody, that divide people with the same number of rows, and that divide one person.
    for (const std::size_t micro_batch : {1U, 2U, 7U, 20U, 64U}) {
      const auto source = source_of(net, data, micro_batch);
      ASSERT_EQ(source->examples(), kCounts.size());
      ReplayRandom random = ReplayRandom::create(1).value();
      std::vector<float> sum(source->parameters());
      ASSERT_EQ(sum.size(), expected.size());
      EXPECT_EQ(source->add(source->weights(), everybody(*source), &rule, random, sum).value(), within);
      for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], expected[i], 1e-4) << micro_batch << " " << i;
    }
  }
}

TEST(PersonTape, AgreesWithLanes) {
  torch::nn::Sequential net = small_network();
  const lanes::Program program =
      lanes::Program::create(
          {1, 8, 8},
          {lanes::Conv2d{4, 3, 3, 2, 1}, lanes::Activate{lanes::Activation::kTanh}, lanes::Flatten{}, lanes::Linear{3}},
          lanes::Loss::kCrossEntropy)
          .value();
  const Dataset whole = images_of(kCounts, 40);  // nothing to choose
  const auto lanes_source = LanesSource::create(program, whole, 2).value();
  const auto tape_source = source_of(net, whole, 16);
  for (const ClipRule& rule : all_rules(0.5)) {
    ReplayRandom random = ReplayRandom::create(1).value();
    std::vector<float> sum(lanes_source->parameters());
    ASSERT_TRUE(lanes_source->add(tape_source->weights(), everybody(*tape_source), &rule, random, sum));
    const std::vector<float> other = sum_over(*tape_source, everybody(*tape_source), &rule);
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], other[i], 1e-4) << i;
  }
}

TEST(PersonTape, OnePersonMovesASumByAClipNormAtMost) {
  torch::nn::Sequential net = small_network();
  for (const std::size_t rows_per_person : {1U, 4U, 100U}) {
    const Dataset data = images_of({2, 1, 60, 3, 40, 4}, rows_per_person);
    for (const std::size_t micro_batch : {5U, 64U}) {
      const auto source = source_of(net, data, micro_batch);
      for (const ClipRule& rule : all_rules(0.05)) {
        const double norm = rule.sensitivity().value();
        const GradientGrid grid = GradientGrid::create(rule.sensitivity(), source->parameters()).value();
        for (std::uint64_t person = 0; person < source->examples(); ++person) {
          const double moved = norm_of(sum_over(*source, {person}, &rule));
          EXPECT_LE(moved, norm * (1 + 1e-5)) << person;
          EXPECT_GT(moved, 0.9 * norm) << person;
          ReplayRandom random = ReplayRandom::create(1).value();
          std::vector<std::int64_t> steps(source->parameters());
          ASSERT_TRUE(source->add_on_grid(source->weights(), Numbers{person}, rule, grid, random, steps));
          double squares = 0;
          for (const std::int64_t step : steps) squares += static_cast<double>(step) * static_cast<double>(step);
          EXPECT_LE(squares, grid.bound() * grid.bound());
          EXPECT_GT(squares, 0);
        }
      }
    }
  }
}

TEST(PersonTape, ARowThatIsNotFiniteSilencesItsPersonAndNobodyElse) {
  Dataset data = images_of({2, 3, 40, 3, 1}, 100);
  const People people = *People::of(data).value();
  data.features[64 * people.rows_of(1)[1]] = std::numeric_limits<float>::quiet_NaN();
  data.features[64 * people.rows_of(2)[30]] = std::numeric_limits<float>::infinity();
  torch::nn::Sequential net = small_network();
  const auto source = source_of(net, data, 16);
  for (const ClipRule& rule : all_rules(0.5)) {
    EXPECT_EQ(sum_over(*source, {1, 2}, &rule), std::vector<float>(source->parameters()));
    const std::vector<float> others = sum_over(*source, {0, 3, 4}, &rule);
    const std::vector<float> all = sum_over(*source, {0, 1, 2, 3, 4}, &rule);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(all[i], others[i], 1e-5);
    EXPECT_GT(norm_of(others), 0.1);
  }
}

TEST(PersonTape, WithOneRowEachItIsTrainingByRowToTheBit) {
  const Dataset people = images_of(std::vector<std::size_t>(60, 1), 5);
  const Dataset rows = as_rows(people);
  const auto trained = [](const Dataset& data, const DpSgd::Options& options, bool fixed_size, bool dropout) {
    torch::nn::Sequential net = small_network(dropout);
    const auto source = source_of(net, data, 16);
    const Rows units = Rows::make(data.units()).value();
    BatchSampler sampler =
        fixed_size ? BatchSampler::fixed_size(units, Rows::of(20), Adjacency::kReplaceOne, data.unit()).value()
                   : BatchSampler::poisson(units, Rows::of(20), Adjacency::kAddRemove, data.unit()).value();
    DpSgd sgd = DpSgd::create(options, std::move(sampler), *source, source->weights()).value();
    ReplayRandom random = ReplayRandom::create(7).value();
    for (int step = 0; step < 4; ++step) EXPECT_TRUE(sgd.step(random));
    return std::pair(sgd.parameters(), random.position());
  };
  for (const bool discrete : {false, true}) {
    for (const bool fixed_size : {false, true}) {
      for (const bool dropout : {false, true}) {
        DpSgd::Options options;
        options.noise = NoiseMultiplier::of(0.8);
        options.clip = all_rules(0.5).front();
        options.discrete = discrete;
        EXPECT_EQ(trained(people, options, fixed_size, dropout), trained(rows, options, fixed_size, dropout))
            << discrete << fixed_size << dropout;
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor
