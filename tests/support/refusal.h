// Checks of refusals: the right code, and a message that names what was wrong but no private value. Tests use 987 as
// the first digits of private values.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "noisefloor/base/result.h"

namespace noisefloor::testing {

inline void expect_invalid(const Error& error, const std::string& named) {
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << error.message;
  EXPECT_TRUE(error.message.find(named) != std::string::npos) << error.message << "\nlacks: " << named;
  EXPECT_EQ(error.message.find("987"), std::string::npos) << "a private value leaked: " << error.message;
}

}  // namespace noisefloor::testing
