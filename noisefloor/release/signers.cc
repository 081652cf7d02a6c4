#include "noisefloor/release/signers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxSignersBytes = std::size_t{1} << 20;
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Result<PublicKey> parse_public_key(std::string_view text) {
  PublicKey key{};
  if (from_hex(text, key)) return key;
  return invalid_argument(fmt::format("a public key is {} hexadecimal digits, as `verify` shows them; {} was given",
                                      2 * key.size(), shown(text)));
}

Result<std::vector<Signer>> parse_signers(std::string_view text) {
  std::vector<Signer> signers;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty() || content.front() == '#') continue;
    const std::size_t space = std::min(content.find_first_of(kBlanks), content.size());
    Result<PublicKey> key = parse_public_key(content.substr(0, space));
    if (!key.has_value()) return input_data_error(fmt::format("line {}: {}", line, key.error().message));
    signers.push_back({key.value(), std::string(trimmed(content.substr(space)))});
  }
  if (signers.empty()) return input_data_error("there is no signer in it: write a public key and a name on each line");
  return signers;
}

Result<std::vector<Signer>> read_signers(const std::string& path) {
  NF_TRY(const std::string text, read_file(path, kMaxSignersBytes));
  Result<std::vector<Signer>> signers = parse_signers(text);
  if (signers.has_value()) return signers;
  return Error{signers.error().code, fmt::format("{}: {}", shown(path), signers.error().message)};
}

Result<std::vector<Signer>> signers_named(std::span<const std::string> words) {
  std::vector<Signer> signers;
  for (const std::string& word : words) {
    if (const Result<PublicKey> key = parse_public_key(word); key.has_value()) {
      signers.push_back({key.value(), ""});
      continue;
    }
    NF_TRY(const std::vector<Signer> more, read_signers(word));
    signers.insert(signers.end(), more.begin(), more.end());
  }
  return signers;
}

const Signer* find_signer(std::span<const Signer> signers, const PublicKey& key) {
  const auto found = std::find_if(signers.begin(), signers.end(), [&](const Signer& one) { return one.key == key; });
  return found == signers.end() ? nullptr : &*found;
}

}  // namespace noisefloor
