#include "noisefloor/table/odd_records.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "noisefloor/table/csv.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/table/libsvm.h"
#include "noisefloor/table/schema.h"
#include "noisefloor/table/text_tokens.h"

namespace noisefloor {
namespace {

// One way to read private rows, with records that fit and records that do not.
struct Format {
  std::string name;
  std::string before;                 // the file before its records
  std::vector<std::string> good;      // records with their line breaks
  std::vector<std::string> bad;       // odd ones
  std::vector<std::string> nobody{};  // odd ones that do not say whose they are
  std::function<Result<Dataset>(const std::string& text, const OddRecords& odd, std::size_t piece)> read;
};

Schema visits() {
  return {.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100},
                       CategoricalColumn{.name = "ward", .values = {"heart", "lung"}}},
          .outcome = LabelColumn{.name = "ill", .classes = {"no", "yes"}},
          .missing = {"", "?", "57"}};
}

Format csv() {
  return {"csv",
          "age,ward,ill\n",
          {"1,heart,no\n", "20,lung,yes\r\n", "\"3\",\"he\"\"a,\nrt\",no\n"},
          // A missing value without a constant, what is no number, a class that is not listed, another number of
          // cells, quotes that do not match, a NUL byte, a carriage return, a line that is too long, an empty line.
          {"57,lung,no\n",
           ",lung,no\n",
           "?,lung,no\n",
           "x,lung,no\n",
           "nan,lung,no\n",
           "1e,lung,no\n",
           "0x1,lung,no\n",
           " 1,lung,no\n",
           "1,lung,maybe\n",
           "1,lung,\n",
           "1,lung,No\n",
           "1,lung,\xff\xfe\n",
           "1,lung\n",
           "1\n",
           "\n",
           "\r\n",
           "1,lung,no,\n",
           "1,lung,no,no,no\n",
           "1,\"lung,no\n",
           "1,\"lung\"x,no\n",
           "1,lu\"ng,no\n",
           "1,\"lu\"\"ng,no\n",
           "\"\n",
           "1,lung,\"no\" \n",
           std::string("1,lu\0ng,no\n", 11),
           "1,lu\rng,no\n",
           "\xff,\xfe,no\n",
           "1," + std::string(2000, 'x') + ",no\n",
           "1,\"" + std::string(2000, 'x') + ",no\n"},
          {},
          [](const std::string& text, const OddRecords& odd, std::size_t piece) -> Result<Dataset> {
            NF_TRY(ByteSource source, ByteSource::of("t.csv", text, piece));
            return read_csv(std::move(source), visits(), {.max_record_bytes = 1000}, odd);
          }};
}

Format target() {
  return {"target",
          "size,price\n",
          {"1,2\n", "3,-5\n", "4,1e9\n"},
          {"1,\n", ",1\n", "1,x\n", "x,1\n", "1,?\n", "1\n", "1,2,3\n"},
          {},
          [](const std::string& text, const OddRecords& odd, std::size_t piece) -> Result<Dataset> {
            const Schema schema{.features = {NumericColumn{.name = "size", .lower = 0, .upper = 10}},
                                .outcome = TargetColumn{.name = "price", .lower = 100, .upper = 200}};
            NF_TRY(ByteSource source, ByteSource::of("t.csv", text, piece));
            return read_csv(std::move(source), schema, {}, odd);
          }};
}

Format people() {
  return {"people",
          "who,age,ward,ill\n",
          {"a,1,heart,no\n", "b,20,lung,yes\n", "a,3,lung,no\n"},
          {"b,x,lung,no\n", "a,1,lung,maybe\n"},
          {",1,lung,no\n", "57,1,lung,no\n", "b,1,lung\n", "\"b,1,lung,no\n", "\n"},
          [](const std::string& text, const OddRecords& odd, std::size_t piece) -> Result<Dataset> {
            Schema schema = visits();
            schema.person = PersonColumn{"who", 2};
            NF_TRY(ByteSource source, ByteSource::of("t.csv", text, piece));
            return read_csv(std::move(source), schema, {}, odd);
          }};
}

Format libsvm() {
  return {"libsvm",
          "# a comment\n",
          {"+1 1:0.5 3:2\n", "-1\n", "1.0 2:1e9 # more\n"},
          {"0 1:1\n", "x 1:1\n", "\n", "  \n", "1 1\n", "1 1:x\n", "1 1:nan\n", "1 0:1\n", "1 4:1\n", "1 2:1 1:1\n",
           "1 1:1 1:1\n", "1 99999999999999999999:1\n", "1 :1\n", "1 1:1 \xff\n", std::string("1 1:1\0\n", 7),
           "1 1:" + std::string(2000, '1') + "\n"},
          {},
          [](const std::string& text, const OddRecords& odd, std::size_t piece) -> Result<Dataset> {
            NF_TRY(ByteSource source, ByteSource::of("t.svm", text, piece));
            const LibsvmOptions options{
                .dimension = 3, .classes = {"-1", "1"}, .lower = -10, .upper = 10, .max_line_bytes = 1000};
            return read_libsvm(std::move(source), options, odd);
          }};
}

