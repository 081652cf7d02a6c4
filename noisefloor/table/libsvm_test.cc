#include "noisefloor/table/libsvm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "noisefloor/base/file.h"
#include "tests/support/gzip.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

LibsvmOptions options() { return {.dimension = 4, .classes = {"-1", "1"}, .lower = -10, .upper = 10}; }

Result<Dataset> read(const std::string& text, const LibsvmOptions& how, std::size_t piece = 65536) {
  NF_TRY(ByteSource source, ByteSource::of("t.svm", text, piece));
  return read_libsvm(std::move(source), how, OddRecords::are_errors());
}

void expect_refusal(const std::string& text, const std::string& message, const LibsvmOptions& how = options()) {
  for (std::size_t piece : {1U, 65536U}) {
    const Result<Dataset> data = read(text, how, piece);
    ASSERT_FALSE(data.has_value()) << text;
    EXPECT_EQ(data.error().code, ErrorCode::kInputData);
    EXPECT_EQ(data.error().message.find(message), 0U) << data.error().message << "\nlacks: " << message;
    EXPECT_EQ(data.error().message.find("987"), std::string::npos) << data.error().message;
  }
}

TEST(Libsvm, ReadsExamples) {
  const std::string text =
      "# made for a test\n"
      "-1 1:0.5 4:-2\n"
      "+1\t2:+3  3:1e400 # a comment: 9:9\r\n"
      "1.0 \n"
      "-1.00 4:7";
  const Dataset data = read(text, options()).value();
  EXPECT_TRUE(check_dataset(data).has_value());
  EXPECT_EQ(data, (Dataset{.rows = 4,
                           .shape = {4},
                           .features = {0.5, 0, 0, -2, 0, 3, 10, 0, 0, 0, 0, 0, 0, 0, 0, 7},
                           .labels = {0, 1, 1, 0},
                           .classes = 2,
                           .targets = {}}));
  for (std::size_t piece : {1U, 2U, 7U}) EXPECT_EQ(read(text, options(), piece).value(), data);
}

TEST(Libsvm, TakesLabelsAsTextsAndNumbers) {
  LibsvmOptions how = options();
  how.classes = {"2", "spam", "0.5"};
  EXPECT_EQ(read("spam 1:1\n5e-1\n+2.0\n", how).value().labels, (std::vector<std::int32_t>{1, 2, 0}));
  expect_refusal("Spam 1:1\n", "t.svm:1: the label must be one of the 3 declared classes", how);
}

TEST(Libsvm, ScalesAndNormalises) {
  LibsvmOptions how = options();
  how.scaling = Scaling::kUnit;
  EXPECT_EQ(read("1 1:10 2:-99\n", how).value().features, (std::vector<float>{1, 0, 0.5, 0.5}));
  how.scaling = Scaling::kNone;
  how.normalise = true;
  EXPECT_EQ(read("1 1:3 2:-4\n-1\n", how).value().features, (std::vector<float>{0.6F, -0.8F, 0, 0, 0, 0, 0, 0}));
  // Values are clamped before the norm is taken; absent values are clamped too.
  how.lower = 1;
  EXPECT_EQ(read("1 1:-99\n", how).value().features, (std::vector<float>{0.5, 0.5, 0.5, 0.5}));
}

TEST(Libsvm, RefusesBadFiles) {
  expect_refusal("", "t.svm:1: the file holds no examples");
  expect_refusal("# nothing\n", "t.svm:2: the file holds no examples");
  expect_refusal("1 1:1\n\n1 1:1\n", "t.svm:2: expected a label");
  expect_refusal("1 1:1\n  \n", "t.svm:2: expected a label");
  for (const char* label : {"987", "0", "1x", "nan", "-1:1", "--1", "1,-1"}) {
    expect_refusal(fmt::format("1 1:1\n{} 1:1\n", label), "t.svm:2: the label must be one of the 2 declared classes");
  }
  expect_refusal("1 0:987\n", "t.svm:1: an index of 0");
  expect_refusal("1 5:987\n", "t.svm:1: an index above the declared dimension, 4");
  expect_refusal("1 98799999999999999999999999:1\n", "t.svm:1: an index above the declared dimension, 4");
  expect_refusal("1 2:987 1:1\n", "t.svm:1: indices must increase");
  expect_refusal("1 2:987 2:1\n", "t.svm:1: indices must increase");
  for (const char* pair : {"987", "-1:987", "+1:987", "a:987", "1 :987", "qid:987", ":987", "1.0:987"}) {
    expect_refusal(fmt::format("1 {}\n", pair), "t.svm:1: expected pairs of the form index:value");
  }
  for (const char* value : {"", "nan", "inf", "0x987", "987x", "987:1", "9,87"}) {
    expect_refusal(fmt::format("1 1:1\n1 2:{}\n", value), "t.svm:2: a value must be a decimal number");
  }
  expect_refusal(std::string("1 1:1\0\n", 7), "t.svm:1: a value must be a decimal number");
  LibsvmOptions how = options();
  how.max_line_bytes = 8;
  EXPECT_EQ(read("1 1:9876\n1 1:9876", how).value().rows, 2U);
  expect_refusal("1 1:1\n1 1:98765\n", "t.svm:2: a line of more than 8 bytes", how);
  expect_refusal("1 1:" + std::string(2'000'000, '9'), "t.svm:1: a line of more than 8 bytes", how);
}

