#include "noisefloor/engine/expression.h"

#include <gtest/gtest.h>

#include "noisefloor/engine/relation.h"

namespace noisefloor::engine {
namespace {

const Expression kI = column("i", Type::kInteger);
const Expression kX = column("x", Type::kNumber);
const Expression kT = column("t", Type::kText);
const Expression kD = column("d", Type::kDate);

bool take(Function function, Type type, std::vector<Expression> arguments) { return takes(function, type, arguments); }

TEST(Expression, TakesArgumentsOfItsTypesAlone) {
  EXPECT_TRUE(take(Function::kAdd, Type::kInteger, {kI, kI}));
  EXPECT_TRUE(take(Function::kAdd, Type::kNumber, {kI, kX}));
  EXPECT_FALSE(take(Function::kAdd, Type::kInteger, {kI, kX}));
  EXPECT_FALSE(take(Function::kAdd, Type::kInteger, {kI}));
  EXPECT_TRUE(take(Function::kAdd, Type::kDate, {kD, kI}));
  EXPECT_TRUE(take(Function::kSubtract, Type::kInteger, {kD, kD}));
  EXPECT_FALSE(take(Function::kMultiply, Type::kInteger, {kD, kD}));
  EXPECT_FALSE(take(Function::kModulo, Type::kNumber, {kX, kX}));
  EXPECT_FALSE(take(Function::kEqual, Type::kTruth, {kI, kT}));
  EXPECT_TRUE(take(Function::kEqual, Type::kTruth, {kI, kX}));
  EXPECT_FALSE(take(Function::kLike, Type::kTruth, {kT, kT}));
  EXPECT_FALSE(take(Function::kIn, Type::kTruth, {kT, null_of(Type::kText)}));
  EXPECT_FALSE(take(Function::kDateTrunc, Type::kDate, {constant(std::string("century")), kD}));
  EXPECT_FALSE(take(Function::kSubstring, Type::kText, {kT, constant(std::int64_t{0}), constant(std::int64_t{1})}));
}

TEST(Expression, TakesOnlyBoundsWhoseStepsAreExact) {
  const auto steps = [](double lower, double upper, double step) {
    return take(Function::kSteps, Type::kInteger, {kX, constant(lower), constant(upper), constant(step)});
  };
  EXPECT_TRUE(steps(0, 5000, 0.01));
  EXPECT_FALSE(steps(5000, 0, 0.01));
  EXPECT_FALSE(steps(0, 5000, 0));
  EXPECT_FALSE(steps(0, 1e17, 1));
  EXPECT_FALSE(take(Function::kSteps, Type::kInteger, {kX, kX, constant(1.0), constant(1.0)}));
}

TEST(ExpressionDeathTest, EndsTheProgramAtACallThatDoesNotFit) {
  EXPECT_DEATH(static_cast<void>(call(Function::kNot, Type::kTruth, {kI})), "arguments of the types");
  EXPECT_DEATH(static_cast<void>(constant(1e300)), "within 1e150");
}

TEST(Relation, NamesItsColumns) {
  const RelationPtr visits = relation(Scan{"visits", {{"pid", Type::kInteger}, {"cost", Type::kNumber}}});
  const RelationPtr people = relation(Scan{"people", {{"id", Type::kInteger}, {"sex", Type::kText}}});
  const auto joined = [&](JoinKind kind) { return columns_of(*relation(Join{kind, visits, people, {{"pid", "id"}}})); };
  EXPECT_EQ(joined(JoinKind::kInner).size(), 4U);
  EXPECT_EQ(joined(JoinKind::kAnti), columns_of(*visits));
  const GroupRows groups{.input = visits,
                         .keys = {{"who", column("pid", Type::kInteger)}},
                         .folds = {{"n", GroupRows::Fold::kCountRows, {}},
                                   {"most", GroupRows::Fold::kMax, column("cost", Type::kNumber)}}};
  const std::vector<NamedColumn> expected = {{"who", Type::kInteger}, {"n", Type::kInteger}, {"most", Type::kNumber}};
  EXPECT_EQ(columns_of(*relation(groups)), expected);
  const NumberRows numbered{.input = visits, .partition = {}, .order = {}, .name = "place"};
  EXPECT_EQ(columns_of(*relation(numbered)).back(), (NamedColumn{"place", Type::kInteger}));
}

}  // namespace
}  // namespace noisefloor::engine
