#include "noisefloor/training/checkpoint.h"

#include <gtest/gtest.h>

#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/model/safetensors.h"
#include "tests/support/ledger_pieces.h"

namespace noisefloor {
namespace {

using testing::expect_error;

Checkpoint some() {
  Checkpoint checkpoint{"toy", "00ff", {}, "abcd", {3, 8}, 16384};
  checkpoint.state.steps = checkpoint.state.optimizer.steps = 7;
  checkpoint.state.parameters = {1.5F, -0.0F, 1e-40F};
  checkpoint.state.averaged = {1, 2, 3};
  checkpoint.state.optimizer.first = {4, 5, 6};
  checkpoint.state.clip_norm = 0.1;
  checkpoint.state.replayed = true;
  return checkpoint;
}

TEST(Checkpoint, RoundTripsBitForBit) {
  const std::string bytes = to_bytes(some());
  const Result<Checkpoint> back = parse_checkpoint(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_bytes(back.value()), bytes);
  EXPECT_EQ(back.value().state.parameters, some().state.parameters);
  EXPECT_EQ(back.value().reservations, some().reservations);
  EXPECT_TRUE(back.value().state.optimizer.second.empty());
}

TEST(Checkpoint, FindsEveryFlippedBit) {
  const std::string bytes = to_bytes(some());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 5}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const Result<Checkpoint> back = parse_checkpoint(damaged);
      // White space may be replaced by other white space: then it is the same checkpoint.
      if (back) {
        EXPECT_EQ(to_bytes(back.value()), bytes) << i;
      }
    }
    EXPECT_FALSE(parse_checkpoint(std::string_view(bytes).substr(0, i))) << i;
  }
}

// A correct digest does not make anything else correct.
TEST(Checkpoint, ChecksItsMetadata) {
  const auto about = [](const std::string& text) {
    TensorFile file = parse_safetensors(to_bytes(some())).value();
    file.metadata["noisefloor.checkpoint"] = text;
    file.metadata.erase("noisefloor.digest");
    file.metadata["noisefloor.digest"] = to_hex(blake2b(to_safetensors(file)));
    return parse_checkpoint(to_safetensors(file));
  };
  const std::string whole = parse_safetensors(to_bytes(some())).value().metadata.at("noisefloor.checkpoint");
  EXPECT_TRUE(about(whole));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("7"), std::string("{}"), std::string("{\"version\":\"1\"}"),
        with("\"steps\":7", "\"steps\":-7"), with("\"steps\":7", "\"steps\":7.5"),
        with("\"reservations\":[3,8]", "\"reservations\":[\"3\"]"), with("\"version\":1", "\"version\":2")}) {
    expect_error(about(text), ErrorCode::kInputData, "");
  }
}

TEST(Checkpoint, RefusesOtherFiles) {
  expect_error(parse_checkpoint(""), ErrorCode::kInputData, "");
  expect_error(parse_checkpoint(to_safetensors({{{"parameters", {1}, {1}}}, {}})), ErrorCode::kInputData,
               "not a checkpoint");
}

}  // namespace
}  // namespace noisefloor
