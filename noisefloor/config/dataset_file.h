// A dataset's description as a TOML file: docs/formats/dataset.md has every key.
//
// Guarantee:     as in pipeline.h: reading never fails, all findings come back with their places, every value that is
//                read has the right type and is in its range, and nothing is ignored.
// Thread safety: pure functions; plain data.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "noisefloor/config/finding.h"
#include "noisefloor/dataset/description.h"

namespace noisefloor {

struct DatasetText {
  std::optional<DatasetDescription> description;  // empty if there is an error among the findings
  std::vector<Finding> findings;
};

[[nodiscard]] DatasetText read_dataset(std::string_view text);

// Whether a text is meant as a dataset's description: it states the format of its data, and has no [model].
[[nodiscard]] bool is_dataset(std::string_view text);

}  // namespace noisefloor
