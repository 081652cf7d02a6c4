#include "noisefloor/base/result.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace noisefloor {
namespace {

constexpr ErrorCode kAllCodes[] = {
    ErrorCode::kInternal, ErrorCode::kInvalidArgument,    ErrorCode::kBudgetExhausted, ErrorCode::kInputData,
    ErrorCode::kIo,       ErrorCode::kVerificationFailed, ErrorCode::kProtocol};

Result<int> half(int n) {
  if (n % 2 != 0) return invalid_argument("n must be even; got " + std::to_string(n));
  return n / 2;
}

Result<int> quarter(int n) {
  NF_TRY(int h, half(n));
  NF_TRY(int q, half(h));
  return q;
}

Result<void> must_be_multiple_of_four(int n) {
  NF_TRY_VOID(quarter(n));
  return success();
}

TEST(Result, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(exit_code(ErrorCode::kInternal), 1);
  EXPECT_EQ(exit_code(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(ErrorCode::kBudgetExhausted), 3);
  EXPECT_EQ(exit_code(ErrorCode::kInputData), 4);
  EXPECT_EQ(exit_code(ErrorCode::kIo), 5);
  EXPECT_EQ(exit_code(ErrorCode::kVerificationFailed), 6);
  EXPECT_EQ(exit_code(ErrorCode::kProtocol), 7);
}

TEST(Result, CodesHaveDistinctNamesAndExitCodes) {
  std::set<int> exits;
  std::set<std::string_view> names;
  for (ErrorCode code : kAllCodes) {
    exits.insert(exit_code(code));
    names.insert(name_of(code));
  }
  EXPECT_EQ(exits.size(), std::size(kAllCodes));
  EXPECT_EQ(names.size(), std::size(kAllCodes));
  EXPECT_FALSE(exits.contains(0));
}

TEST(Result, TryPassesValuesAndReturnsTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(7).error().message, "n must be even; got 7");
  EXPECT_EQ(quarter(6).error().message, "n must be even; got 3");
  EXPECT_TRUE(must_be_multiple_of_four(8).has_value());
  EXPECT_EQ(must_be_multiple_of_four(6).error().code, ErrorCode::kInvalidArgument);
}

TEST(ResultDeathTest, ReadingTheValueOfAFailureEndsTheProcess) {
  EXPECT_DEATH({ [[maybe_unused]] int n = half(3).value(); }, "");
}

}  // namespace
}  // namespace noisefloor
