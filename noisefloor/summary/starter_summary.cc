#include "noisefloor/summary/starter_summary.h"

#include <fmt/format.h>

#include "noisefloor/base/text.h"

namespace noisefloor {

Summary summary_of(const StarterFiles& files, const StarterRequest& request) {
  Summary summary(fmt::format("Wrote two files for {}", shown(request.table)));
  summary.set("description", files.description);
  summary.set("training", files.training);
  summary.set("columns", files.columns);
  summary.line("description",
               fmt::format("{}: where the rows are, what is public about them, what they may cost", files.description));
  summary.line("training", fmt::format("{}: what to learn from them", files.training));
  summary.line("columns", fmt::format("{}, with the types that their cells have", files.columns));
  summary.remark(request.is_public
                     ? "Bounds and values were read from the table, which you declared public."
                     : "Fill in what is marked \"FILL IN\": bounds and values were not read from the table, because "
                       "a description must not be made from private data.");
  return summary;
}

Summary summary_of(const TablesStarterFile& file) {
  Summary summary(fmt::format("Wrote the description {}", shown(file.description)));
  summary.set("description", file.description);
  summary.set("tables", file.tables);
  summary.set("columns", file.columns);
  summary.line("tables", fmt::format("{}, with {} columns", file.tables, file.columns));
  summary.line("next", fmt::format("noisefloor check {0}; then noisefloor dataset add {0}", file.description));
  summary.remark(
      "Fill in what is marked \"FILL IN\": bounds were not read from the tables, because a description must not be "
      "made "
      "from private data.");
  return summary;
}

}  // namespace noisefloor
