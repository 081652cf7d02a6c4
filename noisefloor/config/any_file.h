// A file of which nobody has said what it is: a training, PATE, a simulation of sites, a dataset's description, or a
// pipeline.
//
// Guarantee:     as pipeline.h: reading never fails, and all findings come back with their places, in the order of the
//                file.
// Thread safety: pure functions but for the files that a training names; plain data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/finding.h"
#include "noisefloor/config/pate.h"
#include "noisefloor/config/pipeline.h"
#include "noisefloor/config/pipeline_check.h"
#include "noisefloor/config/simulation_file.h"
#include "noisefloor/config/training.h"
#include "noisefloor/dataset/paying.h"

namespace noisefloor {

struct CheckedPipeline {
  Pipeline pipeline;
  Assessment assessment;
};

struct CheckedFile {
  // What was read; no training or description if there is an error among the findings.
  std::variant<CheckedPipeline, std::optional<Training>, std::optional<DatasetDescription>,
               std::optional<SimulationFile>, std::optional<Pate>>
      content;
  std::vector<Finding> findings;  // of reading and of assessing it
};

// Reads a text as what it is meant as, and checks it. `named` gives the files that a training names.
[[nodiscard]] CheckedFile check_file(std::string_view text, const ReadNamedFile& named = {});

// The dataset that a text describes, or that a training or PATE names or describes. `location` is where the text was
// found: it stands in errors, and a training's files are beside it. kInvalidArgument with the first error, its line and
// its remedy.
[[nodiscard]] Result<DatasetDescription> description_in(std::string_view text, const std::string& location);

// The same for the file at this path, with its folder. kIo if it cannot be read.
[[nodiscard]] Result<DescribedRows> described_rows(const std::string& file);

}  // namespace noisefloor
