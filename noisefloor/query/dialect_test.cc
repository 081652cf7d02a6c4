#include "noisefloor/query/dialect.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "noisefloor/query/bound.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::query {
namespace {

TEST(Dialect, PageIsWhatTheProgramGoesBy) {
  std::ifstream file(NOISEFLOOR_DIALECT_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string written = std::string(::testing::TempDir()) + "noisefloor-sql.md";
  std::ofstream(written) << dialect_page();
  EXPECT_EQ(page, dialect_page()) << "cp " << written << " docs/reference/sql.md";
}

// Every function on the page is one that the binder knows.
TEST(Dialect, ListsFunctionsThatExist) {
  for (const FunctionEntry& entry : listed_functions()) {
    std::stringstream names{std::string(entry.name)};
    for (std::string name; std::getline(names, name, ',');) {
      name.erase(0, name.find_first_not_of(' '));
      if (name == "nullif") continue;  // a word of the grammar: a CASE
      const Result<Bound> none = bind_function(name, {});
      ASSERT_FALSE(none.has_value());
      EXPECT_NE(none.error().message.find("arguments"), std::string::npos) << none.error().message;
    }
  }
}

}  // namespace
}  // namespace noisefloor::query
