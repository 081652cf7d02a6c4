#include "noisefloor/federated/planned_client.h"

#include <gtest/gtest.h>

#include <array>

#include "noisefloor/federated/asynchronous.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/training/plan_file.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

// Rows whose gradients are all 1; counts how many rows were asked for.
class Ones final : public GradientSource {
 public:
  explicit Ones(std::size_t rows) : rows_(rows) {}
  [[nodiscard]] std::size_t examples() const override { return rows_; }
  [[nodiscard]] std::size_t parameters() const override { return 1; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> /*at*/, std::span<const std::uint64_t> rows,
                                        const ClipRule* /*rule*/, BitStream& /*stream*/,
                                        std::span<float> sum) override {
    asked += rows.size();
    sum[0] += static_cast<float>(rows.size());
    return rows.size();
  }
  std::size_t asked = 0;

 private:
  std::size_t rows_;
};

// A plan of 20 rounds of 10 out of 100 rows, signed and read again, as a client gets it.
PlanFile read_again() {
  const DpStatement statement{
      Adjacency::kAddRemove, PrivacyUnit::kRow,
      SelfComposedEvent{Steps::of(20),
                        PoissonSampledEvent{SamplingRate::of(0.1), GaussianEvent{NoiseMultiplier::of(2.0)}}}};
  const PlanFile plan{"toy",
                      "00ff",
                      Rows::of(100),
                      ClipNorm::of(1.0),
                      NoiseMultiplier::of(2.0),
                      Rows::of(10),
                      Steps::of(20),
                      Epsilon::of(2.0),
                      Delta::of(1e-3),
                      statement,
                      certified_epsilon(statement, Delta::of(1e-3)).value(),
                      {},
                      "a utility graph of proxy data",
                      1,
                      1,
                      0,
                      "",
                      "toy",
                      ""};
  return parse_plan_file(to_json(plan, SigningKey::generate())).value().plan;
}

ClientPlan plan() {
  const PlanFile p = read_again();
  return {p.rows, p.clip, p.noise, p.batch, p.steps, p.statement};
}

PlannedClient client(Ones& source) {
  return PlannedClient::create(plan(), {.learning_rate = {.initial = 0.1}}, source, {5}).value();
}

TEST(PlannedClient, DoesWhatThePlanSaysAndThenNothing) {
  Ones source(100);
  PlannedClient one = client(source);
  EXPECT_EQ(one.descent().event(one.rounds()), plan().statement.event);
  EXPECT_EQ(one.descent().clip_norm(), 1.0);
  ReplayRandom random = ReplayRandom::create(1).value();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one.step(random).has_value());
  const std::size_t asked = source.asked;
  EXPECT_GT(asked, 100U);
  const std::vector<float> before = one.parameters();
  expect_invalid(one.step(random).error(), "all 20 rounds of the plan are done");
  SecureRandom secure = SecureRandom::create().value();
  expect_invalid(one.step(secure).error(), "would deviate");
  EXPECT_EQ(source.asked, asked) << "no row was looked at";
  EXPECT_EQ(one.parameters(), before);
  // A model from the server does not renew the budget.
  ASSERT_TRUE(one.move_to(std::vector<float>{1}).has_value());
  EXPECT_FALSE(one.step(random).has_value());
}

TEST(PlannedClient, DrawsFixedSizesAsStated) {
  ClientPlan fixed = plan();
  fixed.statement = {Adjacency::kReplaceOne, PrivacyUnit::kRow,
                     SelfComposedEvent{Steps::of(20), FixedSizeSampledEvent{Rows::of(10), Rows::of(100),
                                                                            GaussianEvent{NoiseMultiplier::of(1.0)}}}};
  Ones source(100);
  PlannedClient one = PlannedClient::create(fixed, {}, source, {5}).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one.step(random).has_value());
  EXPECT_EQ(source.asked, 200U);
  Ones more(101);
  expect_invalid(PlannedClient::create(fixed, {}, more, {5}).error(), "exactly as many rows as are stated, 100");
}

// The plan's number of rows is public; how many there are is private.
TEST(PlannedClient, DrawsFromAnotherNumberOfRowsAtThePlannedRate) {
  Ones more(1000);
  PlannedClient one = client(more);
  EXPECT_EQ(one.descent().event(one.rounds()), plan().statement.event);
  ReplayRandom random = ReplayRandom::create(1).value();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one.step(random).has_value());
  // 20 steps at a rate of 10 out of 100: 2000 rows, with a standard deviation of 42; α = 1e-6.
  EXPECT_NEAR(static_cast<double>(more.asked), 2000, 4.9 * 42.5);
}

TEST(PlannedClient, RefusesOtherNumbers) {
  Ones source(100);
  const auto refused = [&](auto change) {
    ClientPlan changed = plan();
    change(changed);
    expect_invalid(PlannedClient::create(changed, {}, source, {5}).error(), "statement is not that of");
  };
  refused([](ClientPlan& p) { p.noise = NoiseMultiplier::of(1.9); });
  refused([](ClientPlan& p) { p.batch = Rows::of(11); });
  refused([](ClientPlan& p) { p.rounds = Steps::of(21); });
  refused([](ClientPlan& p) { p.statement.event = NonPrivateEvent{"other"}; });
}

TEST(PlannedClient, RefusesAServerThatAsksForOtherRounds) {
  std::array<Ones, 2> sources{Ones(100), Ones(100)};
  std::vector<PlannedClient> clients;
  for (Ones& source : sources) clients.push_back(client(source));
  ReplayRandom random = ReplayRandom::create(3).value();
  for (const std::uint64_t rounds : {19U, 21U}) {
    expect_invalid(train_asynchronously(clients, random, {.rounds = rounds}).error(), "has planned 20 rounds");
  }
  EXPECT_EQ(sources[0].asked, 0U);
  const std::vector<float> model = train_asynchronously(clients, random, {.rounds = 20}).value();
  EXPECT_LT(model[0], 5 - 0.5 * 2 * 20 * 0.1) << "both clients pull down, by 0.1 a round or so";
  for (const PlannedClient& one : clients) EXPECT_EQ(one.steps(), 20U);
}

}  // namespace
}  // namespace noisefloor
