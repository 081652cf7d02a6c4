// The examination of pages finds what is wrong with one: so a page that passes it was really put to the test.
#include "examine.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace noisefloor::docs {
namespace {

// A repository with one page, and programs in its root.
class Examine : public ::testing::Test {
 protected:
  Examine() {
    write("Makefile", "demo: ## show it\n");
    write("tests/some_test.cc", "TEST_F(Some, Test) {}\n");
    write("examples/CMakeLists.txt", "add_executable(built built.cc)\n");
    write("examples/built.cc", "int main() {\n  first();\n  second();\n}\n");
    write("bin/noisefloor",
          "#!/bin/sh\ngrep -q good \"$2\"\n");  // a `noisefloor check` that likes files with "good" in them
    ::chmod(folder_.path("bin/noisefloor").c_str(), 0755);
  }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    std::ofstream(folder_.path(name)) << text;
  }

  [[nodiscard]] Findings findings(const std::string& page, int seconds = 60) const {
    write("page.md", page);
    return examine(folder_.path("page.md"),
                   {.repository = folder_.path("."), .programs = folder_.path("bin"), .seconds = seconds});
  }

  void expect_good(const std::string& page) const {
    for (const std::string& fault : findings(page).faults) ADD_FAILURE() << page << "\n" << fault;
  }

  void expect_fault(const std::string& page, const std::string& what, int seconds = 60) const {
    const std::vector<std::string> faults = findings(page, seconds).faults;
    ASSERT_EQ(faults.size(), 1U) << page;
    EXPECT_EQ(faults[0].rfind("page.md:", 0), 0U) << faults[0];
    EXPECT_NE(faults[0].find(what), std::string::npos) << faults[0];
  }

  testing::TemporaryFolder folder_;
};

std::string fenced(const std::string& language, const std::string& text) {
  return "```" + language + "\n" + text + "\n```\n";
}

TEST_F(Examine, OutputIsComparedWithWhatIsShown) {
  expect_good(fenced("console", "$ echo one; echo two\none\ntwo"));
  expect_fault(fenced("console", "$ echo one; echo two\none"), "page.md:2: prints something else");
  expect_fault(fenced("console", "$ echo one\none\ntwo"), "prints something else");
  expect_fault(fenced("console", "$ echo one\none\n\n$ echo 2.5\n2.6"), "page.md:5: prints something else");
  expect_fault(fenced("console", "$ echo wrong >&2\nright"), "prints something else");
  expect_fault(fenced("console", "output without a command"), "does not begin with a command");
  expect_fault(fenced("console", "output\n$ true"), "does not begin with a command");
}

TEST_F(Examine, CommandsThatFailAreFound) {
  expect_fault(fenced("console", "$ false"), "exit code 1");
  expect_fault(fenced("sh", "true\nfalse\ntrue"), "exit code 1");
  expect_fault(fenced("sh", "false | true"), "exit code 1");
  expect_fault(fenced("sh", "no_such_program"), "exit code 127");
  expect_fault(fenced("sh", "sleep 5"), "exit code 124", 1);
  expect_fault(fenced("console", "$ sleep 5"), "did not end within 1 s", 1);
  expect_good(fenced("console", "$ (exit 3)\n$ echo $?\n3"));
  expect_fault(fenced("console", "$ (exit 4)\n$ echo $?\n3"), "prints something else");
}

TEST_F(Examine, SnippetsOfAPageShareAFolder) {
  expect_good(fenced("sh", "echo 7 >file") +
              fenced("console", "$ cat file\n7\n$ cat \\\n> file\n7\n$ cat <<END\n> 8\n> END\n8\n$ cd / && pwd\n/"));
  expect_good(fenced("console", "$ ls examples\nCMakeLists.txt\nbuilt.cc"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("file"))) << "a page must leave nothing behind";
}

TEST_F(Examine, SnippetsThatNothingTestsAreFound) {
  expect_fault(fenced("python", "print(1)"), "nothing tests snippets of python");
  expect_fault(fenced("text", "$ noisefloor demo"), "a command in a snippet that is not tested");
  expect_fault(fenced("", "$ noisefloor demo"), "a command in a snippet that is not tested");
  expect_fault(fenced("cpp", "first();"), "from FILE");
  expect_fault("<!-- test: skip -->\n" + fenced("sh", "false"), "not known");
  expect_fault("<!-- test: random -->\n" + fenced("sh", "false"), "not known");
  expect_fault("<!-- test: save as x.toml -->\n" + fenced("toml", "a = 1"), "no command after it uses x.toml");
  expect_good(fenced("text", "a ──► b"));
}

