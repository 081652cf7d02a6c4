#include "noisefloor/table/text_tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "noisefloor/base/file.h"
#include "tests/support/gzip.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

Result<Sequences> read(const std::string& text, const Alphabet& alphabet, std::size_t length,
                       std::size_t piece = 65536) {
  NF_TRY(ByteSource source, ByteSource::of("t.txt", text, piece));
  return read_text(std::move(source), alphabet, length, OddRecords::are_errors());
}

std::vector<std::int32_t> tokens_of(const std::string& text, const Alphabet& alphabet) {
  std::vector<std::int32_t> tokens;
  EXPECT_EQ(alphabet.encode(text, false, tokens), text.size());
  return tokens;
}

TEST(Alphabet, TakesBytesAsTokens) {
  const Alphabet alphabet = Alphabet::bytes();
  EXPECT_EQ(alphabet.size(), 256);
  EXPECT_EQ(tokens_of(std::string("a\0\xff", 3), alphabet), (std::vector<std::int32_t>{97, 0, 255}));
  EXPECT_EQ(alphabet.decode(std::vector<std::int32_t>{0xc3, 0xa9}), "é");
}

TEST(Alphabet, TakesCharactersAsTokens) {
  const Alphabet alphabet = Alphabet::of("abé\n😀?", "?").value();
  EXPECT_EQ(alphabet.size(), 6);
  EXPECT_EQ(tokens_of("é😀ab\nx€?", alphabet), (std::vector<std::int32_t>{2, 4, 0, 1, 3, 5, 5, 5}));
  EXPECT_EQ(alphabet.decode(std::vector<std::int32_t>{2, 4, 5}), "é😀?");
}

// Each bad byte is one replacement; the good characters around it are read.
TEST(Alphabet, ReplacesBytesThatAreNotUtf8) {
  const Alphabet alphabet = Alphabet::of("ab?", "?").value();
  for (const std::string bad : {"\x80", "\xff", "\xc0", "\xc3", "\xf5"}) {
    EXPECT_EQ(tokens_of("a" + bad + "b", alphabet), (std::vector<std::int32_t>{0, 2, 1}));
    EXPECT_EQ(tokens_of("a" + bad, alphabet), (std::vector<std::int32_t>{0, 2}));
  }
  // An overlong form of '/', a surrogate, a code beyond the last character, and a character that is cut off.
  EXPECT_EQ(tokens_of("\xe0\x80\xaf"
                      "b",
                      alphabet),
            (std::vector<std::int32_t>{2, 2, 2, 1}));
  EXPECT_EQ(tokens_of("\xed\xa0\x80"
                      "b",
                      alphabet),
            (std::vector<std::int32_t>{2, 2, 2, 1}));
  EXPECT_EQ(tokens_of("\xf4\x90\x80\x80"
                      "b",
                      alphabet),
            (std::vector<std::int32_t>{2, 2, 2, 2, 1}));
  EXPECT_EQ(tokens_of("b\xf0\x9f\x98", alphabet), (std::vector<std::int32_t>{1, 2, 2, 2}));
}

TEST(Alphabet, RefusesBadAlphabets) {
  expect_invalid(Alphabet::of("aba", "a").error(), "'a' is there twice");
  expect_invalid(Alphabet::of("aa", "a").error(), "'a' is there twice");
  expect_invalid(Alphabet::of("ab", "c").error(), "replacement");
  expect_invalid(Alphabet::of("ab", "").error(), "replacement");
  expect_invalid(Alphabet::of("ab", "ab").error(), "replacement");
  expect_invalid(Alphabet::of("", "").error(), "replacement");
  expect_invalid(Alphabet::of("a\xff", "a").error(), "UTF-8");
}

TEST(Sequences, AreCutWithoutOverlap) {
  const Alphabet alphabet = Alphabet::of("abcdefgh", "a").value();
  const Sequences sequences = read("abcdefgh", alphabet, 2).value();
  EXPECT_TRUE(check_sequences(sequences).has_value());
  EXPECT_EQ(sequences,
            (Sequences{.rows = 2, .shape = {2}, .features = {0, 1, 3, 4}, .next = {1, 2, 4, 5}, .tokens = 8}));
  EXPECT_EQ(sequences.take(std::vector<std::uint64_t>{1}).value(),
            (Sequences{.rows = 1, .shape = {2}, .features = {3, 4}, .next = {4, 5}, .tokens = 8}));
  expect_invalid(sequences.take(std::vector<std::uint64_t>{2}).error(), "below the number of sequences");
}

