#include "noisefloor/table/byte_source.h"

#include <gtest/gtest.h>

#include "noisefloor/base/file.h"
#include "tests/support/gzip.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::gzip;

Result<std::string> all_of(Result<ByteSource> source, std::size_t asked = 1000) {
  NF_TRY(ByteSource bytes, std::move(source));
  std::string all;
  std::string piece(asked, 0);
  while (true) {
    NF_TRY(const std::size_t got, bytes.read(piece));
    if (got == 0) return all;
    all += piece.substr(0, got);
  }
}

Error refusal(std::string bytes, std::size_t piece = 1000) {
  return all_of(ByteSource::of("data.gz", std::move(bytes), piece)).error();
}

std::string sample(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i);
  text.resize(size);
  return text;
}

TEST(ByteSource, ReadsPlainAndCompressedFilesAlike) {
  for (std::size_t size : {0U, 1U, 2U, 3U, 1000U, 700'000U}) {
    const std::string text = sample(size);
    for (std::size_t piece : {1U, 7U, 1'000'000U}) {
      if (size > 10'000 && piece == 1) continue;
      EXPECT_EQ(all_of(ByteSource::of("x", text, piece)).value(), text);
      EXPECT_EQ(all_of(ByteSource::of("x", gzip(text), piece)).value(), text) << size << " by " << piece;
    }
  }
}

TEST(ByteSource, DecidesByContentAndNotByName) {
  const testing::TemporaryFolder folder;
  const std::string text = sample(300'000);
  ASSERT_TRUE(write_file(folder.path("plain.gz"), text).has_value());
  ASSERT_TRUE(write_file(folder.path("packed.csv"), gzip(text)).has_value());
  EXPECT_EQ(all_of(ByteSource::open(folder.path("plain.gz"))).value(), text);
  EXPECT_EQ(all_of(ByteSource::open(folder.path("packed.csv"))).value(), text);
}

TEST(ByteSource, ReadsSeveralMembersAsOneFile) {
  for (std::size_t piece : {1U, 1000U}) {
    EXPECT_EQ(all_of(ByteSource::of("x", gzip("one ") + gzip("") + gzip("two"), piece)).value(), "one two");
  }
}

TEST(ByteSource, NoticesEveryCut) {
  const std::string packed = gzip(sample(500));
  for (std::size_t cut = 2; cut < packed.size(); ++cut) {
    const Error error = refusal(packed.substr(0, cut));
    EXPECT_EQ(error.code, ErrorCode::kInputData);
    // One text, wherever the file ends: it does not show how much there is.
    EXPECT_EQ(error.message, "data.gz: the compressed data are cut off; copy the file again");
  }
}

// The check sum of gzip covers the content; the fields before it (time, name, system) carry nothing that we use.
TEST(ByteSource, NoticesDamage) {
  const std::string text = sample(500);
  const std::string packed = gzip(text);
  for (std::size_t at = 10; at < packed.size(); ++at) {
    std::string bad = packed;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const Result<std::string> read = all_of(ByteSource::of("data.gz", bad));
    ASSERT_FALSE(read.has_value()) << at;
    EXPECT_EQ(read.error().code, ErrorCode::kInputData);
  }
  EXPECT_EQ(refusal(packed + "x").message, "data.gz: there are bytes after the end of the compressed data");
}

TEST(ByteSource, RefusesFilesThatCannotBeRead) {
  const testing::TemporaryFolder folder;
  const Error missing = ByteSource::open(folder.path("no\nne")).error();
  EXPECT_EQ(missing.code, ErrorCode::kIo);
  EXPECT_EQ(missing.message, folder.path("no\\u{a}ne") + " could not be read: No such file or directory");
  EXPECT_EQ(all_of(ByteSource::open(folder.path(""))).error().code, ErrorCode::kIo);
}

TEST(Window, GrowsAndDrops) {
  const std::string text = sample(2'000'000);
  Window window(ByteSource::of("x", text, 100'000).value());
  std::string seen;
  while (true) {
    const Result<bool> more = window.more();
    ASSERT_TRUE(more.has_value());
    if (!more.value()) break;
    // Half of the window stays.
    const std::size_t half = window.text().size() / 2;
    seen += window.text().substr(0, half);
    window.drop(half);
  }
  seen += window.text();
  EXPECT_EQ(seen, text);
}

}  // namespace
}  // namespace noisefloor
