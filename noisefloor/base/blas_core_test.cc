#include "noisefloor/base/blas_core.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

namespace noisefloor {
namespace {

TEST(BlasCore, SaysWhatTheProcessorCanDo) {
  const std::optional<std::string> core = openblas_core();
  if (!core) GTEST_SKIP() << "a processor without AVX2";
  EXPECT_TRUE((std::set<std::string>{"SKYLAKEX", "ZEN", "HASWELL"}).contains(*core)) << *core;
}

TEST(BlasCore, NeverOverridesTheUser) {
  ASSERT_EQ(::setenv("OPENBLAS_CORETYPE", "MINE", 1), 0);
  EXPECT_FALSE(set_openblas_core());
  EXPECT_STREQ(::getenv("OPENBLAS_CORETYPE"), "MINE");
  ASSERT_EQ(::unsetenv("OPENBLAS_CORETYPE"), 0);
  EXPECT_EQ(set_openblas_core(), openblas_core().has_value());
  EXPECT_EQ(::getenv("OPENBLAS_CORETYPE") != nullptr, openblas_core().has_value());
  EXPECT_FALSE(set_openblas_core()) << "once";
}

}  // namespace
}  // namespace noisefloor
