#include "noisefloor/pate/ballots.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <numeric>

#include "noisefloor/base/file.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

constexpr std::size_t kLimit = 1 << 20;

BallotTerms terms_of(std::uint8_t work) { return {.work = {work}, .teachers = 3, .queries = 4, .classes = 3}; }

using Ballot = std::vector<std::uint16_t>;

class BallotFiles : public ::testing::Test {
 protected:
  [[nodiscard]] Ballots open(std::uint8_t work = 1) const { return Ballots::open(path_, terms_of(work)).value(); }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("ballots.private");
};

TEST_F(BallotFiles, CountEveryTeacherOnce) {
  Ballots ballots = open();
  EXPECT_FALSE(ballots.counts().has_value()) << "nobody has voted";
  ASSERT_TRUE(ballots.add(0, Ballot{0, 1, 2, 0}).has_value());
  ASSERT_TRUE(ballots.add(2, Ballot{0, 1, 1, 2}).has_value());
  EXPECT_FALSE(ballots.counts().has_value()) << "one is missing";
  EXPECT_FALSE(ballots.add(2, Ballot{0, 1, 1, 2}).has_value()) << "a vote counted twice";
  ASSERT_TRUE(ballots.add(1, Ballot{0, 0, 0, 0}).has_value());
  const std::vector<Votes> counts = ballots.counts().value();
  EXPECT_EQ(counts, (std::vector<Votes>{{3, 0, 0}, {1, 2, 0}, {1, 1, 1}, {2, 0, 1}}));
}

TEST_F(BallotFiles, RefuseWhatIsNotABallot) {
  Ballots ballots = open();
  EXPECT_FALSE(ballots.add(3, Ballot{0, 0, 0, 0}).has_value());
  EXPECT_FALSE(ballots.add(0, Ballot{0, 0, 0}).has_value());
  EXPECT_FALSE(ballots.add(0, Ballot{0, 0, 0, 3}).has_value());
}

TEST_F(BallotFiles, GoOnWithTheSameDivision) {
  ShortKey key;
  {
    Ballots ballots = open();
    key = ballots.shard_key().clone();
    ASSERT_TRUE(ballots.add(1, Ballot{2, 2, 2, 2}).has_value());
    EXPECT_FALSE(Ballots::open(path_, terms_of(1)).has_value()) << "another process must not write beside this one";
  }
  Ballots again = open();
  EXPECT_TRUE(std::equal(key.bytes().begin(), key.bytes().end(), again.shard_key().bytes().begin()));
  EXPECT_TRUE(again.has(1));
  EXPECT_FALSE(again.has(0));
  EXPECT_EQ(again.count(), 1);
}

TEST_F(BallotFiles, RefuseOtherRowsAndOtherTeachers) {
  (void)open(1);
  EXPECT_FALSE(Ballots::open(path_, terms_of(2)).has_value());
  BallotTerms more = terms_of(1);
  more.teachers = 4;
  EXPECT_FALSE(Ballots::open(path_, more).has_value());
  std::ofstream(folder_.path("other"))
      << "a text that is longer than the first line and the terms of a file of ballots "
         "with its key, as every reader of it will have noticed by now, and that is "
         "not one, because it does not begin as such a file begins.";
  EXPECT_FALSE(Ballots::open(folder_.path("other"), terms_of(1)).has_value());
}

TEST_F(BallotFiles, DropARecordThatWasCutShort) {
  {
    Ballots ballots = open();
    ASSERT_TRUE(ballots.add(0, Ballot{0, 1, 2, 0}).has_value());
    ASSERT_TRUE(ballots.add(1, Ballot{0, 1, 2, 1}).has_value());
  }
  const std::string whole = read_file(path_, kLimit).value();
  for (std::size_t cut = 1; cut < 40; cut += 7) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, whole.size() - cut);
    Ballots ballots = open();
    EXPECT_TRUE(ballots.has(0));
    EXPECT_FALSE(ballots.has(1));
    ASSERT_TRUE(ballots.add(1, Ballot{0, 1, 2, 1}).has_value());
  }
  EXPECT_EQ(read_file(path_, kLimit).value(), whole);
  // Cut within the first line or the terms: there is no teacher to lose.
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{140}}) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(open().count(), 0);
  }
}

TEST_F(BallotFiles, FindWhatWasAltered) {
  {
    Ballots ballots = open();
    for (std::size_t teacher = 0; teacher < 3; ++teacher) {
      ASSERT_TRUE(ballots.add(teacher, Ballot{0, 1, 2, 0}).has_value());
    }
  }
  const std::string whole = read_file(path_, kLimit).value();
  const std::size_t record = 8 + 4 * 2 + 32;
  std::string altered = whole;
  altered[whole.size() - 3 * record + 9] ^= 1;
  std::ofstream(path_, std::ios::binary) << altered;
  EXPECT_EQ(Ballots::open(path_, terms_of(1)).error().code, ErrorCode::kVerificationFailed);
  // The record of one teacher in the place of another: one vote counted twice.
  std::string copied = whole;
  copied.replace(whole.size() - 2 * record, record, whole.substr(whole.size() - 3 * record, record));
  std::ofstream(path_, std::ios::binary) << copied;
  EXPECT_FALSE(Ballots::open(path_, terms_of(1)).has_value());
}

TEST_F(BallotFiles, AreForTheirOwnerAloneAndSayThatTheyArePrivate) {
  { std::ofstream file(path_); }  // there before, readable by others
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  (void)open();
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600);
  EXPECT_NE(read_file(path_, kLimit).value().find("PRIVATE"), std::string::npos);
}

TEST_F(BallotFiles, AreWipedBeforeTheyAreRemoved) {
  {
    Ballots ballots = open();
    ASSERT_TRUE(ballots.add(0, Ballot{0, 1, 2, 0}).has_value());
    EXPECT_FALSE(wipe_ballots(path_).has_value()) << "while it is in use";
  }
  // A second name of the same file shows what is left of it.
  const std::string second = folder_.path("second-name");
  ASSERT_EQ(::link(path_.c_str(), second.c_str()), 0);
  EXPECT_TRUE(wipe_ballots(path_).value());
  const std::string left = read_file(second, kLimit).value();
  EXPECT_EQ(left.find_first_not_of('\0'), std::string::npos);
  EXPECT_FALSE(wipe_ballots(path_).value()) << "there is none any more";
  std::ofstream(folder_.path("thesis.txt")) << "years of work";
  EXPECT_FALSE(wipe_ballots(folder_.path("thesis.txt")).has_value());
  EXPECT_EQ(read_file(folder_.path("thesis.txt"), kLimit).value(), "years of work");
}

}  // namespace
}  // namespace noisefloor
