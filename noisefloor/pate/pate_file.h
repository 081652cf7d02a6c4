// A PATE file that was read: what it asks for, and what its paths are relative to.
//
// Guarantee:     as of training_file.h.
// Errors:        kIo if it cannot be read; kInvalidArgument with the first finding, its place and its remedy in one
//                line.
// Thread safety: plain data; pure functions except for reading.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/config/pate.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

struct PateFile {
  Pate pate;
  TrainingFile teachers;  // the same private data, network and budget, as trainings have them
};

[[nodiscard]] Result<PateFile> read_pate_file(const std::string& path);
// Parses a text that came from elsewhere. `location` names it in errors, and paths are relative to its folder.
[[nodiscard]] Result<PateFile> parse_pate_file(std::string text, const std::string& location);

// Everything that decides how teachers learn, and hence how they vote, in one line: for digests.
[[nodiscard]] std::string teaching_in_words(const Pate& pate);

}  // namespace noisefloor
