// The paths of a run's files: all of them are in one folder.
//
// Guarantee:     NewFolders removes only folders that were not there before and are empty.
// Thread safety: plain data.
#pragma once

#include <filesystem>
#include <string>

namespace noisefloor {

inline constexpr const char* kRunNotesName = "run.json";  // the results of the run, and its command
inline constexpr const char* kUtilityTableName =
    "utility-graph.csv";  // utility graph of the plan that the run followed
inline constexpr const char* kPlanName = "plan.json";

struct OutputFiles {
  std::filesystem::path folder;
  [[nodiscard]] std::string model() const { return (folder / "model.safetensors").string(); }
  [[nodiscard]] std::string certificate() const { return (folder / "certificate.json").string(); }
  [[nodiscard]] std::string metrics() const { return (folder / "metrics.jsonl").string(); }
  [[nodiscard]] std::string checkpoint() const { return (folder / "checkpoint.safetensors").string(); }
  [[nodiscard]] std::string plan() const { return (folder / kPlanName).string(); }
  [[nodiscard]] std::string notes() const { return (folder / kRunNotesName).string(); }
  [[nodiscard]] std::string audit() const { return (folder / "audit.json").string(); }
  [[nodiscard]] std::string utility_table() const { return (folder / kUtilityTableName).string(); }
};

// Remembers which part of a path does not exist yet, so that a run that is refused leaves nothing behind.
class NewFolders {
 public:
  explicit NewFolders(const std::filesystem::path& folder);
  // Removes the folders that were created since, if they are empty.
  void remove_empty() const;

 private:
  std::filesystem::path deepest_;
  std::size_t missing_ = 0;  // how many of the last parts of the path did not exist
};

}  // namespace noisefloor
