#include "noisefloor/table/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/gzip.h"

namespace noisefloor {
namespace {

using Record = std::vector<std::string>;

struct Table {
  Record header;
  std::vector<Record> records;
};

Result<Table> read(const std::string& text, const CsvFormat& format = {}, std::size_t piece = 65536) {
  NF_TRY(ByteSource source, ByteSource::of("t.csv", text, piece));
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format));
  Table table{reader.header(), {}};
  while (true) {
    NF_TRY(const bool found, reader.next());
    if (!found) return table;
    table.records.emplace_back(reader.cells().begin(), reader.cells().end());
  }
}

std::vector<Record> records(const std::string& text, const CsvFormat& format = {}) {
  const Result<Table> table = read(text, format);
  EXPECT_TRUE(table.has_value()) << table.error().message;
  // The size of the pieces makes no difference.
  for (std::size_t piece : {1U, 2U, 3U}) EXPECT_EQ(read(text, format, piece).value().records, table.value().records);
  return table.value().records;
}

// Tests use 987 as the first digits of content that must not be shown.
void expect_refusal(const std::string& text, const std::string& message, const CsvFormat& format = {}) {
  for (std::size_t piece : {1U, 65536U}) {
    const Result<Table> table = read(text, format, piece);
    ASSERT_FALSE(table.has_value()) << text;
    EXPECT_EQ(table.error().code, ErrorCode::kInputData);
    EXPECT_EQ(table.error().message.find(message), 0U) << table.error().message << "\nlacks: " << message;
    EXPECT_EQ(table.error().message.find("987"), std::string::npos) << table.error().message;
  }
}

