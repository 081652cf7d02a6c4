// Every page says what is so: one test for each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "examine.h"
#include "page.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::docs {
namespace {

namespace fs = std::filesystem;

const Surroundings kHere{.repository = NOISEFLOOR_SOURCE, .programs = NOISEFLOOR_PROGRAMS};

std::vector<std::string> pages() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kHere.repository)) found.push_back(entry.path().string());
  for (const auto& entry : fs::recursive_directory_iterator(kHere.repository + "/docs")) {
    found.push_back(entry.path().string());
  }
  found.erase(
      std::remove_if(found.begin(), found.end(), [](const std::string& path) { return !path.ends_with(".md"); }),
      found.end());
  std::sort(found.begin(), found.end());
  return found;
}

class Docs : public ::testing::TestWithParam<std::string> {};

TEST_P(Docs, SayWhatIsSo) {
  const Findings findings = examine(GetParam(), kHere);
  for (const std::string& elsewhere : findings.elsewhere) std::cout << "shown elsewhere: " << elsewhere << "\n";
  for (const std::string& fault : findings.faults) ADD_FAILURE() << fault;
}

// README.md → README, docs/how-to/publish.md → docs_how_to_publish
std::string test_name(const ::testing::TestParamInfo<std::string>& page) {
  std::string name = fs::relative(page.param, kHere.repository).replace_extension().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Pages, Docs, ::testing::ValuesIn(pages()), test_name);

TEST(DocsReference, HasEveryCommandAsItsHelpHasIt) {
  const testing::TemporaryFolder folder;
  const std::string written = folder.path("cli.md");
  ASSERT_EQ(
      std::system((kHere.repository + "/scripts/cli_reference " + kHere.programs + "/noisefloor >" + written).c_str()),
      0);
  EXPECT_EQ(read_text(kHere.repository + "/docs/reference/cli.md"), read_text(written))
      << "scripts/cli_reference build/dev/noisefloor/cli/noisefloor >docs/reference/cli.md";
}

TEST(DocsIndex, LinksToEveryPage) {
  const Page index = read_page(kHere.repository + "/docs/README.md");
  for (const std::string& page : pages()) {
    const std::string name = fs::relative(page, kHere.repository + "/docs").string();
    if (name.rfind("..", 0) == 0 || name == "README.md" || name.rfind("adr/0", 0) == 0) continue;
    EXPECT_TRUE(
        std::any_of(index.links.begin(), index.links.end(), [&](const Link& link) { return link.target == name; }))
        << "docs/README.md does not lead to " << name;
  }
}

}  // namespace
}  // namespace noisefloor::docs
