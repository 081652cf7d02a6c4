// Every mechanism has a test that compares it with all neighbours (neighbours_test.cc). A header of mechanisms/ that is
// not named here fails this test, and so does one whose test is gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace noisefloor {
namespace {

// Header → the test of suite Neighbours, or why there is nothing to test.
const std::map<std::string, std::string>& registry() {
  static const std::map<std::string, std::string> all = {
      {"above_threshold.h", "OfThresholds"},
      {"answer_grid.h", "no mechanism: the grid that answers are rounded to"},
      {"bounded_sum.h", "OfSums"},
      {"counted_quantile.h", "OfCountedQuantiles"},
      {"dimension.h", "no mechanism: checks a number"},
      {"gaussian.h", "OfNumbersWithAStatedSensitivity"},
      {"geometric.h", "OfNumbersWithAStatedSensitivity"},
      {"histogram.h", "OfHistograms"},
      {"laplace.h", "OfNumbersWithAStatedSensitivity"},
      {"noise_on_lattice.h", "no mechanism: what those with noise on a grid share"},
      {"partition_selection.h", "OfNamedGroups"},
      {"quantile.h", "OfQuantiles"},
      {"randomized_response.h", "OfReports"},
      {"release.h", "no mechanism: what one returns"},
      {"selection.h", "OfSelections"},
      {"sensitivity.h", "OfSums"},
      {"tree_count.h", "OfRunningTotals"},
  };
  return all;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(MechanismRegistry, NamesEveryHeaderOfMechanisms) {
  std::size_t headers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NOISEFLOOR_MECHANISMS)) {
    if (entry.path().extension() != ".h") continue;
    ++headers;
    EXPECT_EQ(registry().count(entry.path().filename().string()), 1U)
        << entry.path().filename() << " is not named here: compare it with all neighbours in neighbours_test.cc, under "
        << "both relations and with a mutant";
  }
  EXPECT_EQ(headers, registry().size()) << "a header that is named here is gone";
}

TEST(MechanismRegistry, NamesTestsThatThereAre) {
  const std::string tests = text_of(std::filesystem::path(NOISEFLOOR_NEIGHBOURS) / "neighbours_test.cc");
  ASSERT_FALSE(tests.empty());
  for (const auto& [header, test] : registry()) {
    if (test.starts_with("no mechanism: ")) continue;
    EXPECT_NE(tests.find("TEST(Neighbours, " + test + ")"), std::string::npos) << header;
    EXPECT_NE(text_of(std::filesystem::path(NOISEFLOOR_MECHANISMS) / header), "") << header;
  }
}

}  // namespace
}  // namespace noisefloor
