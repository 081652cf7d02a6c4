// A training file that was read: what it asks for, and what its paths are relative to.
//
// Guarantee:     text, digest and training come from one reading: a file that changes afterwards changes none of them.
// Errors:        kIo if it cannot be read; kInvalidArgument with the first finding, its place and its remedy in one
//                line.
// Thread safety: plain data; pure functions except for reading.
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
  std::string folder;                 // its paths are relative to this
  std::vector<std::string> warnings;  // one line each
  std::string location;               // its own path
  std::string text;

  [[nodiscard]] std::string resolve(const std::string& path) const;
  // The digest of its text, and of the description of the dataset that it names, in hex.
  [[nodiscard]] std::string digest() const;
};

[[nodiscard]] Result<TrainingFile> read_training_file(const std::string& path);
// Parses a text that came from elsewhere. `location` names it in errors, and paths are relative to the folder of
// `location`. Reads the file of the alphabet, if the data are a text that has one.
[[nodiscard]] Result<TrainingFile> parse_training_file(std::string text, const std::string& location);

// The characters that such texts consist of. Requires a format from a TrainingFile.
[[nodiscard]] Result<Alphabet> alphabet_of(const TextFormat& format);

}  // namespace noisefloor
