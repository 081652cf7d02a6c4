// A folder of its own for a test, removed with all that is in it when the test ends.
#pragma once

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

namespace noisefloor::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() : root_((std::filesystem::temp_directory_path() / "noisefloor_XXXXXX").string()) {
    if (::mkdtemp(root_.data()) == nullptr) std::perror("mkdtemp"), std::abort();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }

 private:
  std::string root_;
};

}  // namespace noisefloor::testing