TEST_F(Examine, WhatIsTestedElsewhereNamesATestThatIsThere) {
  const auto page = [](const std::string& test) {
    return "<!-- test: covered by " + test + " -->\n" + fenced("sh", "false");
  };
  expect_good(page("Some.Test: takes an hour"));
  expect_good(page("make demo: takes an hour"));
  EXPECT_EQ(findings(page("Some.Test: takes an hour")).elsewhere,
            std::vector<std::string>{"page.md:2: Some.Test: takes an hour"});
  expect_fault(page("Some.Other: takes an hour"), "there is no test Some.Other");
  expect_fault(page("Some: takes an hour"), "there is no test Some");
  expect_fault(page("make coffee: takes an hour"), "no coffee");
  expect_fault(page("Some.Test"), "not known");
}

TEST_F(Examine, FilesAreReadByWhatReadsThem) {
  expect_good(fenced("toml", "name = 'good'"));
  expect_fault(fenced("toml", "name = 'bad'"), "noisefloor check refuses it");
  expect_good("<!-- test: save as x.toml -->\n" + fenced("toml", "name = 'good'") +
              fenced("sh", "noisefloor check x.toml"));
  expect_good(fenced("json", R"({"kind":"gaussian","noise_multiplier":1.1})"));
  expect_fault(fenced("json", R"({"kind":"gaussian","noise_multiplier":-1.1})"), "neither an event nor a statement");
  expect_fault(fenced("json", R"({"kind": "gaussian","noise_multiplier":1.1})"), "would be written as");
}

TEST_F(Examine, CodeIsThatOfAFileThatIsBuilt) {
  const auto page = [](const std::string& file, const std::string& code) {
    return "<!-- test: from " + file + " -->\n" + fenced("cpp", code);
  };
  expect_good(page("examples/built.cc", "first();\nsecond();"));
  expect_fault(page("examples/built.cc", "second();\nfirst();"), "does not have this line, here: first();");
  expect_fault(page("examples/built.cc", "third();"), "does not have this line");
  expect_fault(page("examples/none.cc", "first();"), "there is no examples/none.cc");
  write("examples/loose.cc", "first();\n");
  expect_fault(page("examples/loose.cc", "first();"), "nothing builds examples/loose.cc");
}

TEST_F(Examine, LinksLeadSomewhere) {
  expect_good(
      "# A *first* `title`, and more\n[a](Makefile) [b](#a-first-title-and-more) ![c](examples) "
      "[d](https://example.org)");
  expect_good("`[a](nowhere)`\n" + fenced("text", "[a](nowhere)"));
  expect_fault("[a](nowhere.md)", "there is no nowhere.md");
  expect_fault("# Title\n[a](#titel)", "no such heading: #titel");
  write("other.md", "## Twice\n## Twice\n");
  expect_good("[a](other.md#twice) [b](other.md#twice-1)");
  expect_fault("[a](other.md#twice-2)", "no such heading");
}

TEST(Shows, DotsStandForLinesOrForText) {
  EXPECT_TRUE(shows({"a", "…", "d"}, {"a", "b", "c", "d"}, {}));
  EXPECT_TRUE(shows({"a", "…", "d"}, {"a", "d"}, {}));
  EXPECT_TRUE(shows({"…", "b", "…"}, {"a", "b", "b", "c"}, {}));
  EXPECT_FALSE(shows({"a", "…", "d"}, {"a", "b", "c"}, {}));
  EXPECT_TRUE(shows({"so … on (and [on])"}, {"so it goes on (and [on])"}, {}));
  EXPECT_FALSE(shows({"so … on (and [on])"}, {"so it goes on and on"}, {}));
}

TEST(Shows, OnlyTheNumbersOfNamedLinesVary) {
  EXPECT_TRUE(shows({"released   3.5 (± 2)"}, {"released -12.75 (± 1e-09)"}, {"released"}));
  EXPECT_FALSE(shows({"released   3.5 (± 2)"}, {"released -12.75 (± 1e-09)"}, {"epsilon"}));
  EXPECT_FALSE(shows({"released   3.5"}, {"released nan"}, {"released"}));
  EXPECT_FALSE(shows({"released 3.5", "epsilon 1"}, {"released 4.5", "epsilon 2"}, {"released"}));
  EXPECT_TRUE(shows({"released 3.5", "epsilon 1"}, {"released 4.5", "epsilon 2"}, {""}));
  EXPECT_FALSE(shows({"released 3.5"}, {"freed 3.5"}, {""}));
}

}  // namespace
}  // namespace noisefloor::docs
