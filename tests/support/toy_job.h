// A toy training in a folder of its own, for tests of whole jobs without a process.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "noisefloor/ledger/ledger.h"
#include "noisefloor/training/job.h"
#include "noisefloor/training/training_file.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor::testing {

// Remembers what it was told.
class Witnessing final : public TrainingObserver {
 public:
  void begin(const std::string& title) override { titles.push_back(title); }
  void progress(const TrainingProgress& progress, const std::optional<PublicQuality>& quality) override {
    last = progress;
    if (quality) qualities.push_back(*quality);
  }
  void note(const std::string& text) override { notes.push_back(text); }
  void warning(const std::string& text) override { warnings.push_back(text); }
  void earlier_checkpoint(const std::string& path) override { checkpoint_left = path; }
  void conflict(const DatasetConflict& found) override { conflicts.push_back(found); }

  std::vector<std::string> titles;
  TrainingProgress last;
  std::vector<PublicQuality> qualities;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::string checkpoint_left;
  std::vector<DatasetConflict> conflicts;
};

class ToyJob : public ::testing::Test {
 protected:
  ToyJob() {
    write("data.csv", toy_table());
    write("toy.toml", toy_toml());
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }
  // The toy's file with one piece of it replaced.
  void change(const std::string& from, const std::string& to) const {
    std::string text = read("toy.toml");
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write("toy.toml", text.replace(at, from.size(), to));
  }
  void declare_public() const { write("toy.toml", declared_public(read("toy.toml"))); }
  [[nodiscard]] TrainingFile file() const { return value_of(read_training_file(path("toy.toml"))); }
  [[nodiscard]] std::unique_ptr<Ledger> make_ledger(const std::string& name = "ledger") const {
    return value_of(Ledger::create(path(name), SigningKey::generate(), {}));
  }
  [[nodiscard]] TrainingWish wish() const {
    TrainingWish made;
    made.folder = path("out");
    return made;
  }
  // ε spent of the toy's 2.
  [[nodiscard]] static double spent(Ledger& ledger) { return 2 * value_of(ledger.budget("toy")).account.spent_share(); }
  [[nodiscard]] static std::size_t budgets(Ledger& ledger) {
    std::size_t count = 0;
    expect_good(ledger.read([&](const LedgerState& state) -> Result<void> {
      count = state.budgets().size();
      return success();
    }));
    return count;
  }

  TemporaryFolder folder_;
  Witnessing witness_;
  JobControl control_{&witness_, {}};
};

}  // namespace noisefloor::testing
