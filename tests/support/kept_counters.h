// The counters of this machine as they were at some moment, for tests that go back in time: what they put back is as if
// it had never happened, which counters exist to notice.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace noisefloor::testing {

inline std::string state_folder() {
  const char* folder = std::getenv("NOISEFLOOR_STATE_DIR");
  EXPECT_NE(folder, nullptr);
  return folder == nullptr ? "" : folder;
}

class KeptCounters {
 public:
  void keep() {
    files_.clear();
    if (!std::filesystem::exists(state_folder())) return;
    for (const auto& entry : std::filesystem::directory_iterator(state_folder())) {
      std::ifstream in(entry.path(), std::ios::binary);
      files_[entry.path().string()] = {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
  }
  void put_back() const {
    std::filesystem::remove_all(state_folder());
    std::filesystem::create_directories(state_folder());
    for (const auto& [path, content] : files_) std::ofstream(path, std::ios::binary) << content;
  }
  // As if the machine were another one, or its counters lost.
  static void lose() {
    std::filesystem::remove_all(state_folder());
    std::filesystem::create_directories(state_folder());
  }

 private:
  std::map<std::string, std::string> files_;
};

}  // namespace noisefloor::testing