TEST(Csv, ReadsPlainCells) {
  EXPECT_EQ(read("a,b\n1,2\n").value().header, (Record{"a", "b"}));
  EXPECT_EQ(records("a,b\n1,2\n3,4"), (std::vector<Record>{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(records("a,b\r\n1,2\r\n"), (std::vector<Record>{{"1", "2"}}));
  EXPECT_EQ(records("a,b\n,\n , x \n"), (std::vector<Record>{{"", ""}, {" ", " x "}}));
  EXPECT_EQ(records("a\n\n1\n"), (std::vector<Record>{{""}, {"1"}}));
  EXPECT_EQ(records("a,b\n1,"), (std::vector<Record>{{"1", ""}}));
  EXPECT_TRUE(records("a,b\n").empty());
  EXPECT_TRUE(records("a,b").empty());
}

TEST(Csv, ReadsQuotes) {
  EXPECT_EQ(records("a,b\n\"1,5\",\"say \"\"hi\"\"\"\n"), (std::vector<Record>{{"1,5", "say \"hi\""}}));
  EXPECT_EQ(records("a,b\n\"x\ny\",\"x\r\ny\"\r\n"), (std::vector<Record>{{"x\ny", "x\r\ny"}}));
  EXPECT_EQ(records("a,b\n\"\",\"\"\"\"\n"), (std::vector<Record>{{"", "\""}}));
  EXPECT_EQ(records("a,b\n\"\"\"\"\"\",\"x\""), (std::vector<Record>{{"\"\"", "x"}}));
  EXPECT_EQ(read("\"a,1\",\"b\n2\"\n").value().header, (Record{"a,1", "b\n2"}));
}

TEST(Csv, TakesAByteOrderMarkAndOtherSeparators) {
  EXPECT_EQ(read("\xef\xbb\xbf"
                 "a,b\n")
                .value()
                .header,
            (Record{"a", "b"}));
  EXPECT_EQ(read("\xef\xbb\xbf\"a\",b\n", {}, 1).value().header, (Record{"a", "b"}));
  EXPECT_EQ(records("a;b\n1,5;2\n", {.separator = ';'}), (std::vector<Record>{{"1,5", "2"}}));
  EXPECT_EQ(records("a\tb\n1\t2\n", {.separator = '\t'}), (std::vector<Record>{{"1", "2"}}));
  EXPECT_EQ(records("a, b\n 1 ,\t2\n\" 3 \",  \n", {.trim = true}), (std::vector<Record>{{"1", "2"}, {" 3 ", ""}}));
  EXPECT_EQ(read("a, b\n", {.trim = true}).value().header, (Record{"a", "b"}));
  for (char separator : {'"', '\n', '\r', '\0'}) {
    EXPECT_EQ(read("a\n", {.separator = separator}).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Csv, RefusesWhatIsNotATable) {
  expect_refusal("", "t.csv:1: the file is empty");
  expect_refusal("\xef\xbb\xbf", "t.csv:1: the file is empty");
  expect_refusal("987,b,987\n", "t.csv:1: columns 1 and 3 have the same name");
  expect_refusal("a,b\n1,2\n987\n", "t.csv:3: expected 2 cells");
  expect_refusal("a,b\n1,2,987\n", "t.csv:2: expected 2 cells");
  expect_refusal("a,b\n\n1,2\n", "t.csv:2: expected 2 cells");
  expect_refusal("a,b\n1,2\n\n", "t.csv:3: expected 2 cells");
  // Lines are counted correctly after a record of several lines.
  expect_refusal("a,b\n\"1\n\n\",2\n987\n", "t.csv:5: expected 2 cells");
  expect_refusal("a,b\n1,\"987\n5,6\n7,8\n", "t.csv:2: a quote that is never closed");
  expect_refusal("a,b\n\"x\ny\",\"987\n5,6", "t.csv:3: a quote that is never closed");
  expect_refusal("a,b\n\"987\"1,2\n", "t.csv:2: a quote inside a cell");
  expect_refusal("a,b\n987\"1,2\n", "t.csv:2: a quote inside a cell");
  expect_refusal("a,b\n987\"\"1,2\n", "t.csv:2: a quote inside a cell");
  expect_refusal("a,b\n\"987\" ,2\n", "t.csv:2: a quote inside a cell");
  expect_refusal(
      "\"a\";\"987\"\n",
      "t.csv:1: a quote inside a cell; put the whole cell in quotes and double the ones that it holds; or, if "
      "this file has another separator, set separator = \";\" under [data]");
  expect_refusal("\"a\"\t\"987\"\n", "t.csv:1: a quote inside a cell");
  expect_refusal(
      "a,b\r1,987\r",
      "t.csv:1: a carriage return that no line feed follows; end lines with LF or CRLF (if all of them end with "
      "CR alone, `tr '\\r' '\\n' <old.csv >new.csv` mends that)");
  expect_refusal("a,b\n1,987\r", "t.csv:2: a carriage return that no line feed follows");
  expect_refusal(std::string("a,b\n1,9\0"
                             "87\n",
                             10),
                 "t.csv:2: a NUL byte");
  expect_refusal(std::string("a,b\n1,\"9\n\0"
                             "87\"\n",
                             13),
                 "t.csv:3: a NUL byte");
  expect_refusal(std::string("\xff\xfe"
                             "a\0,\0b\0\n\0",
                             10),
                 "t.csv:1: a NUL byte");
}

TEST(Csv, LimitsRecords) {
  const CsvFormat format{.max_record_bytes = 20};
  EXPECT_EQ(records("a,b\n123456789,12345678\n", format).size(), 1U);
  EXPECT_EQ(records("a,b\n123456789,123456789", format).size(), 1U);
  expect_refusal("a,b\n9871234567,12345678901\n", "t.csv:2: a record of more than 20 bytes", format);
  expect_refusal("a,b\n1,2\n\"987\n" + std::string(1'000'000, '\n'), "t.csv:3: a record of more than 20 bytes", format);
}

// A file that never ends a record is refused after the limit, and not held.
TEST(Csv, ReadsLongRecordsInPieces) {
  const std::string cell(3'000'000, 'x');
  const Table table = read("a,b\n" + cell + ",\"" + cell + "\"\n1,2\n").value();
  ASSERT_EQ(table.records.size(), 2U);
  EXPECT_EQ(table.records[0][1], cell);
  EXPECT_EQ(table.records[1][1], "2");
}

TEST(Csv, KeepsTheLineOfAnOddRecord) {
  const OddRecords odd = OddRecords::become_null();
  for (const std::size_t piece : {1U, 65536U}) {
    CsvReader reader =
        CsvReader::open(ByteSource::of("t.csv", "a,b\n1,2\n\"x\"\"y\nz\"\n3,\"4\n5,6", piece).value(), {}, odd).value();
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kRecord);
    // A record with one cell, of which quotes were doubled: the lines are those of the file.
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kOdd);
    EXPECT_EQ(reader.odd_line(), "\"x\"\"y");
    EXPECT_TRUE(reader.cells().empty());
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kOdd);
    EXPECT_EQ(reader.odd_line(), "z\"");
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kOdd);
    EXPECT_EQ(reader.odd_line(), "3,\"4");
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kRecord);
    EXPECT_EQ(reader.cells()[1], "6");
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kEnd);
    EXPECT_EQ(reader.next(odd).value(), CsvReader::Found::kEnd);
  }
}

