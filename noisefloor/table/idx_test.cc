#include "noisefloor/table/idx.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "noisefloor/base/file.h"
#include "tests/support/gzip.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::gzip;

std::string idx(const std::vector<std::uint32_t>& sizes, const std::string& elements, char type = 0x08) {
  std::string bytes{0, 0, type, static_cast<char>(sizes.size())};
  for (std::uint32_t size : sizes) {
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(size >> shift & 0xff);
  }
  return bytes + elements;
}

Result<Dataset> read(const std::string& images, const std::string& labels, std::int32_t classes = 10,
                     std::size_t piece = 65536) {
  NF_TRY(ByteSource image_source, ByteSource::of("images", images, piece));
  NF_TRY(ByteSource label_source, ByteSource::of("labels", labels, piece));
  return read_idx(std::move(image_source), std::move(label_source), classes, OddRecords::are_errors());
}

const std::string kImages = idx({2, 2, 3}, std::string("\0\x33\xff\x01\x02\x03\x04\x05\x06\x07\x08\x09", 12));
const std::string kLabels = idx({2}, std::string("\x09\0", 2));

void expect_refusal(const std::string& images, const std::string& labels, const std::string& message) {
  for (std::size_t piece : {1U, 65536U}) {
    const Result<Dataset> data = read(images, labels, 10, piece);
    ASSERT_FALSE(data.has_value()) << message;
    EXPECT_EQ(data.error().code, ErrorCode::kInputData);
    EXPECT_EQ(data.error().message.find(message), 0U) << data.error().message << "\nlacks: " << message;
  }
}

TEST(Idx, ReadsImagesAndLabels) {
  const Dataset data = read(kImages, kLabels).value();
  EXPECT_TRUE(check_dataset(data).has_value());
  EXPECT_EQ(data.rows, 2U);
  EXPECT_EQ(data.shape, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(data.features[0], 0);
  EXPECT_EQ(data.features[1], 0.2F);
  EXPECT_EQ(data.features[2], 1);
  EXPECT_EQ(data.example(1)[5], 9 / 255.0F);
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{9, 0}));
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(read(idx({1, 3, 1, 2}, "abcdef"), idx({1}, "\x01")).value().shape, (std::vector<std::size_t>{3, 1, 2}));
  for (std::size_t piece : {1U, 5U}) EXPECT_EQ(read(kImages, gzip(kLabels), 10, piece).value(), data);
}

TEST(Idx, ReadsPlainAndCompressedFiles) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path("images.gz"), kImages).has_value());
  ASSERT_TRUE(write_file(folder.path("labels"), gzip(kLabels)).has_value());
  EXPECT_EQ(read_idx(folder.path("images.gz"), folder.path("labels"), 10).value(), read(kImages, kLabels).value());
  EXPECT_EQ(read_idx(folder.path("none"), folder.path("labels"), 10).error().code, ErrorCode::kIo);
  testing::expect_invalid(read_idx(folder.path("none"), folder.path("labels"), 1).error(), "from 2 to 256");
  const Dataset images = read_idx_images(folder.path("images.gz"), 10).value();
  EXPECT_EQ(images.features, read(kImages, kLabels).value().features);
  EXPECT_TRUE(check_dataset(images).has_value());
  testing::expect_invalid(read(kImages, kLabels, 257).error(), "from 2 to 256");
}

TEST(Idx, NoticesEveryCut) {
  for (std::size_t cut = 0; cut < kImages.size(); ++cut) {
    expect_refusal(kImages.substr(0, cut), kLabels, "images: the file ends before what its header declares");
  }
  for (std::size_t cut = 0; cut < kLabels.size(); ++cut) {
    expect_refusal(kImages, kLabels.substr(0, cut), "labels: the file ends before what its header declares");
  }
}

TEST(Idx, RefusesBadFiles) {
  expect_refusal(kImages + "x", kLabels, "images: there are bytes after the last element");
  expect_refusal(kImages, kLabels + "x", "labels: there are bytes after the last element");
  expect_refusal("PNG no idx file at all", kLabels, "images: at byte 0: this is no IDX file");
  expect_refusal(idx({1, 1, 1}, "abcd", 0x0d), kLabels, "images: at byte 2: the elements must be unsigned bytes");
  expect_refusal(kLabels, kLabels, "images: at byte 3: the number of sizes must be that of images, 3 or 4");
  expect_refusal(idx({1, 1, 1, 1, 1}, "a"), kLabels, "images: at byte 3: the number of sizes");
  expect_refusal(kImages, kImages, "labels: at byte 3: the number of sizes must be that of labels, 1");
  expect_refusal(kImages, idx({3}, "\1\1\1"),
                 "labels: at byte 4: the number of labels must be that of the images in images");
  expect_refusal(kImages, idx({2}, "\x09\x0a"), "labels: at byte 9: a label must be below 10");
  expect_refusal(kImages, idx({2}, "\xff\x01"), "labels: at byte 8: a label must be below 10");
  expect_refusal(idx({0, 2, 2}, ""), idx({0}, ""), "images: at byte 4: the sizes must be above 0");
  expect_refusal(idx({2, 0, 2}, ""), kLabels, "images: at byte 4: the sizes must be above 0");
  expect_refusal(gzip(kImages).substr(0, 20), kLabels, "images: the compressed data are cut off");
}

// Headers that would take terabytes: refused at once, or when the few bytes that are there end.
TEST(Idx, RefusesHeadersThatLie) {
  const std::uint32_t most = 0xffffffff;
  expect_refusal(idx({most, most, most}, "abc"), idx({most}, "\1"), "images: at byte 4: the sizes must be");
  expect_refusal(idx({most, 1, 60'000}, "abc"), idx({most}, "\1"), "labels: the file ends");
  expect_refusal(idx({1, 1u << 24, 1u << 24}, "abc"), idx({1}, "\1"), "images: the file ends");
}

RC_GTEST_PROP(Idx, WrittenFilesRoundTrip, (std::vector<unsigned char> labels)) {
  RC_PRE(!labels.empty());
  const auto rows = static_cast<std::uint32_t>(labels.size());
  const auto pixels =
      *rc::gen::container<std::vector<unsigned char>>(std::size_t{6} * rows, rc::gen::arbitrary<unsigned char>());
  const std::string images = idx({rows, 2, 3}, {pixels.begin(), pixels.end()});
  const std::string label_bytes = idx({rows}, {labels.begin(), labels.end()});
  const auto piece = *rc::gen::inRange<std::size_t>(1, 60);
  const Dataset data = read(gzip(images), label_bytes, 256, piece).value();
  RC_ASSERT(check_dataset(data).has_value());
  for (std::size_t i = 0; i < rows; ++i) RC_ASSERT(data.labels[i] == labels[i]);
  for (std::size_t i = 0; i < pixels.size(); ++i) RC_ASSERT(std::lround(data.features[i] * 255) == pixels[i]);
}

}  // namespace
}  // namespace noisefloor
