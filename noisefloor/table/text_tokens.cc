#include "noisefloor/table/text_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

constexpr std::int32_t kBytes = 256;
constexpr std::size_t kMaxLength = std::size_t{1} << 20;

struct Character {
  std::optional<char32_t> code;  // nothing: not UTF-8
  std::size_t bytes;
  bool cut_off;  // more bytes could make a character of it
};

std::size_t length_by_first_byte(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

bool is_scalar(char32_t code, std::size_t length) {
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  return code >= least[length] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

// Requires text that is not empty. If it does not begin with UTF-8, takes one byte.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = length_by_first_byte(byte(0));
  if (length == 1) return {byte(0), 1, false};
  if (length == 0) return {std::nullopt, 1, false};
  char32_t code = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {std::nullopt, 1, true};
    if ((byte(i) & 0xc0U) != 0x80) return {std::nullopt, 1, false};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  if (!is_scalar(code, length)) return {std::nullopt, 1, false};
  return {code, length, false};
}

// Cuts tokens into examples as they arrive.
class Cutter {
 public:
  Cutter(std::size_t length, std::int32_t tokens) : length_(length) {
    sequences_.shape = {length};
    sequences_.tokens = tokens;
  }

  // Takes whole sequences off the front of `tokens`.
  void cut(std::vector<std::int32_t>& tokens) {
    std::size_t at = 0;
    for (; tokens.size() - at > length_; at += length_ + 1) {
      for (std::size_t i = at; i < at + length_; ++i) {
        sequences_.features.push_back(static_cast<float>(tokens[i]));
        sequences_.next.push_back(tokens[i + 1]);
      }
      ++sequences_.rows;
    }
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Sequences finish() && { return std::move(sequences_); }

 private:
  std::size_t length_;
  Sequences sequences_;
};

Result<void> check_length(std::size_t length) {
  if (length >= 1 && length <= kMaxLength) return success();
  return invalid_argument(fmt::format("the length of sequences must be from 1 to {}; got {}", kMaxLength, length));
}

Error not_as_declared(std::string_view field, std::string_view requirement) {
  return invalid_argument(fmt::format("the sequences' {} must {}", field, requirement));
}

}  // namespace

Result<Alphabet> Alphabet::of(std::string_view characters, std::string_view replacement) {
  Alphabet alphabet;
  while (!characters.empty()) {
    const Character next = first_character(characters);
    if (!next.code) return invalid_argument("an alphabet must be UTF-8 text");
    const std::string_view text = characters.substr(0, next.bytes);
    const auto token = static_cast<std::int32_t>(alphabet.characters_.size());
    if (!alphabet.tokens_.emplace(*next.code, token).second) {
      return invalid_argument(
          one_line(fmt::format("an alphabet must have each character once; '{}' is there twice", text)));
    }
    alphabet.characters_.emplace_back(text);
    characters.remove_prefix(next.bytes);
  }
  const auto found = std::find(alphabet.characters_.begin(), alphabet.characters_.end(), replacement);
  if (found == alphabet.characters_.end()) {
    return invalid_argument("the replacement must be one character of the alphabet");
  }
  alphabet.replacement_ = static_cast<std::int32_t>(found - alphabet.characters_.begin());
  return alphabet;
}

std::int32_t Alphabet::size() const {
  return characters_.empty() ? kBytes : static_cast<std::int32_t>(characters_.size());
}

std::size_t Alphabet::encode(std::string_view text, bool goes_on, std::vector<std::int32_t>& tokens) const {
  if (characters_.empty()) {
    for (char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return text.size();
  }
  std::size_t at = 0;
  while (at < text.size()) {
    const Character next = first_character(text.substr(at));
    if (next.cut_off && goes_on) break;
    const auto found = next.code ? tokens_.find(*next.code) : tokens_.end();
    tokens.push_back(found == tokens_.end() ? replacement_ : found->second);
    at += next.bytes;
  }
  return at;
}

std::string Alphabet::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (std::int32_t token : tokens) {
    NF_CHECK(token >= 0 && token < size(), "a token that is not in the alphabet");
    if (characters_.empty()) {
      text += static_cast<char>(static_cast<unsigned char>(token));
    } else {
      text += characters_[static_cast<std::size_t>(token)];
    }
  }
  return text;
}

Result<Sequences> Sequences::take(std::span<const std::uint64_t> numbers) const {
  const auto beyond = [&](std::uint64_t number) { return number >= rows; };
  if (std::any_of(numbers.begin(), numbers.end(), beyond)) {
    return invalid_argument("the number of a sequence must be below the number of sequences; they count from 0");
  }
  Sequences taken{.rows = numbers.size(), .shape = shape, .features = {}, .next = {}, .tokens = tokens};
  const std::size_t length = shape.front();
  taken.features.reserve(numbers.size() * length);
  taken.next.reserve(numbers.size() * length);
  for (std::uint64_t number : numbers) {
    const auto begin = static_cast<std::ptrdiff_t>(number * length);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    taken.features.insert(taken.features.end(), features.begin() + begin, features.begin() + end);
    taken.next.insert(taken.next.end(), next.begin() + begin, next.begin() + end);
  }
  return taken;
}

Result<void> check_sequences(const Sequences& sequences) {
  if (sequences.shape.size() != 1) return not_as_declared("shape", "be one length");
  NF_TRY_VOID(check_length(sequences.shape.front()));
  const std::size_t length = sequences.shape.front();
  const std::size_t count = sequences.features.size();
  if (count % length != 0 || count / length != sequences.rows) return not_as_declared("features", "be rows · length");
  if (sequences.next.size() != count) return not_as_declared("next tokens", "be as many as the features");
  const auto is_token = [&](auto token) {
    return token >= 0 && token < static_cast<decltype(token)>(sequences.tokens) && token == std::floor(token);
  };
  if (!std::all_of(sequences.features.begin(), sequences.features.end(), is_token) ||
      !std::all_of(sequences.next.begin(), sequences.next.end(),
                   [&](std::int32_t token) { return token >= 0 && token < sequences.tokens; })) {
    return not_as_declared("tokens", "be whole, 0 or above and below their number");
  }
  return success();
}

Dataset as_dataset(const Sequences& sequences) {
  const std::size_t length = sequences.shape.front();
  Dataset data;
  data.rows = sequences.rows;
  data.shape = {length + 1};
  data.targets.resize(sequences.rows);
  for (std::size_t row = 0; row < sequences.rows; ++row) {
    const float* first = sequences.features.data() + row * length;
    data.features.insert(data.features.end(), first, first + length);
    data.features.push_back(static_cast<float>(sequences.next[(row + 1) * length - 1]));
  }
  return data;
}

Result<Sequences> read_text(const std::string& path, const Alphabet& alphabet, std::size_t length,
                            const OddRecords& odd) {
  NF_TRY_VOID(check_length(length));
  NF_TRY(ByteSource source, ByteSource::open(path));
  return read_text(std::move(source), alphabet, length, odd);
}

Result<Sequences> read_text(ByteSource source, const Alphabet& alphabet, std::size_t length, const OddRecords& odd) {
  NF_TRY_VOID(check_length(length));
  Window window(std::move(source));
  Cutter cutter(length, alphabet.size());
  std::vector<std::int32_t> tokens;
  for (bool more = true; more;) {
    NF_TRY(more, window.more());
    window.drop(alphabet.encode(window.text(), more, tokens));
    cutter.cut(tokens);
  }
  Sequences sequences = std::move(cutter).finish();
  if (sequences.rows == 0 && odd.precise()) {
    return error_at_byte(window.name(), 0,
                         fmt::format("the text must have at least {} characters, one sequence", length + 1));
  }
  return sequences;
}

}  // namespace noisefloor
