#include "noisefloor/pate/voting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/random/bit_stream.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

PateVotes rules_of(Aggregator aggregator, double noise) {
  return {.aggregator = aggregator,
          .noise = NoiseScale::make(noise).value(),
          .threshold = 60,
          .threshold_noise = has_threshold(aggregator) ? std::optional(NoiseScale::of(10)) : std::nullopt,
          .target_epsilon = Epsilon::of(10),
          .target_delta = Delta::of(1e-5)};
}

VoteCount count_of(std::uint64_t queries, std::uint64_t answers) {
  return {Steps::make(queries).value(), Steps::make(answers).value()};
}

Poll poll_of(const Votes& votes, std::size_t queries) {
  return {.votes = std::vector<Votes>(queries, votes),
          .teachers = std::accumulate(votes.begin(), votes.end(), std::size_t{0})};
}

VoteTerms terms_of(PateVotes rules, VoteCount count, std::size_t classes, std::size_t teachers) {
  VoteTerms terms{.rules = rules,
                  .count = count,
                  .adjacency = Adjacency::kAddRemove,
                  .unit = PrivacyUnit::kRow,
                  .queries = {},
                  .classes = {},
                  .teachers = teachers,
                  .configuration = "{}",
                  .data = {}};
  for (std::uint64_t i = 0; i < count.queries.value(); ++i) terms.queries.push_back(1000 + i);
  for (std::size_t j = 0; j < classes; ++j) terms.classes.push_back("class " + std::to_string(j));
  return terms;
}

double normal_tail(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }

// Detects noise that is 5 % too small on either the counts or the threshold, and noise that is left out.
TEST(Voting, HasTheNoiseThatItStates) {
  const std::uint64_t queries = 200'000;
  const Poll poll = poll_of({60, 40}, queries);
  const auto refused_and_wrong = [&](double noise, double threshold_noise) {
    ReplayRandom random = ReplayRandom::create(26).value();
    PateVotes rules = rules_of(Aggregator::kConfident, noise);
    rules.threshold_noise = NoiseScale::make(threshold_noise).value();
    rules.threshold = 65;
    const auto answers = answer_queries(poll, rules, count_of(queries, queries), random).value();
    std::uint64_t refused = 0;
    std::uint64_t wrong = 0;
    for (const QueryAnswer& one : answers) {
      if (one.source == LabelSource::kNone) {
        ++refused;
      } else if (one.label == 1) {
        ++wrong;
      }
    }
    return std::pair(refused, wrong);
  };
  // 60 + N ≥ 65 in whole votes: N > 4.5; and a tie is for the first class.
  const double stays = normal_tail(4.5 / 10);
  const double loses = normal_tail(20.5 / (15 * std::sqrt(2.0)));
  const auto check = [&](std::pair<std::uint64_t, std::uint64_t> found) {
    const std::uint64_t answered = queries - found.first;
    return std::min(testing::coin_p_value(found.first, queries, 1 - stays),
                    testing::coin_p_value(found.second, answered, loses));
  };
  EXPECT_GT(check(refused_and_wrong(15, 10)), testing::kAlpha);
  EXPECT_LT(check(refused_and_wrong(15 * 0.95, 10)), testing::kAlpha);
  EXPECT_LT(check(refused_and_wrong(15, 10 * 0.95)), testing::kAlpha);
  EXPECT_LT(check(refused_and_wrong(0.1, 10)), testing::kAlpha);
}

TEST(Voting, HasLaplaceNoiseThatItStates) {
  const std::uint64_t queries = 200'000;
  const Poll poll = poll_of({20, 15}, queries);
  const auto p_value = [&](double scale) {
    ReplayRandom random = ReplayRandom::create(27).value();
    const auto answers =
        answer_queries(poll, rules_of(Aggregator::kLnMax, scale), count_of(queries, queries), random).value();
    std::uint64_t wrong = 0;
    for (const QueryAnswer& one : answers) wrong += one.label == 1 ? 1U : 0U;
    // The difference of two discrete Laplace numbers is at least 6.
    const double r = std::exp(-1 / 4.0);
    const auto weight = [&](int x) { return (1 - r) / (1 + r) * std::pow(r, std::abs(x)); };
    double loses = 0;
    for (int x = -300; x <= 300; ++x) {
      for (int y = x + 6; y <= 300; ++y) loses += weight(x) * weight(y);
    }
    return testing::coin_p_value(wrong, queries, loses);
  };
  EXPECT_GT(p_value(4), testing::kAlpha);
  EXPECT_LT(p_value(4 * 0.95), testing::kAlpha);
}

