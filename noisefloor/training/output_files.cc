#include "noisefloor/training/output_files.h"

#include <system_error>

namespace noisefloor {

NewFolders::NewFolders(const std::filesystem::path& folder) {
  std::error_code error;
  deepest_ = std::filesystem::absolute(folder, error).lexically_normal();
  if (error) return;
  if (!deepest_.has_filename()) deepest_ = deepest_.parent_path();
  for (std::filesystem::path path = deepest_; path.has_relative_path() && !std::filesystem::exists(path, error);
       path = path.parent_path()) {
    ++missing_;
  }
}

void NewFolders::remove_empty() const {
  std::filesystem::path path = deepest_;
  for (std::size_t i = 0; i < missing_; ++i, path = path.parent_path()) {
    std::error_code error;
    if (!std::filesystem::remove(path, error) && error) return;  // not empty, or not ours to remove
  }
}

}  // namespace noisefloor