std::string big_endian(std::size_t x) { return {'\0', '\0', static_cast<char>(x >> 8), static_cast<char>(x & 0xff)}; }

// A record is an image of two pixels and its label.
Format idx() {
  return {"idx",
          "",
          {std::string("\x01\x02\x00", 3), std::string("\x05\x06\x02", 3), std::string("\x00\xff\x01", 3)},
          {std::string("\x01\x02\x03", 3), std::string("\x00\x00\xff", 3)},
          {},
          [](const std::string& text, const OddRecords& odd, std::size_t piece) -> Result<Dataset> {
            const std::size_t count = text.size() / 3;
            std::string images = big_endian(0x0803) + big_endian(count) + big_endian(1) + big_endian(2);
            std::string labels = big_endian(0x0801) + big_endian(count);
            for (std::size_t i = 0; i < count; ++i) {
              images += text.substr(3 * i, 2);
              labels += text[3 * i + 2];
            }
            NF_TRY(ByteSource image_source, ByteSource::of("images", images, piece));
            NF_TRY(ByteSource label_source, ByteSource::of("labels", labels, piece));
            return read_idx(std::move(image_source), std::move(label_source), 3, odd);
          }};
}

std::vector<Format> formats() { return {csv(), target(), people(), libsvm(), idx()}; }

std::string joined(const std::string& before, const std::vector<std::string>& records) {
  return std::accumulate(records.begin(), records.end(), before);
}

// All examples but one.
Dataset without(const Dataset& data, std::size_t number) {
  std::vector<std::uint64_t> rows(data.rows);
  std::iota(rows.begin(), rows.end(), 0);
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(number));
  return data.take(rows).value();
}

// The rule for neighbours: whatever one record holds, reading succeeds, and all other examples are what they are
// without that record.
TEST(OddRecords, OfPrivateRowsChangeNothingButThemselves) {
  for (const Format& format : formats()) {
    for (const std::size_t piece : {1U, 7U, 65536U}) {
      const auto read = [&](const std::vector<std::string>& records) {
        return format.read(joined(format.before, records), OddRecords::become_null(), piece);
      };
      const Dataset plain = read(format.good).value();
      ASSERT_TRUE(plain.nulls.empty()) << format.name;
      std::vector<std::string> odd = format.bad;
      odd.insert(odd.end(), format.nobody.begin(), format.nobody.end());
      for (const std::string& record : odd) {
        for (std::size_t place = 0; place <= format.good.size(); ++place) {
          std::vector<std::string> records = format.good;
          records.insert(records.begin() + static_cast<std::ptrdiff_t>(place), record);
          const Result<Dataset> data = read(records);
          ASSERT_TRUE(data.has_value()) << format.name << ": " << record << data.error().message;
          ASSERT_TRUE(check_dataset(data.value()).has_value()) << format.name << ": " << record;
          ASSERT_EQ(data.value().rows, plain.rows + 1) << format.name << ": " << record;
          ASSERT_TRUE(data.value().is_null(place)) << format.name << ": " << record;
          if (format.name == "people") {
            // People are numbered as they come, so that only who is the same as whom can be compared.
            ASSERT_EQ(without(data.value(), place).features, plain.features);
            continue;
          }
          ASSERT_EQ(without(data.value(), place), plain) << format.name << ": " << record;
        }
      }
    }
  }
}

TEST(OddRecords, BelongToTheirPersonOrToNobody) {
  const Format format = people();
  for (const std::string& record : format.bad) {
    const Dataset data =
        format.read(joined(format.before, {record, format.good[0], format.good[1]}), OddRecords::become_null(), 65536)
            .value();
    EXPECT_EQ(data.units(), 2U) << record;
    EXPECT_EQ(data.people[0], data.people[record[0] == 'a' ? 1 : 2]) << record;
  }
  for (const std::string& record : format.nobody) {
    const Dataset data =
        format.read(joined(format.before, {record, format.good[0], format.good[1]}), OddRecords::become_null(), 65536)
            .value();
    EXPECT_EQ(data.units(), 2U) << record;
    EXPECT_EQ(data.people[0], kNobody) << record;
  }
}