TEST(Voting, StopsWhenTheAnswersThatWerePaidForAreUsedUp) {
  ReplayRandom random = ReplayRandom::create(1).value();
  const Poll poll = poll_of({100, 0}, 50);
  const auto answers = answer_queries(poll, rules_of(Aggregator::kConfident, 5), count_of(50, 7), random).value();
  EXPECT_EQ(answers.size(), 7) << "all are far above the threshold";
  const auto comparisons = answer_queries(poll, rules_of(Aggregator::kConfident, 5), count_of(20, 20), random).value();
  EXPECT_EQ(comparisons.size(), 20) << "no query without its comparison";
}

TEST(Voting, RefusesCountsThatAreNotOneVoteOfEachTeacher) {
  ReplayRandom random = ReplayRandom::create(1).value();
  const PateVotes rules = rules_of(Aggregator::kGnMax, 5);
  Poll missing = poll_of({60, 40}, 2);
  missing.votes[1] = {60, 39};
  EXPECT_FALSE(answer_queries(missing, rules, count_of(2, 2), random).has_value());
  Poll twice = poll_of({60, 40}, 2);
  twice.votes[1] = {61, 40};
  EXPECT_FALSE(answer_queries(twice, rules, count_of(2, 2), random).has_value());
  Poll other = poll_of({60, 40}, 2);
  other.votes[1] = {60, 20, 20};
  EXPECT_FALSE(answer_queries(other, rules, count_of(2, 2), random).has_value());
  EXPECT_FALSE(answer_queries(Poll{}, rules, count_of(1, 1), random).has_value());
}

TEST(Voting, TakesTheStudentsOwnLabelWhereTeachersDoNotDisagree) {
  ReplayRandom random = ReplayRandom::create(5).value();
  PateVotes rules = rules_of(Aggregator::kInteractive, 2);
  rules.threshold = 50;
  rules.threshold_noise = NoiseScale::of(1);
  rules.rounds = 2;
  Poll poll = poll_of({95, 5}, 6);
  std::vector<Prediction> predictions{{0.95F, 0.05F},  // as the teachers: nothing to learn
                                      {0.02F, 0.98F},  // the teachers disagree: they answer
                                      {0.6F, 0.4F}};   // not sure, and the teachers say nothing that is far from it
  poll.predict = [&](std::span<const QueryAnswer> so_far, std::size_t first, std::size_t last) {
    EXPECT_EQ(so_far.size(), 3);
    EXPECT_EQ(first, 3);
    EXPECT_EQ(last, 6);
    return Result<std::vector<Prediction>>(predictions);
  };
  const auto answers = answer_queries(poll, rules, count_of(6, 6), random).value();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answers[i], (QueryAnswer{LabelSource::kTeachers, 0})) << "round 1";
  EXPECT_EQ(answers[3], (QueryAnswer{LabelSource::kStudent, 0}));
  EXPECT_EQ(answers[4], (QueryAnswer{LabelSource::kTeachers, 0}));
  EXPECT_EQ(answers[5].source, LabelSource::kNone);
  // A prediction that is no probability moves the comparison by the number of teachers at most.
  predictions.assign(3, {-1e30F, std::nanf("")});
  EXPECT_TRUE(answer_queries(poll, rules, count_of(6, 6), random).has_value());
  predictions.assign(2, {0.5F, 0.5F});
  EXPECT_FALSE(answer_queries(poll, rules, count_of(6, 6), random).has_value());
}

TEST(Voting, StatesTheSameWhateverTheVotesAre) {
  const VoteTerms terms = terms_of(rules_of(Aggregator::kConfident, 20), count_of(30, 10), 2, 100);
  const DpStatement stated = votes_statement(terms).value();
  for (const Votes& votes : {Votes{100, 0}, Votes{50, 50}}) {
    const Question question = votes_question(terms, std::make_shared<Poll>(poll_of(votes, 30))).value();
    EXPECT_EQ(question.statement, stated);
    SecureRandom random = SecureRandom::create().value();
    const Answer answer = answer_of(question, {"test"}, random).value();
    EXPECT_EQ(answer.statement, stated) << "refusals are charged, and answers that were not given";
    const auto labels = labels_of(answer).value();
    EXPECT_EQ(labels.front().query, 1000);
    EXPECT_LE(labels.size(), 30);
  }
}

TEST(Voting, AnswerGivesBackItsLabels) {
  const VoteTerms terms = terms_of(rules_of(Aggregator::kGnMax, 2), count_of(4, 4), 3, 90);
  Poll poll = poll_of({90, 0, 0}, 4);
  poll.votes[2] = {0, 0, 90};
  const Question question = votes_question(terms, std::make_shared<Poll>(poll)).value();
  SecureRandom random = SecureRandom::create().value();
  const Answer answer = answer_of(question, {"test"}, random).value();
  const auto labels = labels_of(parse_answer(to_json(answer)).value()).value();
  ASSERT_EQ(labels.size(), 4);
  EXPECT_EQ(labels[2].query, 1002);
  EXPECT_EQ(labels[2].answer, (QueryAnswer{LabelSource::kTeachers, 2}));
  EXPECT_EQ(labels[0].answer.label, 0);
  Answer other = answer;
  other.mechanism = "laplace";
  EXPECT_FALSE(labels_of(other).has_value());
}

