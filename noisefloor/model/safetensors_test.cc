#include "noisefloor/model/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace noisefloor {
namespace {

TensorFile sample() {
  return {{{"0.weight", {2, 3}, {1, -2.5F, 3e-39F, -0.0F, std::numeric_limits<float>::max(), 6}},
           {"0.bias", {2}, {7, 8}},
           {"scale", {}, {9}},
           {"none", {0, 4}, {}}},
          {{"certificate", "{\"epsilon\": 3}"}, {"quote", "a \"b\" ε"}}};
}

void expect_bad(const std::string& bytes, const std::string& named) {
  const auto read = parse_safetensors(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInputData);
  EXPECT_NE(read.error().message.find(named), std::string::npos) << read.error().message;
}

std::string with_header(const std::string& header, const std::string& numbers = "") {
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size() % 256);
  bytes[1] = static_cast<char>(header.size() / 256);
  return bytes + header + numbers;
}

TEST(Safetensors, RoundTrips) {
  const TensorFile file = sample();
  const TensorFile read = parse_safetensors(to_safetensors(file)).value();
  EXPECT_EQ(read.tensors, file.tensors);
  EXPECT_EQ(read.metadata, file.metadata);
  EXPECT_EQ(read.find("0.bias")->values[1], 8);
  EXPECT_EQ(read.find("bias"), nullptr);
  EXPECT_TRUE(std::signbit(read.find("0.weight")->values[3]));
}

// A file that is laid out as in the format's own documentation.
TEST(Safetensors, ReadsTheFormat) {
  const std::string numbers("\0\0\x80\x3f\0\0\0\x40", 8);  // 1, 2
  const TensorFile read =
      parse_safetensors(with_header(R"({"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", numbers)).value();
  EXPECT_EQ(read.tensors[0].values, (std::vector<float>{1, 2}));
}

TEST(Safetensors, RefusesEveryTruncationAndWrongHeader) {
  const std::string good = to_safetensors(sample());
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(parse_safetensors(good.substr(0, size))) << size;
  EXPECT_FALSE(parse_safetensors(good + "x"));
  expect_bad("", "short");
  expect_bad(std::string(8, '\xff'), "header");
  expect_bad(with_header("[]"), "JSON object");
  expect_bad(with_header("{"), "JSON object");
  expect_bad(with_header(R"({"x":{"dtype":"F16","shape":[],"data_offsets":[0,4]}})", "abcd"), "F32");
  expect_bad(with_header(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd"), "within");
  expect_bad(with_header(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "abcd"), "within");
  expect_bad(with_header(R"({"x":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", "abcd"),
             "within");
  expect_bad(with_header(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd"), "whole numbers");
  expect_bad(with_header(R"({"x":{"dtype":"F32","shape":[1]}})", "abcd"), "data_offsets");
  expect_bad(
      with_header(
          R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          "abcd"),
      "overlap");
  expect_bad(with_header(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcdefgh"),
             "belong to no tensor");
  expect_bad(with_header(R"({"__metadata__":{"a":1}})"), "metadata");
}

}  // namespace
}  // namespace noisefloor
