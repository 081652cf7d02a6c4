#include "noisefloor/cli/described.h"

#include <fmt/format.h>

#include "noisefloor/base/text.h"

namespace noisefloor::cli {

Error with_remedy(Error error, const std::optional<DatasetConflict>& conflict, const std::string& file) {
  if (conflict && conflict->kind == DatasetConflict::Kind::kOtherDataset) {
    error.message += fmt::format(". To let it spend from the budget of {0}: noisefloor dataset add {1} --same-as {0}",
                                 shown(conflict->owner), shown(file));
  }
  return error;
}

}  // namespace noisefloor::cli