// The only figure that depends on how clear the votes were comes with noise that was paid for; everything else in the
// answer follows from labels and settings.
TEST(Voting, PublishesNoDataDependentCostThatIsNotSanitised) {
  VoteTerms terms = terms_of(rules_of(Aggregator::kGnMax, 40), count_of(50, 50), 2, 250);
  const auto poll = std::make_shared<Poll>(poll_of({240, 10}, 50));
  SecureRandom random = SecureRandom::create().value();
  const Answer plain = answer_of(votes_question(terms, poll).value(), {"test"}, random).value();
  EXPECT_EQ(find_value(plain, "data_dependent_divergence"), nullptr);
  for (const AnswerFact& fact : plain.content.facts) EXPECT_EQ(fact.name.find("dependent"), std::string::npos);

  terms.sanitised = Sanitising{15, 0.4 / 15, NoiseScale::of(20), Delta::of(1e-6)};
  const DpStatement with = votes_statement(terms).value();
  EXPECT_GT(pld_epsilon(with.event, with.adjacency, Delta::of(1e-5)).value().lower,
            pld_epsilon(plain.statement.event, with.adjacency, Delta::of(1e-5)).value().upper)
      << "the number is charged";
  // Detects the mutant that releases the number as it is: all of its draws are equal.
  const SmoothedBound bound = SmoothedBound::create(NoiseScale::of(40), 2, 15, VoteNoise::kDiscrete).value();
  const double exact = 50 * bound.cost({240, 10});
  const double scale = 20 * smooth_sensitivity(bound, poll->votes, 0.4 / 15).value();
  const Question question = votes_question(terms, poll).value();
  double above = 0;
  double far = 0;
  constexpr int kDraws = 60;
  for (int i = 0; i < kDraws; ++i) {
    const Answer answer = answer_of(question, {"test"}, random).value();
    EXPECT_EQ(answer.statement, with);
    const double released = std::get<double>(find_value(answer, "data_dependent_divergence")->value);
    EXPECT_EQ(released, std::round(released * 1024) / 1024);
    above += released > exact ? 1 : 0;
    far += std::fabs(released - exact) > 0.5 * scale ? 1 : 0;
  }
  EXPECT_GT(above, 0.25 * kDraws);
  EXPECT_LT(above, 0.75 * kDraws);
  EXPECT_GT(far, 0.15 * kDraws) << "numbers below 0 are 0";
}

TEST(PlanVotes, FindsHowManyAnswersFit) {
  PateVotes rules = rules_of(Aggregator::kGnMax, 40);
  rules.target_epsilon = Epsilon::of(2);
  const PlannedVotes plan = plan_votes(rules, Adjacency::kAddRemove, 9000).value();
  EXPECT_TRUE(plan.calibrated);
  EXPECT_EQ(plan.count.answers.value(), 201) << "floor(0.12578 · 40²)";
  EXPECT_LE(plan.epsilon.upper, 2);
  rules.answers = {};
  rules.queries = Steps::of(202);
  EXPECT_EQ(plan_votes(rules, Adjacency::kAddRemove, 9000).error().code, ErrorCode::kBudgetExhausted);
  EXPECT_FALSE(plan_votes(rules, Adjacency::kAddRemove, 100).has_value()) << "more queries than examples";

  PateVotes confident = rules_of(Aggregator::kConfident, 60);
  confident.threshold_noise = NoiseScale::of(150);
  confident.queries = Steps::of(640);
  confident.target_epsilon = Epsilon::of(2);
  const PlannedVotes answered = plan_votes(confident, Adjacency::kAddRemove, 9000).value();
  // μ² = 2k/σ² + Q/σ₁² = 0.50155².
  EXPECT_EQ(answered.count.answers.value(), 401);
  EXPECT_EQ(answered.count.queries.value(), 640);
}

TEST(PlanVotes, DoesNotDependOnVotes) {
  // There is nothing to pass: the plan is made before a teacher is asked.
  static_assert(!std::is_invocable_v<decltype(plan_votes), PateVotes, Adjacency, std::uint64_t, Poll>);
  PateVotes confident = rules_of(Aggregator::kConfident, 60);
  EXPECT_FALSE(votes_event(confident, count_of(10, 11)).has_value());
  confident.threshold_noise.reset();
  EXPECT_FALSE(votes_event(confident, count_of(10, 10)).has_value());
}

}  // namespace
}  // namespace noisefloor