// A file that is damaged is an error, whatever its records are.
TEST(Csv, StillRefusesADamagedFileWithOddRecords) {
  const OddRecords odd = OddRecords::become_null();
  const std::string packed = testing::gzip("a,b\n1,2\nx\n");
  CsvReader reader =
      CsvReader::open(ByteSource::of("t.csv", packed.substr(0, packed.size() - 4)).value(), {}, odd).value();
  Result<CsvReader::Found> found = reader.next(odd);
  while (found.has_value() && found.value() != CsvReader::Found::kEnd) found = reader.next(odd);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "t.csv: the compressed data are cut off; copy the file again");
}

std::string in_quotes(const std::string& cell) {
  std::string text = "\"";
  for (char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

// Tables of awkward cells, written with quotes where needed or everywhere, are read back unchanged.
RC_GTEST_PROP(Csv, RoundTripsWrittenTables, ()) {
  const char separator = *rc::gen::element(',', ';', '\t', 'x');
  const auto awkward = rc::gen::container<std::string>(
      rc::gen::element('"', ',', ';', '\t', '\n', '\r', ' ', 'a', 'x', '1', '\xc3', '\xa9', '\xef', '\xbb', '\xbf'));
  const auto width = *rc::gen::inRange<std::size_t>(1, 5);
  const auto header = *rc::gen::unique<Record>(width, awkward);
  const auto body = *rc::gen::container<std::vector<Record>>(rc::gen::container<Record>(width, awkward));
  std::string text;
  const auto write = [&](const Record& record, bool last) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      const bool needed = record[i].find_first_of(std::string("\"\r\n") + separator) != std::string::npos;
      // An empty last line without a line break is not a line; and a header may look like a byte order mark.
      const bool anyway =
          needed || text.empty() || (record.size() == 1 && record[i].empty()) || *rc::gen::arbitrary<bool>();
      text += (i == 0 ? "" : std::string(1, separator)) + (anyway ? in_quotes(record[i]) : record[i]);
    }
    if (!last || *rc::gen::arbitrary<bool>()) text += *rc::gen::element<std::string>("\n", "\r\n");
  };
  write(header, body.empty());
  for (std::size_t i = 0; i < body.size(); ++i) write(body[i], i + 1 == body.size());
  const Result<Table> table = read(text, {.separator = separator}, *rc::gen::inRange<std::size_t>(1, 40));
  if (!table.has_value()) RC_FAIL(table.error().message);
  RC_ASSERT(table.value().header == header);
  RC_ASSERT(table.value().records == body);
}

}  // namespace
}  // namespace noisefloor
