#include "noisefloor/summary/starter_summary.h"

#include <gtest/gtest.h>

#include "tests/support/summary_reading.h"

namespace noisefloor {
namespace {

using testing::expect_says;
using testing::fields_of;
using testing::says;
using Json = nlohmann::ordered_json;

TEST(StarterSummary, SaysWhatIsLeftToFillIn) {
  const StarterFiles files{"out/visits.toml", "out/visits-training.toml", 3};
  const Summary summary = summary_of(files, {.table = "visits.csv"});
  expect_says(summary, "Wrote two files for 'visits.csv'\n");
  expect_says(summary, "  description  out/visits.toml: where the rows are");
  expect_says(summary, "  columns      3, with the types");
  expect_says(summary, "Fill in what is marked \"FILL IN\"");
  EXPECT_EQ(fields_of(summary),
            (Json{{"description", "out/visits.toml"}, {"training", "out/visits-training.toml"}, {"columns", 3}}));
  const Summary open = summary_of(files, {.table = "visits.csv", .is_public = true});
  expect_says(open, "which you declared public.\n");
  EXPECT_FALSE(says(open, "FILL IN"));
}

}  // namespace
}  // namespace noisefloor
