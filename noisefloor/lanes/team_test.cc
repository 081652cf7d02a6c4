#include "noisefloor/lanes/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace noisefloor::lanes {
namespace {

TEST(Team, EveryMemberWorksOnceARound) {
  for (const unsigned size : {1U, 2U, 5U}) {
    Team team(size);
    EXPECT_EQ(team.size(), size);
    std::vector<int> rounds(size);
    for (int round = 1; round <= 1000; ++round) {
      team.run([&](std::size_t member) { ++rounds[member]; });
      // All are done when run() returns: this reads what they wrote.
      EXPECT_EQ(rounds, std::vector<int>(size, round));
    }
  }
}

TEST(Team, MembersAreThreadsOfTheirOwn) {
  Team team(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  team.run([&](std::size_t) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace noisefloor::lanes
