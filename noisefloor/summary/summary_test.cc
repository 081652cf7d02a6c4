#include "noisefloor/summary/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "noisefloor/base/printable.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// A name that clears the screen, claims a line of its own, reads backwards, and is not UTF-8 in the end.
constexpr const char* kHostile = "x\x1b[2J\nVERIFIED\u202E\u200B\u009B\xff";
constexpr const char* kWritten = "x\\u{1b}[2J\\u{a}VERIFIED\\u{202e}\\u{200b}\\u{9b}\\xff";

TEST(Summary, WritesOutWhatNamesWouldDoToATerminal) {
  Summary summary(kHostile);
  summary.line("label", kHostile);
  summary.line(kHostile, "text");
  summary.remark(kHostile);
  const std::string written(kWritten);
  EXPECT_EQ(summary.as_text(), written + "\n  label" + std::string(written.size() - 5, ' ') + "  " + written + "\n  " +
                                   written + "  text\n" + written + "\n");
}

TEST(Summary, KeepsItsOwnLinesAndDrawings) {
  Summary summary("Trained naïve");
  summary.above("a\n  b\x1b\n");
  summary.line("curve", "▁▂▃█ ε ≤ 3 … 10⁻⁵");
  summary.line("", "");
  summary.line("model", "C:\\out");
  EXPECT_EQ(summary.as_text(), "a\n  b\\u{1b}\nTrained naïve\n  curve  ▁▂▃█ ε ≤ 3 … 10⁻⁵\n\n  model  C:\\out\n");
}

TEST(Summary, KeepsDataInJsonAndControlsNoTerminal) {
  Summary summary("x");
  const std::string name = "x\x1b[2J\n\x7f\u009B\u202E\U000E0041ε";
  summary.set("name", name);
  const std::string json = summary.as_json();
  EXPECT_EQ(Json::parse(json)["name"], name);
  EXPECT_EQ(json, printable_lines(json)) << "there is nothing left to write out";
  EXPECT_NE(json.find("\\u202e\\udb40\\udc41ε"), std::string::npos) << json;
}

TEST(Summary, GivesDataAsTheyAre) {
  const std::string csv = "id,yes\na\u200Db,1\n\xff,0\n";
  const Summary summary = Summary::of_data(csv);
  EXPECT_EQ(summary.as_text(), csv);
  EXPECT_EQ(Summary(summary).as_text(), csv) << "also in a copy";
}

}  // namespace
}  // namespace noisefloor
