#include "noisefloor/cli/described.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "noisefloor/base/input.h"
#include "noisefloor/base/text.h"
#include "noisefloor/config/any_file.h"

namespace noisefloor::cli {

Result<DescribedRows> described_rows(const std::string& file) {
  const Result<std::string> text = read_text(file);
  if (!text.has_value()) return io_error(text.error().message);
  NF_TRY(DatasetDescription description, description_in(text.value(), file));
  return DescribedRows{std::move(description), std::filesystem::path(file).parent_path().string()};
}

Error with_remedy(Error error, const std::optional<DatasetConflict>& conflict, const std::string& file) {
  if (conflict && conflict->kind == DatasetConflict::Kind::kOtherDataset) {
    error.message += fmt::format(". To let it spend from the budget of {0}: noisefloor dataset add {1} --same-as {0}",
                                 shown(conflict->owner), shown(file));
  }
  return error;
}

}  // namespace noisefloor::cli