// Of public rows the first odd record is an error with its place, and a custodian is told of all of them.
TEST(OddRecords, OfPublicRowsAreErrorsAndAreShownToACustodian) {
  for (const Format& format : formats()) {
    for (const std::string& record : format.bad) {
      const std::string text = joined(format.before, {format.good[0], record, format.good[1], record});
      const Result<Dataset> refused = format.read(text, OddRecords::are_errors(), 65536);
      ASSERT_FALSE(refused.has_value()) << format.name << ": " << record;
      EXPECT_EQ(refused.error().code, ErrorCode::kInputData);
      std::vector<Error> told;
      const OddRecords shown = OddRecords::are_shown([&](const Error& error) { told.push_back(error); });
      const Result<Dataset> data = format.read(text, shown, 65536);
      ASSERT_TRUE(data.has_value()) << format.name << ": " << record;
      EXPECT_EQ(data.value().nulls, (std::vector<std::uint8_t>{0, 1, 0, 1})) << format.name << ": " << record;
      // Two quotes that are never closed close each other where a line with both would be an odd one anyway.
      ASSERT_EQ(told.size(), 2U) << format.name << ": " << record;
      if (record.find('"') == std::string::npos) {
        EXPECT_EQ(told[0], refused.error()) << format.name << ": " << record;
      }
      EXPECT_NE(told[0], told[1]) << "each with its place";
    }
  }
}

TEST(OddRecords, MayBeAllThereIs) {
  for (const Format& format : formats()) {
    const Dataset odd = format.read(format.before + format.bad[0], OddRecords::become_null(), 65536).value();
    EXPECT_EQ(odd.nulls, (std::vector<std::uint8_t>{1})) << format.name;
    if (format.name == "idx") continue;  // the header of its files states their number
    const Dataset none = format.read(format.before, OddRecords::become_null(), 65536).value();
    EXPECT_EQ(none.rows, 0U) << format.name;
    EXPECT_TRUE(check_dataset(none).has_value()) << format.name;
    EXPECT_FALSE(format.read(format.before, OddRecords::are_errors(), 65536).has_value()) << format.name;
  }
  const auto text = [](const OddRecords& odd) {
    return read_text(ByteSource::of("t", "abc").value(), Alphabet::bytes(), 8, odd);
  };
  EXPECT_EQ(text(OddRecords::become_null()).value().rows, 0U);
  EXPECT_FALSE(text(OddRecords::are_errors()).has_value());
}

// Errors about a private file are one text for each kind of damage: no line, no byte, no count.
TEST(OddRecords, LeaveOneTextForEveryHeaderThatCannotBeRead) {
  const Format format = csv();
  const auto refusal = [&](const std::string& text) {
    const Result<Dataset> data = format.read(text, OddRecords::become_null(), 65536);
    EXPECT_FALSE(data.has_value()) << text;
    return data.has_value() ? "" : data.error().message;
  };
  const std::string constant = refusal("");
  EXPECT_NE(constant.find("t.csv: the first line cannot be read as the names of the columns"), std::string::npos);
  for (const std::string& text :
       {std::string("1,1,2\n"), std::string("2,1,1\n"), std::string("\"a\n\n\nb"), std::string("a\"b,c\n"),
        std::string("a,\0b\n", 5), std::string(2000, 'a'), std::string("a\rb\r")}) {
    EXPECT_EQ(refusal(text), constant) << text;
  }
}

// Arbitrary bytes after the header are records: reading them always succeeds.
RC_GTEST_PROP(OddRecords, ReadingPrivateRowsNeverFails, ()) {
  const auto bytes = *rc::gen::container<std::string>(
      rc::gen::element('"', ',', '\n', '\r', ' ', 'a', '1', ':', '-', '#', '.', '\0', '\xff', '\xc3', '5', '7', 'e'));
  const auto piece = *rc::gen::inRange<std::size_t>(1, 40);
  for (const Format& format : {csv(), target(), people(), libsvm()}) {
    const Result<Dataset> data = format.read(format.before + bytes, OddRecords::become_null(), piece);
    RC_ASSERT(data.has_value());
    RC_ASSERT(check_dataset(data.value()).has_value());
    RC_ASSERT(data.value() == format.read(format.before + bytes, OddRecords::become_null(), 65536).value());
  }
}

// A line that is put before others changes none of them, as long as it opens no quote.
RC_GTEST_PROP(OddRecords, LinesWithoutQuotesStayApart, ()) {
  const auto line = [](const std::string& text) { return text + "\n"; };
  const auto bytes = rc::gen::container<std::string>(
      rc::gen::element(',', '\r', ' ', 'a', '1', ':', '-', '.', '\0', '\xff', '5', 'e'));
  const std::string first = line(*bytes);
  const std::string second = line(*bytes);
  for (const Format& format : {csv(), target(), libsvm()}) {
    const auto read = [&](const std::string& text) {
      return format.read(format.before + text, OddRecords::become_null(), 65536).value();
    };
    const Dataset both = read(first + second);
    const Dataset alone = read(second);
    const std::vector<std::uint64_t> last{both.rows - 1};
    RC_ASSERT(both.rows == read(first).rows + alone.rows);
    if (alone.rows == 1) RC_ASSERT(both.take(last).value() == alone);
  }
}

}  // namespace
}  // namespace noisefloor
