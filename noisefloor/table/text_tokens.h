// Text for language models: characters as numbers, in sequences of one length.
//
// Guarantee:     no character is in two sequences: one is length + 1 characters long, of which the first `length` are
//                read and the last `length` are to be predicted. So a character that is exchanged for another changes
//                one example; one that is put in or left out moves all cuts after it, and no statement about single
//                examples covers that. A character that is not in the alphabet, or is not UTF-8, becomes the declared
//                replacement and is never an error.
// Requires:      an alphabet that was not made by looking at the private text.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/byte_source.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/table/odd_records.h"

namespace noisefloor {

// The tokens to read and to predict: bytes, or the characters of a public alphabet. Tokens count from 0.
class Alphabet {
 public:
  // Token = byte.
  [[nodiscard]] static Alphabet bytes() { return {}; }

  // Token = place in `characters`, which is UTF-8 and has each character once. `replacement`, one of them, stands for
  // all other characters.
  [[nodiscard]] static Result<Alphabet> of(std::string_view characters, std::string_view replacement);

  [[nodiscard]] std::int32_t size() const;

  // Appends the tokens of `text` to `tokens`, and returns how many bytes they took: all, unless the text may continue
  // and ends within a character.
  std::size_t encode(std::string_view text, bool goes_on, std::vector<std::int32_t>& tokens) const;

  // The text of tokens. Requires that they are below size().
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const;

 private:
  Alphabet() = default;

  // Empty if tokens are bytes.
  std::vector<std::string> characters_;
  std::unordered_map<char32_t, std::int32_t> tokens_;
  std::int32_t replacement_ = 0;
};

// Examples of text. Fields that Dataset has too mean the same.
struct Sequences {
  std::size_t rows = 0;
  std::vector<std::size_t> shape;  // {length}
  std::vector<float> features;     // tokens; a float holds them exactly
  std::vector<std::int32_t> next;  // next[i]: the token that follows features[i]
  std::int32_t tokens = 0;         // how many tokens there are: those in `features` and `next` are below

  // The sequences of these numbers, in their order; a number may come twice. Refused if one is not below `rows`.
  [[nodiscard]] Result<Sequences> take(std::span<const std::uint64_t> numbers) const;

  friend bool operator==(const Sequences&, const Sequences&) = default;
};

// Every vector is as long as it must be, and every token is one. The refusal names the field, and no value of it.
[[nodiscard]] Result<void> check_sequences(const Sequences& sequences);

// Converts to examples without labels: each row is the whole sequence, length + 1 tokens; targets are 0 and mean
// nothing.
[[nodiscard]] Dataset as_dataset(const Sequences& sequences);

// Reads a text file, plain or compressed with gzip, and cuts it into sequences from its beginning. A rest at the end
// that is shorter than length + 1 is dropped. A text that is shorter as a whole has no sequences: an error if it is
// public (odd_records.h).
[[nodiscard]] Result<Sequences> read_text(const std::string& path, const Alphabet& alphabet, std::size_t length,
                                          const OddRecords& odd = OddRecords::become_null());
[[nodiscard]] Result<Sequences> read_text(ByteSource source, const Alphabet& alphabet, std::size_t length,
                                          const OddRecords& odd = OddRecords::become_null());

}  // namespace noisefloor
