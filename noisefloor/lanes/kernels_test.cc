// How exact the lanes' own functions are: the bounds on gradients (tests/support/gradient_oracle.h) rest on these.
#include "noisefloor/lanes/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/gradient_oracle.h"

namespace noisefloor::lanes {
namespace {

using testing::kExpUnits;
using testing::kTanhUnits;
using testing::kUnit;

class KernelsTest : public ::testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!is_supported(GetParam())) GTEST_SKIP() << "this processor does not have the instruction set";
  }
  [[nodiscard]] const Kernels& kernels() const { return kernels_for(GetParam()); }

  alignas(64) std::array<float, kMostLanes> numbers_{};
  alignas(64) std::array<float, 2 * kMostLanes> outputs_{};
};

// Every 997th float from the smallest normal one to 40, of both signs.
TEST_P(KernelsTest, TanhIsExactToFourUnits) {
  constexpr std::uint32_t kStep = 997;
  const auto last = std::bit_cast<std::uint32_t>(40.0F);
  for (auto bits = std::bit_cast<std::uint32_t>(0x1p-126F); bits < last;) {
    std::array<float, kMostLanes> given{};
    for (std::size_t i = 0; i < kernels().lanes; ++i, bits += kStep) {
      given[i] = (i % 2 == 0 ? 1.0F : -1.0F) * std::bit_cast<float>(bits);
    }
    numbers_ = given;
    kernels().tanh(numbers_.data(), 1);
    for (std::size_t i = 0; i < kernels().lanes; ++i) {
      const double exact = std::tanh(static_cast<double>(given[i]));
      ASSERT_NEAR(numbers_[i], exact, kTanhUnits * kUnit * std::abs(exact)) << "tanh of " << given[i];
    }
  }
}

// With two classes, softmax of (0, -x) is e^-x / (1 + e^-x).
TEST_P(KernelsTest, SoftmaxIsExactToTheUnitsOfExp) {
  const std::size_t lanes = kernels().lanes;
  const double allowed = (kExpUnits + std::sqrt(2.0)) * kUnit;
  for (double begin = 0; begin < 80; begin += 0.003) {
    std::array<float, kMostLanes> given{};
    for (std::size_t i = 0; i < lanes; ++i) {
      given[i] = static_cast<float>(-begin - 0.00017 * static_cast<double>(i));
      outputs_[i] = 0.0F;
      outputs_[lanes + i] = given[i];
    }
    const std::array<std::int32_t, kMostLanes> labels{};
    std::array<float, kMostLanes> losses{};
    kernels().cross_entropy(outputs_.data(), 2, lanes, labels.data(), 1.0F, losses.data());
    for (std::size_t i = 0; i < lanes; ++i) {
      const double power = std::exp(static_cast<double>(given[i]));
      ASSERT_NEAR(outputs_[lanes + i], power / (1 + power), allowed * power) << "the share of " << given[i];
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<InstructionSet>& info) {
  const std::array<const char*, 3> names{"portable", "avx2", "avx512"};
  return names.at(static_cast<std::size_t>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest,
                         ::testing::Values(InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512),
                         name_of);

}  // namespace
}  // namespace noisefloor::lanes
