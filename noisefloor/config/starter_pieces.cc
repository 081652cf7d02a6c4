#include "noisefloor/config/starter_pieces.h"

#include <fmt/format.h>

#include "noisefloor/base/text.h"
#include "noisefloor/config/blank.h"

namespace noisefloor {

std::string internal::toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string internal::list_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + toml_text(text);
  return "[" + out + "]";
}

std::string internal::blank() { return toml_text(kBlank); }

Result<void> internal::expect_new(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return success();
  return invalid_argument(
      fmt::format("{} exists, and init overwrites nothing: remove it, or give another name", shown(path.string())));
}

std::string internal::seen_from(const std::filesystem::path& folder, const std::string& file) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::relative(file, folder, error);
  return error || relative.empty() ? std::filesystem::absolute(file).string() : relative.string();
}

}  // namespace noisefloor
