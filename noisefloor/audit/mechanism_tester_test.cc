// The tester must catch mechanisms that are known to be wrong, and never accuse one that keeps its ε.
#include "noisefloor/audit/mechanism_tester.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/mechanisms/above_threshold.h"
#include "noisefloor/mechanisms/geometric.h"
#include "noisefloor/mechanisms/laplace.h"
#include "noisefloor/mechanisms/quantile.h"
#include "noisefloor/mechanisms/selection.h"

namespace noisefloor::audit {
namespace {

const MechanismClaim kOne{PrivacyLoss::of(1), Delta::of(0)};

double uniform(BitStream& stream) { return (static_cast<double>(stream.next_u64() >> 11) + 0.5) * 0x1p-53; }

// Laplace noise as textbooks have it.
double laplace(double scale, BitStream& stream) {
  const double u = uniform(stream) - 0.5;
  return -scale * std::copysign(std::log(1 - 2 * std::fabs(u)), u);
}

double answer(World world) { return world == World::kWith ? 1 : 0; }

TestedMechanism tested(const BlackBox& mechanism, const MechanismClaim& claim = kOne, std::size_t count = 40'000) {
  ReplayRandom stream = ReplayRandom::create(20261120).value();
  const auto made = test_mechanism(mechanism, claim, {.search_runs = 10'000, .count_runs = count}, stream);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made.value();
}

void expect_refuted(const BlackBox& mechanism, const std::string& event = "", const MechanismClaim& claim = kOne) {
  const TestedMechanism found = tested(mechanism, claim);
  EXPECT_TRUE(found.refuted) << found.event << ": epsilon at least " << found.at_least;
  EXPECT_NE(found.event.find(event), std::string::npos) << found.event;
}

void expect_kept(const BlackBox& mechanism, double at_least, const MechanismClaim& claim = kOne) {
  const TestedMechanism found = tested(mechanism, claim);
  EXPECT_FALSE(found.refuted) << found.event << ": epsilon at least " << found.at_least;
  EXPECT_GT(found.at_least, at_least) << found.event << ": the search found a telling event";
}

// --- Mechanisms of this library --------------------------------------------------------------------------------------

ReplayRandom& source() {
  static ReplayRandom random = ReplayRandom::create(5).value();
  return random;
}

TEST(MechanismTester, NeverAccusesLaplace) {
  const LaplaceMechanism mechanism = LaplaceMechanism::create(count_sensitivity({}).value(), Epsilon::of(1)).value();
  expect_kept(
      [&](World world, BitStream&) -> Result<std::vector<double>> {
        NF_TRY(const auto released, mechanism.release(answer(world), source()));
        return std::vector<double>{released.value()};
      },
      0.8);
}

TEST(MechanismTester, NeverAccusesCounts) {
  const GeometricMechanism mechanism =
      GeometricMechanism::create(count_sensitivity({}).value(), Epsilon::of(1)).value();
  expect_kept(
      [&](World world, BitStream&) -> Result<std::vector<double>> {
        return std::vector<double>{
            static_cast<double>(mechanism.release(world == World::kWith ? 1 : 0, source()).value())};
      },
      0.8);
}

TEST(MechanismTester, NeverAccusesSelectionNorQuantiles) {
  for (const SelectionRule rule :
       {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip, SelectionRule::kNoisyMax}) {
    const SelectionMechanism mechanism =
        SelectionMechanism::create(count_sensitivity({}).value(), Epsilon::of(1), {.rule = rule}).value();
    expect_kept(
        [&](World world, BitStream&) -> Result<std::vector<double>> {
          const std::vector<double> scores = {answer(world), 1 - answer(world), 0.5};
          NF_TRY(const auto released, mechanism.release(scores, source()));
          return std::vector<double>{static_cast<double>(released.value())};
        },
        0.3);
  }
  const QuantileMechanism median =
      QuantileMechanism::create({}, Bounds::make(0, 1).value(), 0.5, Epsilon::of(1)).value();
  expect_kept(
      [&](World world, BitStream&) -> Result<std::vector<double>> {
        std::vector<double> values = {0.2, 0.2};
        if (world == World::kWith) values.push_back(1);
        NF_TRY(const auto released, median.release(values, source()));
        return std::vector<double>{released.value()};
      },
      0.05);
}

// Replies on answers that all move by one.
BlackBox replies_of_above_threshold() {
  return [](World world, BitStream&) -> Result<std::vector<double>> {
    NF_TRY(auto above, AboveThreshold<ReplayRandom>::create(count_sensitivity({}).value(), Epsilon::of(1),
                                                            {.threshold = 0}, source()));
    std::vector<double> replies;
    for (int i = 0; i < 8; ++i) {
      const bool second = i >= 4;
      NF_TRY(const bool reply, above.ask(second != (world == World::kWith) ? 1 : 0));
      replies.push_back(reply ? 1 : 0);
      if (reply) break;
    }
    return replies;
  };
}

TEST(MechanismTester, NeverAccusesAboveThreshold) { expect_kept(replies_of_above_threshold(), 0.05); }

// --- Mechanisms that are wrong ---------------------------------------------------------------------------------------

TEST(MechanismTester, CatchesTooLittleNoise) {
  expect_refuted([](World world, BitStream& stream) -> Result<std::vector<double>> {
    return std::vector<double>{answer(world) + laplace(0.7, stream)};
  });
}

TEST(MechanismTester, CatchesTheTruthThatSlipsOut) {
  expect_refuted(
      [](World world, BitStream& stream) -> Result<std::vector<double>> {
        if (uniform(stream) < 0.02) return std::vector<double>{answer(world)};
        return std::vector<double>{std::round(1024 * (answer(world) + laplace(1, stream))) / 1024};
      },
      "equal to");
}

// Mironov 2012: the lowest bits of a textbook sampler give the answer away.
TEST(MechanismTester, CatchesTheLowBitsOfTextbookNoise) {
  expect_refuted(
      [](World world, BitStream& stream) -> Result<std::vector<double>> {
        return std::vector<double>{answer(world) + laplace(1, stream)};
      },
      "in binary");
}

TEST(MechanismTester, CatchesGroupsThatAppearWithoutAThreshold) {
  expect_refuted(
      [](World world, BitStream& stream) -> Result<std::vector<double>> {
        std::vector<double> groups = {std::round(8 * laplace(1, stream)) / 8};
        if (world == World::kWith) groups.push_back(std::round(8 * laplace(1, stream)) / 8);
        return groups;
      },
      "count of numbers");
}

TEST(MechanismTester, CatchesWhatIsNoNumber) {
  expect_refuted(
      [](World world, BitStream& stream) -> Result<std::vector<double>> {
        if (world == World::kWith && uniform(stream) < 0.02) return std::vector<double>{std::nan("")};
        return std::vector<double>{std::round(4 * laplace(1, stream))};
      },
      "");
}

// Of two numbers, each by itself within ε, whose difference is not.
TEST(MechanismTester, CatchesNoiseThatTwoAnswersShare) {
  expect_refuted([](World world, BitStream& stream) -> Result<std::vector<double>> {
    const double shared = std::round(16 * laplace(2, stream)) / 16;
    return std::vector<double>{answer(world) + shared, shared};
  });
}

// The wrong variants of the sparse vector technique (Lyu, Su and Li 2017, Algorithms 3 to 6), on the inputs of their
// proofs. ε is split in halves.
struct Sparse {
  bool noise_on_answers = true;
  bool says_answers = false;
  double answer_scale = 2;  // for one reply "above"
  int most_above = 1;
};

BlackBox sparse_vector(const Sparse& variant, std::vector<double> with, std::vector<double> without) {
  return [=](World world, BitStream& stream) -> Result<std::vector<double>> {
    const double threshold = std::round(64 * laplace(2, stream)) / 64;
    std::vector<double> replies;
    int above = 0;
    for (const double exact : world == World::kWith ? with : without) {
      const double noise = variant.noise_on_answers ? std::round(64 * laplace(variant.answer_scale, stream)) / 64 : 0;
      const bool reply = exact + noise >= threshold;
      replies.push_back(reply ? (variant.says_answers ? exact + noise : 1e6) : -1e6);
      if (reply && ++above == variant.most_above) break;
    }
    return replies;
  };
}

std::vector<double> halves(double first, double second, std::size_t each) {
  std::vector<double> all(each, first);
  all.resize(2 * each, second);
  return all;
}

TEST(MechanismTester, CatchesEveryWrongSparseVector) {
  // Algorithm 3: the noisy answer itself is released; a negative one tells that the threshold was below it.
  expect_refuted(sparse_vector({.says_answers = true}, halves(0, 0, 6), halves(-1, 1, 6)));
  // Algorithm 4: the noise on answers does not grow with the number of replies "above".
  expect_refuted(sparse_vector({.answer_scale = 2, .most_above = 8}, halves(1, -1, 8), halves(0, 0, 8)));
  // Algorithm 5: no noise on answers.
  expect_refuted(sparse_vector({.noise_on_answers = false, .most_above = 100}, {1, 0}, {0, 1}));
  // Algorithm 6: any number of replies "above".
  expect_refuted(sparse_vector({.most_above = 100}, halves(1, -1, 8), halves(0, 0, 8)));
}

TEST(MechanismTester, PassesErrorsOnAndRefusesTooFewRuns) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  const BlackBox fails = [](World, BitStream&) -> Result<std::vector<double>> {
    return invalid_argument("this mechanism fails");
  };
  const auto failed = test_mechanism(fails, kOne, {}, stream);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "this mechanism fails");
  EXPECT_FALSE(test_mechanism(fails, kOne, {.search_runs = 10}, stream).has_value());
}

// δ is part of the claim: a mechanism that fails with this probability keeps it.
TEST(MechanismTester, AllowsForDelta) {
  const BlackBox rarely_open = [](World world, BitStream& stream) -> Result<std::vector<double>> {
    return std::vector<double>{uniform(stream) < 0.01 ? answer(world) : 0.5};
  };
  EXPECT_FALSE(tested(rarely_open, {PrivacyLoss::of(0.1), Delta::of(0.0101)}).refuted);
  EXPECT_TRUE(tested(rarely_open, {PrivacyLoss::of(0.1), Delta::of(0.001)}).refuted);
}

}  // namespace
}  // namespace noisefloor::audit
