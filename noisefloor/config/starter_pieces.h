// Pieces of files that are written for a person to fill in. Internal to config/.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::internal {

// The text in quotes, escaped as TOML requires; a list of them; and the mark of what is to be filled in.
[[nodiscard]] std::string toml_text(std::string_view text);
[[nodiscard]] std::string list_of(const std::vector<std::string>& texts);
[[nodiscard]] std::string blank();

// kInvalidArgument if the file exists: nothing is overwritten.
[[nodiscard]] Result<void> expect_new(const std::filesystem::path& path);
// The path of a file as a file in `folder` states it.
[[nodiscard]] std::string seen_from(const std::filesystem::path& folder, const std::string& file);

}  // namespace noisefloor::internal
