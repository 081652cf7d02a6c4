// A training file as it was read: what it asks for, and where its paths lead.
//
// Guarantee:     text, digest and training are of one reading: a file that changes afterwards changes none of them.
// Errors:        kIo if it cannot be read; kInvalidArgument with the first finding, its place and its remedy in one line.
// Thread safety: plain data; pure functions but for reading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/table/text_tokens.h"

namespace noisefloor {

struct TrainingFile {
  Training training;
  std::string folder;                 // that its paths are relative to
  std::vector<std::string> warnings;  // one line each
  std::string location;               // its own path
  std::string text;

  [[nodiscard]] std::string resolve(const std::string& path) const;
  // The digest of its text, and of the description of the dataset that it names, in hex.
  [[nodiscard]] std::string digest() const;
};

[[nodiscard]] Result<TrainingFile> read_training_file(const std::string& path);
// A text that came from elsewhere. `location` names it in errors, and its folder is what paths are relative to. Reads the file
// of the alphabet, if the data are a text that has one.
[[nodiscard]] Result<TrainingFile> parse_training_file(std::string text, const std::string& location);

// The characters that the texts of such data are made of. Requires a format from a TrainingFile.
[[nodiscard]] Result<Alphabet> alphabet_of(const TextFormat& format);

}  // namespace noisefloor
