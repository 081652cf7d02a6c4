#include "noisefloor/training/start_point.h"

#include <gtest/gtest.h>

#include "noisefloor/model/safetensors.h"
#include "noisefloor/training/model_release.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/toy_run.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;

class StartPointTest : public ::testing::Test {
 protected:
  Result<StartPoint> start(const std::string& bytes, const std::optional<std::string>& words = {},
                           const std::string& budget = "trial") {
    return start_point_of(bytes, words, &runs_.ledger(), budget);
  }
  // The weights alone, without what the file says of them.
  static std::string stripped(const std::string& bytes) {
    TensorFile file = value_of(parse_safetensors(bytes));
    file.metadata.clear();
    return to_safetensors(file);
  }

  testing::ToyRuns runs_;
};

TEST_F(StartPointTest, CountsAModelThatTheSameBudgetHasPaidFor) {
  const Sealed model = runs_.train("run");
  const StartPoint point = value_of(start(model.bytes));
  EXPECT_EQ(point.released, model.certificate.released);
  EXPECT_EQ(point.certificate, blake2b(model.signed_certificate));
  EXPECT_EQ(point.reservations, model.certificate.spend->reservations);
  ASSERT_TRUE(point.counted.has_value());
  EXPECT_EQ(*point.counted, model.certificate.statement);
  // A part of the budget is about the same rows, another budget is not.
  BudgetTerms part = testing::terms("part", 0.5, 0, Rule::kBasic);
  part.parent = "trial";
  expect_good(runs_.ledger().create_budget(part));
  expect_good(runs_.ledger().create_budget(testing::terms("other", 1, 0, Rule::kBasic)));
  EXPECT_TRUE(value_of(start(model.bytes, {}, "part")).counted.has_value());
  EXPECT_FALSE(value_of(start(model.bytes, {}, "other")).counted.has_value());
  EXPECT_FALSE(value_of(start(model.bytes, {}, "not made yet")).counted.has_value());
}

// The attack of version 0.1: train without noise, then one private step at a tiny rate from there.
TEST_F(StartPointTest, RefusesAModelThatWasTrainedWithoutPrivacy) {
  const Sealed plain = runs_.train("plain", std::nullopt);
  expect_error(start(plain.bytes), ErrorCode::kInvalidArgument, "without privacy");
  expect_error(start(plain.bytes, "it is public"), ErrorCode::kInvalidArgument, "not declared public");
  expect_error(start(stripped(plain.bytes)), ErrorCode::kInvalidArgument, "start_is_public");
  // A false declaration for weights without a certificate cannot be found. It is named.
  EXPECT_EQ(value_of(start(stripped(plain.bytes), "trained on ImageNet")).declared_public, "trained on ImageNet");
}

TEST_F(StartPointTest, RefusesAModelOfAnotherLedgerOrWithAnotherContent) {
  testing::ToyRuns others;
  const Sealed foreign = others.train("run");
  expect_error(start(foreign.bytes), ErrorCode::kInvalidArgument, "another ledger");
  EXPECT_FALSE(value_of(start(foreign.bytes, "released by the other hospital")).counted.has_value());
  const Sealed own = runs_.train("run");
  TensorFile file = value_of(parse_safetensors(own.bytes));
  file.tensors[0].values[0] += 1;
  expect_error(start(to_safetensors(file)), ErrorCode::kInvalidArgument, "no certificate that holds");
  expect_error(start("not a model"), ErrorCode::kInvalidArgument, "no certificate that holds");
  EXPECT_FALSE(start("not a model", "but public").has_value());
}

// What is refused without a ledger is refused before one is made.
TEST_F(StartPointTest, IsAskedWithoutALedger) {
  const auto anew = [](const std::string& bytes, const std::optional<std::string>& words = {}) {
    return start_point_of(bytes, words, nullptr, "trial");
  };
  const Sealed model = runs_.train("run");
  const Sealed plain = runs_.train("plain", std::nullopt);
  expect_error(anew(model.bytes), ErrorCode::kInvalidArgument, "another ledger");
  expect_error(anew(plain.bytes), ErrorCode::kInvalidArgument, "without privacy");
  expect_error(anew(plain.bytes, "it is public"), ErrorCode::kInvalidArgument, "not declared public");
  EXPECT_EQ(value_of(anew(model.bytes, "released by the other hospital")).declared_public,
            "released by the other hospital");
}

}  // namespace
}  // namespace noisefloor
