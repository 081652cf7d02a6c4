#include "noisefloor/plan/closed_form.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

Delta one_over(std::uint64_t rows) { return Delta::make(1 / static_cast<double>(rows)).value(); }

ClosedFormQuestion question(std::uint64_t rows, double epochs, double growth = 0) {
  return {Rows::make(rows).value(), epochs, one_over(rows), growth};
}

double exact(const ProactiveSetting& setting) {
  return pld_epsilon(setting.sizes.event(setting.rows, setting.noise, Adjacency::kAddRemove, Draw::kPoisson).value(),
                     Adjacency::kAddRemove, setting.delta)
      .value()
      .upper;
}

const Condition& named(const std::vector<Condition>& conditions, const std::string& name) {
  for (const Condition& one : conditions) {
    if (one.name == name) return one;
  }
  throw std::out_of_range(name);
}

// Tables 6 to 8: (ε as labelled, σ, s). σ is printed without its last digit in places. Two rows do not follow from E.1
// and are left out: ε = 0.04945 of Table 6 and ε = 3 of Table 8.
struct Printed {
  std::uint64_t rows;
  double epochs;
  double sigma;
  std::uint64_t size;
  double exact;      // ε of K/s rounds, rounded to nearest
  double root;       // γ of (55) for σ
  double root_size;  // the largest s with this γ
};
constexpr std::array<Printed, 18> kPrinted{{
    {10'000, 5, 13.06742, 55, 0.025915, 3.5668, 61},
    {10'000, 5, 8.59143, 103, 0.061352, 4.2765, 119},
    {10'000, 5, 6.05868, 168, 0.122494, 5.2334, 202},
    {10'000, 5, 4.27273, 265, 0.240062, 7.0081, 323},
    {10'000, 5, 3.03241, 400, 0.460840, 11.2794, 453},
    {60'000, 6, 12.10881, 370, 0.043299, 3.6679, 414},
    {60'000, 6, 10.48452, 460, 0.057495, 3.8928, 523},
    {60'000, 6, 9.37379, 543, 0.071482, 4.0936, 625},
    {60'000, 6, 6.6312, 889, 0.138683, 4.9271, 1064},
    {60'000, 6, 5.41887, 1168, 0.202715, 5.6596, 1420},
    {60'000, 6, 4.69244, 1409, 0.265621, 6.3824, 1722},
    {60'000, 6, 3.31648, 2159, 0.506221, 9.6659, 2529},
    {50'000, 7, 9.29838, 417, 0.073590, 3.8655, 473},
    {50'000, 7, 6.57192, 689, 0.143817, 4.6247, 811},
    {50'000, 7, 5.36937, 909, 0.210898, 5.2946, 1088},
    {50'000, 7, 4.65014, 1099, 0.276072, 5.9572, 1322},
    {50'000, 7, 4.16111, 1267, 0.339888, 6.6384, 1520},
    {50'000, 7, 3.28831, 1690, 0.527132, 8.9799, 1953},
}};

TEST(ClosedForm, ReproducesTables6To8InPaperMode) {
  for (const Printed& row : kPrinted) {
    // The ε from which the paper computes the printed σ.
    const double epsilon = 2 * std::log(static_cast<double>(row.rows)) / (row.sigma * row.sigma);
    const ClosedFormPlan plan =
        closed_form_plan(question(row.rows, row.epochs), Epsilon::make(epsilon).value(), GammaMode::kPaper).value();
    EXPECT_EQ(plan.setting.sizes.largest(), row.size) << row.sigma;
    EXPECT_NEAR(plan.setting.noise.value(), row.sigma, 1.1e-5);
  }
}

TEST(ClosedForm, FindsTheRootOfGammaAndTheExactCostOfTheTables) {
  for (const Printed& row : kPrinted) {
    const ClosedFormPlan plan =
        closed_form_plan(question(row.rows, row.epochs), NoiseMultiplier::make(row.sigma).value()).value();
    EXPECT_NEAR(plan.gamma, row.root, 1e-4);
    EXPECT_EQ(std::floor(plan.mean_size), row.root_size);
    // Whole rounds may exceed K by part of a round, which takes at most one row off the sample.
    EXPECT_NEAR(static_cast<double>(plan.setting.sizes.largest()), row.root_size, 1 + 0.002 * row.root_size);
    const double rounds = std::round(row.epochs * static_cast<double>(row.rows) / static_cast<double>(row.size));
    EXPECT_NEAR(exact({plan.setting.rows, plan.setting.epsilon, plan.setting.delta, plan.setting.noise,
                       SampleSizes::constant(row.size, static_cast<std::uint64_t>(rounds)).value()}),
                row.exact, 2e-6);
  }
}

// (σ, s_max, s_max,asym, ε_target) as printed, and the exact ε at T_min and T_min,asym.
TEST(ClosedForm, ReproducesTables9To11InPaperMode) {
  struct Row {
    std::uint64_t rows;
    double epochs;
    double sigma;
    double epsilon;
    double size;
    double asymptotic;
    double exact;
    double exact_asymptotic;
  };
  for (const Row& row : {Row{10'000, 5, 19.29962, 0.0497, 26, 198, 0.010263, 0.03477},
                         Row{60'000, 6, 12.10881, 0.1521, 288, 3042, 0.037628, 0.13977},
                         Row{50'000, 7, 6.572, 0.5253, 406, 7504, 0.107123, 0.5418}}) {
    const ClosedFormPlan plan =
        closed_form_plan(question(row.rows, row.epochs), NoiseMultiplier::make(row.sigma).value(), GammaMode::kPaper)
            .value();
    EXPECT_NEAR(plan.setting.epsilon.value(), row.epsilon, 5e-5);
    EXPECT_EQ(std::floor(plan.mean_size), row.size);
    EXPECT_EQ(std::floor(plan.mean_size_asymptotic), row.asymptotic);
    const auto cost = [&](double size) {
      const auto whole = static_cast<std::uint64_t>(size);
      const auto rounds = static_cast<std::uint64_t>(row.epochs * static_cast<double>(row.rows)) / whole;
      return exact({plan.setting.rows, plan.setting.epsilon, plan.setting.delta, plan.setting.noise,
                    SampleSizes::constant(whole, rounds).value()});
    };
    EXPECT_NEAR(cost(row.size), row.exact, 0.002 * row.exact);
    EXPECT_NEAR(cost(row.asymptotic), row.exact_asymptotic, 0.02 * row.exact_asymptotic);
  }
}

TEST(ClosedForm, TakesTheSmallestGamma) {
  for (const double sigma : {1.2, 3.0, 6.6, 20.0, 500.0}) {
    for (const double per_epoch : {1e-6, 0.01, 0.3, 5.0}) {
      const double gamma = proactive::gamma(sigma, per_epoch);
      EXPECT_GE(gamma, 2);
      EXPECT_GE(gamma, proactive::gamma_bound(sigma, per_epoch / gamma));
      const double less = gamma * (1 - 1e-10);
      EXPECT_LT(less, proactive::gamma_bound(sigma, per_epoch / less));
      // At this ᾱ all denominators are positive.
      EXPECT_LT(per_epoch / gamma, proactive::h(sigma));
    }
  }
  EXPECT_NEAR(proactive::h(6), 0.42, 0.01);
  EXPECT_NEAR(proactive::h(10), 0.58, 0.01);
  EXPECT_EQ(proactive::g(10), 1 / (std::exp(1.0) * 10));
}

TEST(ClosedForm, InvertsNoiseAndEpsilon) {
  for (const double epsilon : {0.01, 0.05, 0.5, 3.0}) {
    EXPECT_NEAR(proactive::epsilon_for(proactive::sigma_for(epsilon, 1e-5), 1e-5), epsilon, 1e-12 * epsilon);
  }
  EXPECT_EQ(proactive::epsilon_for(std::sqrt(2.0) * (1 - 1e-9), 1e-5), HUGE_VAL);
}

// Attacks the statement itself: whatever the theorems allow, the certified accountant must confirm.
RC_GTEST_PROP(ClosedFormProperty, AllowsOnlyPrivatePlans, ()) {
  const auto rows = *rc::gen::inRange<std::uint64_t>(1000, 2'000'000);
  const double epochs = std::exp(*rc::gen::inRange(-100, 500) / 100.0);
  const double epsilon = std::exp(*rc::gen::inRange(-500, 250) / 100.0);
  const double delta = std::exp(-*rc::gen::inRange(300, 3000) / 100.0);
  const double growth = *rc::gen::element(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0);
  const ClosedFormQuestion asked{Rows::make(rows).value(), epochs, Delta::make(delta).value(), growth};
  const auto plan = closed_form_plan(asked, Epsilon::make(epsilon).value());
  if (!plan.has_value()) return;
  const ProactiveSetting& setting = plan.value().setting;
  RC_ASSERT(all_hold(theorem_b4(setting)));
  RC_ASSERT(exact(setting) <= epsilon);
  // The more general theorem allows whatever the simpler one allows.
  if (all_hold(theorem_3_1(setting))) RC_ASSERT(all_hold(theorem_b4(setting)));
}

// The accountant also confirms whatever Theorem B.2 allows, with as little noise as it requires.
TEST(ClosedForm, AllowsOnlyPrivatePlansByTheoremB2) {
  int held = 0;
  for (const double epsilon : {0.05, 0.2, 1.0}) {
    for (const double noise : {5.0, 12.0, 30.0}) {
      for (const std::uint64_t size : {5U, 50U, 200U}) {
        const ProactiveSetting setting{Rows::of(20'000), Epsilon::make(epsilon).value(), Delta::of(5e-5),
                                       NoiseMultiplier::make(noise).value(),
                                       SampleSizes::for_epochs(Rows::of(20'000), 4, size, 0).value()};
        if (!all_hold(theorem_b2(setting))) continue;
        ++held;
        EXPECT_LE(exact(setting), epsilon) << noise << " " << size;
      }
    }
  }
  EXPECT_GT(held, 3);
  // It allows whatever the simplified theorem allows.
  const ClosedFormPlan plan = closed_form_plan(question(10'000, 5), Epsilon::of(0.1)).value();
  for (const Condition& one : theorem_b2(plan.setting)) EXPECT_TRUE(one.holds) << one.statement << " " << one.bound;
}

TEST(ClosedForm, FindsEachConditionThatFails) {
  const ClosedFormPlan plan = closed_form_plan(question(20'000, 10), Epsilon::of(0.2)).value();
  EXPECT_TRUE(all_hold(theorem_3_1(plan.setting)));
  ProactiveSetting loud = plan.setting;
  loud.noise = NoiseMultiplier::make(loud.noise.value() * 0.99).value();
  EXPECT_FALSE(named(theorem_3_1(loud), "(6)").holds);
  EXPECT_FALSE(named(theorem_b4(loud), "(35)").holds);
  ProactiveSetting few = plan.setting;
  few.sizes = SampleSizes::for_epochs(few.rows, 10, 2 * few.sizes.largest(), 0).value();
  EXPECT_FALSE(named(theorem_3_1(few), "(8)").holds);
  EXPECT_FALSE(named(theorem_b4(few), "(34)").holds);
  EXPECT_NE(named(theorem_b4(few), "(34)").remedy.find("rounds"), std::string::npos);
  // An ε above 0.5, fewer rows, fewer epochs than (7), δ above 1/N: the general theorem allows each of them.
  const auto conditions = [](std::uint64_t rows, double epochs, double epsilon, double delta) {
    const ClosedFormQuestion asked{Rows::make(rows).value(), epochs, Delta::make(delta).value()};
    const ClosedFormPlan found = closed_form_plan(asked, Epsilon::make(epsilon).value()).value();
    EXPECT_TRUE(all_hold(theorem_b4(found.setting)));
    return theorem_3_1(found.setting);
  };
  EXPECT_FALSE(conditions(20'000, 10, 0.5, 5e-5)[2].holds);
  EXPECT_FALSE(named(conditions(9'999, 10, 0.2, 1e-4), "N").holds);
  const std::vector<Condition> short_run = conditions(20'000, 4, 0.2, 5e-5);
  EXPECT_FALSE(named(short_run, "(7)").holds);
  EXPECT_NE(named(short_run, "(7)").remedy.find("4.38"), std::string::npos) << named(short_run, "(7)").remedy;
  EXPECT_FALSE(conditions(20'000, 10, 0.2, 1e-4)[1].holds);
}

// The value that a remedy names is enough, and a little less is not.
TEST(ClosedForm, NamesTheNearestValueThatWouldSuffice) {
  const auto setting = [](std::uint64_t rows, double epsilon, double delta, double noise, std::uint64_t size,
                          std::uint64_t rounds) {
    return ProactiveSetting{Rows::make(rows).value(), Epsilon::make(epsilon).value(), Delta::make(delta).value(),
                            NoiseMultiplier::make(noise).value(), SampleSizes::constant(size, rounds).value()};
  };
  const auto number_in = [](const std::string& text) {
    return std::stod(text.substr(text.find_first_of("0123456789")));
  };
  // (32) and B.2's bounds of the largest sample.
  const ProactiveSetting large = setting(20'000, 0.2, 5e-5, 12, 4000, 50);
  for (const auto& [theorem, name] : {std::pair(&theorem_b4, "(32)"), std::pair(&theorem_b2, "r0"),
                                      std::pair(&theorem_b2, "u0"), std::pair(&theorem_b2, "B.2")}) {
    const Condition failed = named(theorem(large), name);
    ASSERT_FALSE(failed.holds) << name;
    const auto most = static_cast<std::uint64_t>(number_in(failed.remedy));
    ASSERT_GT(most, 0U) << failed.remedy;
    ProactiveSetting smaller = large;
    smaller.sizes = SampleSizes::constant(most, (200'000 + most - 1) / most).value();
    EXPECT_TRUE(named(theorem(smaller), name).holds) << name << ": " << failed.remedy;
    smaller.sizes = SampleSizes::constant(most + 2, 200'000 / (most + 2)).value();
    EXPECT_FALSE(named(theorem(smaller), name).holds) << name << ": " << failed.remedy;
  }
  const ProactiveSetting wide = setting(1000, 3, 1e-3, 1.5, 500, 4);
  const auto most = static_cast<std::uint64_t>(number_in(named(theorem_b2(wide), "u1").remedy));
  EXPECT_TRUE(named(theorem_b2(setting(1000, 3, 1e-3, 1.5, most, 4)), "u1").holds);
  EXPECT_FALSE(named(theorem_b2(setting(1000, 3, 1e-3, 1.5, most + 1, 4)), "u1").holds);
  // Theorem 3.1's own bounds.
  const std::vector<Condition> own = theorem_3_1(setting(5'000, 0.7, 1e-3, 9, 10, 1000));
  EXPECT_NEAR(number_in(own[1].remedy), 1 / 5'000.0, 1e-9) << "delta";
  EXPECT_NE(own[2].remedy.find("below 0.5"), std::string::npos);
  EXPECT_NE(named(own, "N").remedy.find("10,000"), std::string::npos);
  EXPECT_GE(number_in(named(own, "(7)").remedy), std::exp(1.0) / 2 * std::sqrt(0.5 + std::log(1000.0)));
}

TEST(ClosedForm, SaysWhatWouldHaveAPlan) {
  expect_invalid(closed_form_plan(question(1000, 50), Epsilon::of(0.01)).error(), "epochs fit");
  expect_invalid(closed_form_plan(question(10'000, 5), NoiseMultiplier::of(1.4)).error(), "sqrt(2)");
  expect_invalid(closed_form_plan(question(10'000, -5), Epsilon::of(0.1)).error(), "epochs");
  expect_invalid(closed_form_plan({Rows::of(100), 5, Delta::of(0.0)}, Epsilon::of(0.1)).error(), "delta above 0");
}

// "For typical values ε = 0.2, γθ² ≈ 2, N = 10,000 we have k ≤ 1000".
TEST(ClosedForm, BoundsHowOftenDataAreReused) {
  const double most = most_epochs(question(10'000, 1), Epsilon::of(0.2));
  EXPECT_GT(most, 900);
  EXPECT_LT(most, 1000);
  EXPECT_TRUE(closed_form_plan(question(10'000, 0.999 * most), Epsilon::of(0.2)).has_value());
  EXPECT_FALSE(closed_form_plan(question(10'000, 1.001 * most), Epsilon::of(0.2)).has_value());
}

}  // namespace
}  // namespace noisefloor
