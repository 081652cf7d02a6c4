#include "noisefloor/config/toml_obstacle.h"

#include <fmt/format.h>

namespace noisefloor::internal {
namespace {

// No key of a pipeline has more than one dot, and lists nest at most 256 deep.
constexpr int kMaxDotsInLine = 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::optional<Obstacle> find_obstacle(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  enum class Inside { kNothing, kComment, kBasicText, kLiteralText };
  Inside inside = Inside::kNothing;
  Place place{1, 0};
  int dots = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xC0U) == 0x80U && place.column > 0;
    if (!continues) ++place.column;
    if (c == '\n') {
      place = {place.line + 1, 0};
      dots = 0;
      escaped = false;
      inside = Inside::kNothing;  // a text that is still open is an error of syntax
      continue;
    }
    if (byte >= 0x80 && (inside == Inside::kNothing || escaped)) {
      return Obstacle{place, "a character beyond ASCII outside of texts and comments",
                      "put it in quotes, or remove it"};
    }
    if (escaped) {
      escaped = false;
    } else if (inside == Inside::kBasicText) {
      escaped = c == '\\';
      if (c == '"') inside = Inside::kNothing;
    } else if (inside == Inside::kLiteralText) {
      if (c == '\'') inside = Inside::kNothing;
    } else if (inside == Inside::kNothing) {
      const std::string_view rest = text.substr(i);
      if (rest.starts_with(R"(""")") || rest.starts_with("'''")) {
        return Obstacle{place, "a text of several lines", "write it in one line, in \"…\": no value needs several"};
      }
      if (c == '#') inside = Inside::kComment;
      if (c == '"') inside = Inside::kBasicText;
      if (c == '\'') inside = Inside::kLiteralText;
      if (c == '.' && ++dots > kMaxDotsInLine) {
        return Obstacle{place, fmt::format("more than {} dots in one line", kMaxDotsInLine),
                        "sections are not nested: write each key on a line of its own"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace noisefloor::internal
