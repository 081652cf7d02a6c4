#include "noisefloor/dataset/records.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

class RecordsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
  }
  void write_gzip(const std::string& name, const std::string& text) const {
    gzFile file = gzopen(folder_.path(name).c_str(), "wb");
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    gzclose(file);
  }
  [[nodiscard]] Result<RowSketch> read(DataFormat format, ExampleFiles files) const {
    Secret32 key;
    return sketch_rows(key, {.name = "d", .format = std::move(format), .files = std::move(files)}, folder_.path(""));
  }
  [[nodiscard]] RowSketch csv(const std::string& name, char separator = ',') const {
    CsvTable table;
    table.format.separator = separator;
    return read(table, TextFile{name}).value();
  }

  testing::TemporaryFolder folder_;
};

std::string canonical(std::string_view cell) {
  std::string room;
  return std::string(canonical_cell(cell, room));
}

TEST(CanonicalCell, WritesNumbersInOneForm) {
  for (const char* one : {"1", "1.0", "+1", " 1 ", "1e0", "01", "1.", "10e-1"}) EXPECT_EQ(canonical(one), "1") << one;
  EXPECT_EQ(canonical("-0.0"), canonical("0"));
  EXPECT_EQ(canonical("0.10"), canonical(".1"));
  EXPECT_EQ(canonical("123456789012345"), "123456789012345");
}

TEST(CanonicalCell, LeavesTextsAndLongNumbersApart) {
  EXPECT_EQ(canonical(" Smith "), "Smith");
  EXPECT_EQ(canonical("1-2"), "1-2");
  EXPECT_EQ(canonical("-"), "-");
  EXPECT_EQ(canonical(""), "");
  EXPECT_EQ(canonical("1e999"), "1e999");
  // As doubles these two are equal.
  EXPECT_NE(canonical("90071992547409930"), canonical("90071992547409931"));
  EXPECT_NE(canonical("1"), canonical("1a"));
}

TEST_F(RecordsTest, FindsTheSameRecordsInACopyOfAnotherForm) {
  write("a.csv", "id,name,dose\n1,Ann,0.5\n2,\"Bo, Jr\",2\n3,Cy,\n");
  const RowSketch original = csv("a.csv");
  EXPECT_EQ(original.rows, 3U);
  write("shuffled.csv", "dose;id;name\r\n;3;Cy\r\n0.50;+1;\"Ann\"\r\n2.0;2; Bo, Jr \r\n");
  EXPECT_EQ(csv("shuffled.csv", ';'), original);
  write_gzip("a.csv.gz", "id,name,dose\n1,Ann,0.5\n2,\"Bo, Jr\",2\n3,Cy,\n");
  EXPECT_EQ(csv("a.csv.gz"), original);
  write("other.csv", "id,name,dose\n1,Ann,0.5\n2,\"Bo, Jr\",2.1\n3,Cy,\n");
  EXPECT_NE(csv("other.csv").fingerprint, original.fingerprint);
}

// Every column counts, whatever the schema reads.
TEST_F(RecordsTest, IgnoresTheSchema) {
  write("a.csv", "id,x,y\n1,2,0\n3,4,1\n");
  CsvTable narrow;
  narrow.schema.features = {NumericColumn{"x", 0, 1}};
  narrow.schema.outcome = LabelColumn{"y", {"0", "1"}};
  EXPECT_EQ(read(narrow, TextFile{"a.csv"}).value(), csv("a.csv"));
}

TEST_F(RecordsTest, ReadsLibsvmByExample) {
  write("a", "+1 1:0.5 3:2\n-1 2:1\n");
  write("b", "-1 2:1.0   # the second\n\n1  1:.5 3:2.0 \r\n");
  const LibsvmOptions options;
  EXPECT_EQ(read(options, TextFile{"a"}).value(), read(options, TextFile{"b"}).value());
  write("c", "+1 1:0.5 3:2\n-1 3:1\n");
  EXPECT_NE(read(options, TextFile{"a"}).value(), read(options, TextFile{"c"}).value());
}

TEST_F(RecordsTest, ReadsTextByLine) {
  write("a", "to be\nor not\n\nto be");
  write("b", "or not\r\nto be\r\nto be\r\n");
  const TextFormat format{4, std::nullopt, ""};
  const RowSketch sketch = read(format, TextFile{"a"}).value();
  EXPECT_EQ(sketch, read(format, TextFile{"b"}).value());
  EXPECT_EQ(sketch.rows, 3U);
}

TEST_F(RecordsTest, ReadsImagesWithTheirLabels) {
  const auto header = [](std::string bytes) { return bytes; };
  const std::string images = header({"\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16});
  const std::string labels = header({"\0\0\x08\x01\0\0\0\x02", 8});
  write("i", images + "abcd");
  write("l", labels + std::string("\1\2"));
  write_gzip("i2", images + "cdab");
  write("l2", labels + std::string("\2\1"));
  const RowSketch original = read(IdxFormat{10}, IdxFiles{"i", "l"}).value();
  EXPECT_EQ(original.rows, 2U);
  EXPECT_EQ(read(IdxFormat{10}, IdxFiles{"i2", "l2"}).value(), original);
  EXPECT_NE(read(IdxFormat{10}, IdxFiles{"i", "l2"}).value(), original);
  write("short", images + "abc");
  EXPECT_EQ(read(IdxFormat{10}, IdxFiles{"short", "l"}).error().code, ErrorCode::kInputData);
}

TEST_F(RecordsTest, RefusesAFileWithoutRecords) {
  write("a.csv", "id,x\n");
  EXPECT_EQ(read(CsvTable{}, TextFile{"a.csv"}).error().code, ErrorCode::kInputData);
  EXPECT_EQ(read(CsvTable{}, TextFile{"none.csv"}).error().code, ErrorCode::kIo);
  EXPECT_EQ(read(CsvTable{}, IdxFiles{"a", "b"}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace noisefloor
