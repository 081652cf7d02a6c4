#include "noisefloor/training/worker_processes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

// Each worker runs the script with its rank as $1 and the meeting as $2.
std::unique_ptr<WorkerProcesses> shells(std::size_t size, const std::string& script) {
  return value_of(WorkerProcesses::start("/bin/sh", size, [&](std::size_t rank, const std::string& meeting) {
    return std::vector<std::string>{"sh", "-c", script, "sh", std::to_string(rank), meeting};
  }));
}

TEST(WorkerProcesses, EachHasItsRankAndAllHaveOneMeeting) {
  const testing::TemporaryFolder folder;
  std::string meeting;
  {
    const auto workers = shells(3, "echo \"$2\" >" + folder.path("rank-$1"));
    meeting = workers->meeting();
  }  // They were waited for.
  for (const char* name : {"rank-1", "rank-2"}) {
    std::ifstream file(folder.path(name));
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, meeting) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("rank-0"))) << "this process is the first";
  EXPECT_FALSE(std::filesystem::exists(folder.path("rank-3")));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(meeting).parent_path())) << "the folder goes with them";
}

TEST(WorkerProcesses, TheReasonIsTheLastLineOfOneThatHasItsOwn) {
  const auto workers = shells(4, R"(case $1 in
    1) echo 'a worker is gone: start again' >&2 ;;
    2) echo 'step 1' >&2; echo 'noisefloor: no memory' >&2 ;;
    3) echo 'later' >&2 ;;
  esac)");
  EXPECT_EQ(workers->last_words(), "worker 2: noisefloor: no memory");
}

TEST(WorkerProcesses, WhoSaysNothingGivesNoReason) {
  EXPECT_EQ(shells(2, "exit 1")->last_words(), std::nullopt);
  EXPECT_EQ(shells(1, "exit 1")->last_words(), std::nullopt);
}

TEST(WorkerProcesses, RefusesAProgramThatIsNotThere) {
  const auto nothing = [](std::size_t, const std::string&) { return std::vector<std::string>{"x"}; };
  expect_error(WorkerProcesses::start("/nowhere", 2, nothing), ErrorCode::kIo, "worker 1 could not be started");
}

}  // namespace
}  // namespace noisefloor