TEST(Libsvm, RefusesOptionsWithoutMeaning) {
  const auto refusal = [](auto&& change) {
    LibsvmOptions how = options();
    change(how);
    EXPECT_EQ(read_libsvm("/no/such/file", how).error(), read("", how).error());
    return read("", how).error();
  };
  expect_invalid(refusal([](LibsvmOptions& o) { o.dimension = 0; }), "dimension");
  expect_invalid(refusal([](LibsvmOptions& o) { o.dimension = std::size_t{1} << 40; }), "dimension");
  expect_invalid(refusal([](LibsvmOptions& o) { o.upper = -10; }), "needs finite bounds");
  expect_invalid(refusal([](LibsvmOptions& o) { o.classes = {"1"}; }), "at least 2");
  expect_invalid(refusal([](LibsvmOptions& o) { o.classes = {"1", "+1.0"}; }), "'+1.0' is the same as one before");
  expect_invalid(refusal([](LibsvmOptions& o) { o.classes = {"a", "a"}; }), "'a' is the same as one before");
  EXPECT_EQ(read_libsvm("/no/such/file", options()).error().code, ErrorCode::kIo);
}

RC_GTEST_PROP(Libsvm, WrittenFilesRoundTrip, ()) {
  LibsvmOptions how = options();
  how.dimension = *rc::gen::inRange<std::size_t>(1, 20);
  Dataset data{.rows = *rc::gen::inRange<std::size_t>(1, 20),
               .shape = {how.dimension},
               .features = {},
               .labels = {},
               .classes = 2,
               .targets = {}};
  std::string text;
  for (std::size_t row = 0; row < data.rows; ++row) {
    data.labels.push_back(*rc::gen::inRange(0, 2));
    text += data.labels.back() == 0 ? *rc::gen::element<std::string>("-1", "-1.0", "-1e0")
                                    : *rc::gen::element<std::string>("1", "+1", "01", "1.");
    for (std::size_t i = 1; i <= how.dimension; ++i) {
      data.features.push_back(static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 100);
      if (data.features.back() != 0 || *rc::gen::arbitrary<bool>()) {
        text += fmt::format("{}{}:{}", *rc::gen::element<std::string>(" ", "\t", "  "), i, data.features.back());
      }
    }
    text += *rc::gen::element<std::string>("\n", "\r\n", " \n", " # 1:2\n");
  }
  RC_ASSERT(read(text, how, *rc::gen::inRange<std::size_t>(1, 50)).value() == data);
}

RC_GTEST_PROP(Libsvm, NormsAreOne, (std::vector<double> values)) {
  LibsvmOptions how = options();
  how.dimension = std::max<std::size_t>(values.size(), 1);
  how.normalise = true;
  std::string text = "1";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) text += fmt::format(" {}:{}", i + 1, values[i]);
  }
  const Dataset data = read(text, how).value();
  double square = 0;
  for (float value : data.features) square += static_cast<double>(value) * value;
  RC_ASSERT(square == 0 || std::abs(square - 1) < 1e-5);
}

TEST(Libsvm, ReadsLargeFiles) {
  const testing::TemporaryFolder folder;
  std::string text;
  constexpr std::size_t kRows = 100'000;
  for (std::size_t i = 0; i < kRows; ++i)
    text += fmt::format("{} 1:{} 3:0.{} 4:-{}\n", i % 2 == 0 ? "-1" : "+1", i % 7, i, i % 9);
  ASSERT_TRUE(write_file(folder.path("t"), testing::gzip(text)).has_value());
  const Dataset data = read_libsvm(folder.path("t"), options()).value();
  ASSERT_EQ(data.rows, kRows);
  EXPECT_FLOAT_EQ(data.example(98'765)[2], 0.98765F);
  EXPECT_EQ(data.labels[98'765], 1);
}

}  // namespace
}  // namespace noisefloor