TEST(Sequences, AreReadFromFilesOrRefused) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path("t"), testing::gzip("987654321")).has_value());
  EXPECT_EQ(read_text(folder.path("t"), Alphabet::bytes(), 8).value().rows, 1U);
  EXPECT_EQ(read_text(folder.path("t"), Alphabet::bytes(), 9).value().rows, 0U);
  const Error error = read_text(folder.path("t"), Alphabet::bytes(), 9, OddRecords::are_errors()).error();
  EXPECT_EQ(error.code, ErrorCode::kInputData);
  EXPECT_EQ(error.message, folder.path("t") + ": at byte 0: the text must have at least 10 characters, one sequence");
  EXPECT_EQ(read("", Alphabet::bytes(), 1).error().code, ErrorCode::kInputData);
  EXPECT_EQ(read_text(folder.path("none"), Alphabet::bytes(), 9).error().code, ErrorCode::kIo);
  expect_invalid(read_text(folder.path("none"), Alphabet::bytes(), 0).error(),
                 "the length of sequences must be from 1");
}

TEST(Sequences, HaveInvariantsThatAreChecked) {
  const Sequences good = read("abcdef", Alphabet::bytes(), 2).value();
  const auto broken = [&](auto&& change) {
    Sequences sequences = good;
    change(sequences);
    return check_sequences(sequences).error();
  };
  expect_invalid(broken([](Sequences& s) { s.rows = 1; }), "features");
  expect_invalid(broken([](Sequences& s) { s.shape = {1, 2}; }), "shape");
  expect_invalid(broken([](Sequences& s) { s.next.pop_back(); }), "next tokens");
  expect_invalid(broken([](Sequences& s) { s.next[0] = 256; }), "tokens");
  expect_invalid(broken([](Sequences& s) { s.features[0] = 0.5; }), "tokens");
  expect_invalid(broken([](Sequences& s) { s.features[0] = -1; }), "tokens");
}

// Whatever the pieces of the file are, the sequences are the whole text, cut every length + 1 characters.
RC_GTEST_PROP(Sequences, DoNotDependOnPieces, ()) {
  const auto alphabet = Alphabet::of("aé€😀?", "?").value();
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", "é", "€", "😀", "z", "\xff", "\xe2\x82", "\xf0"));
  const auto length = *rc::gen::inRange<std::size_t>(1, 5);
  std::string text;
  for (const std::string& part : parts) text += part;
  std::vector<std::int32_t> tokens;
  alphabet.encode(text, false, tokens);
  RC_PRE(tokens.size() > length);
  const Sequences sequences = read(text, alphabet, length, *rc::gen::inRange<std::size_t>(1, 9)).value();
  RC_ASSERT(check_sequences(sequences).has_value());
  RC_ASSERT(sequences.rows == tokens.size() / (length + 1));
  for (std::size_t row = 0; row < sequences.rows; ++row) {
    for (std::size_t i = 0; i < length; ++i) {
      RC_ASSERT(static_cast<std::int32_t>(sequences.features[row * length + i]) == tokens[row * (length + 1) + i]);
      RC_ASSERT(sequences.next[row * length + i] == tokens[row * (length + 1) + i + 1]);
    }
  }
}

TEST(Sequences, AreWholeAsExamples) {
  const Sequences sequences = read("abcdefgh", Alphabet::bytes(), 3).value();
  const Dataset data = as_dataset(sequences);
  ASSERT_TRUE(check_dataset(data).has_value());
  EXPECT_EQ(data.rows, 2U);
  EXPECT_EQ(data.shape, std::vector<std::size_t>{4});
  EXPECT_EQ(data.features, (std::vector<float>{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}));
}

// A changed character changes at most one example.
RC_GTEST_PROP(Sequences, HoldACharacterInOneExampleOnly, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(10, 60);
  const auto place = *rc::gen::inRange<std::size_t>(0, size);
  const auto length = *rc::gen::inRange<std::size_t>(1, 9);
  std::string text(size, 'a');
  const Sequences before = read(text, Alphabet::bytes(), length).value();
  text[place] = 'b';
  const Sequences after = read(text, Alphabet::bytes(), length).value();
  std::size_t changed = 0;
  for (std::uint64_t row = 0; row < before.rows; ++row) {
    if (before.take(std::span(&row, 1)).value() != after.take(std::span(&row, 1)).value()) ++changed;
  }
  RC_ASSERT(changed <= 1);
}

}  // namespace
}  // namespace noisefloor
