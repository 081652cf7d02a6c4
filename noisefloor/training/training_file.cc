#include "noisefloor/training/training_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxTrainingBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxAlphabetBytes = std::size_t{1} << 20;

std::string one_line(const std::string& path, const Finding& finding) {
  return fmt::format("{}:{}:{}: {}; {}", path, finding.place.line, finding.place.column, finding.message,
                     finding.remedy);
}

// Reads the characters of an alphabet from the first line of its file.
Result<void> read_alphabet(TrainingFile& file) {
  auto* format = std::get_if<TextFormat>(&file.training.data.format);
  if (format == nullptr || !format->alphabet) return success();
  NF_TRY(const std::string text, read_file(file.resolve(*format->alphabet), kMaxAlphabetBytes));
  format->characters = text.substr(0, text.find('\n'));
  NF_TRY_VOID(alphabet_of(*format));
  return success();
}

}  // namespace

std::string TrainingFile::resolve(const std::string& path) const {
  return (std::filesystem::path(folder) / path).string();
}

std::string TrainingFile::digest() const {
  if (!training.data.dataset) return to_hex(blake2b(text));
  return to_hex(blake2b(text + "\n" + to_hex(digest_of(*training.data.dataset))));
}

Result<Alphabet> alphabet_of(const TextFormat& format) {
  if (!format.alphabet) return Alphabet::bytes();
  return Alphabet::of(format.characters, format.replacement);
}

Result<TrainingFile> read_training_file(const std::string& path) {
  NF_TRY(std::string text, read_file(path, kMaxTrainingBytes));
  return parse_training_file(std::move(text), path);
}

Result<TrainingFile> parse_training_file(std::string text, const std::string& location) {
  TrainingText read = read_training(text, files_beside(location));
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  for (const Finding& finding : read.findings) {
    (finding.severity == Severity::kError ? errors : warnings).push_back(one_line(location, finding));
  }
  if (!read.training) {
    const std::string more = errors.size() > 1 ? fmt::format(" (and {} more)", errors.size() - 1) : "";
    return invalid_argument((errors.empty() ? location + ": cannot be read" : errors.front()) + more);
  }
  TrainingFile file{*std::move(read.training), std::filesystem::path(location).parent_path().string(),
                    std::move(warnings), location, std::move(text)};
  NF_TRY_VOID(read_alphabet(file));
  return file;
}

}  // namespace noisefloor
