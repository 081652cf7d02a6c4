#include "noisefloor/report/attack_page.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/report/png.h"

namespace noisefloor {
namespace {

MembershipOutcome outcome(bool public_rows) {
  std::vector<double> members;
  std::vector<double> others;
  for (int i = 0; i < 2000; ++i) {
    members.push_back(i + 200);
    others.push_back(i);
  }
  audit::Roc roc = audit::Roc::make(members, others).value();
  const auto at = roc.found_at(0.01, Confidence::of(0.95)).value();
  AttackedModels attacked;
  attacked.epsilon = 2;
  attacked.event = GaussianEvent{NoiseMultiplier::of(2)};
  attacked.most_auc = 0.7;
  attacked.findings.push_back({audit::Attack::kRmia, {{0.6, 0.7}, 0.65, std::move(roc)}, at, {}});
  MembershipOutcome made;
  made.name = "<toy>";
  made.pool = 4000;
  made.models = 8;
  made.targets = 2;
  made.delta = 1e-5;
  made.public_rows = public_rows;
  made.attacked.push_back(std::move(attacked));
  return made;
}

TEST(AttackPage, ShowsTablesAndCurvesAndWhoMayReadThem) {
  const std::string page = membership_page(outcome(true), "noisefloor 1");
  EXPECT_EQ(page.find("<toy>"), std::string::npos) << "names are escaped";
  EXPECT_NE(page.find("&lt;toy&gt;"), std::string::npos);
  EXPECT_NE(page.find("0.650 (0.600 to 0.700)"), std::string::npos);
  EXPECT_NE(page.find("what epsilon allows"), std::string::npos);
  EXPECT_EQ(page.find(kForTheCustodian), std::string::npos);
  EXPECT_NE(membership_page(outcome(false), "noisefloor 1").find("For the custodian of the rows only"),
            std::string::npos);
}

TEST(AttackPage, CurvesAreLogarithmicAndLeaveOutWhatNobodyCanTell) {
  const Chart chart = roc_chart(outcome(true).attacked.front(), 1e-5);
  EXPECT_TRUE(chart.log_x && chart.log_y && !chart.from_zero);
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_GE(chart.series[0].points.front().x, 10.0 / 2000);
  for (const Chart::Series& series : chart.series) {
    double before = 0;
    for (const Chart::Point& point : series.points) {
      EXPECT_GE(point.lower, before);
      EXPECT_GT(point.lower, 0);
      EXPECT_LE(point.upper, 1);
      before = point.lower;
    }
  }
  const Chart::Series& limit = chart.series[2];
  for (const Chart::Point& point : limit.points) EXPECT_GE(point.lower, point.x * 0.999) << "above guessing";
  // The axis has its ticks at powers of ten, evenly.
  const std::string svg = to_svg(chart);
  EXPECT_NE(svg.find(">0.0001<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Png, HasTheBytesThatReadersExpect) {
  const std::string png = picture_of(std::vector<double>{0, 1, 0.5, 2}, 2, 2, 1);
  EXPECT_EQ(png.substr(0, 8), std::string("\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  // The checksum of IEND is the same in every file.
  EXPECT_EQ(png.substr(png.size() - 8), std::string("IEND\xae\x42\x60\x82"));
  // A stored block: no filter, then the pixels of each line.
  EXPECT_NE(png.find(std::string("\0\0\xff\0\x80\xff", 6)), std::string::npos);
  const std::string colour = picture_of(std::vector<double>{1, 0, 0}, 1, 1, 3);
  EXPECT_NE(colour.find(std::string("\0\xff\0\0", 4)), std::string::npos);
  EXPECT_GT(picture_of(std::vector<double>(300 * 300, 0.5), 300, 300, 1).size(), 90000U) << "several blocks";
}

TEST(PicturesPage, HoldsThePicturesItself) {
  PicturesPage page{"Inversion of <x>", "What came back.", kForTheCustodian, {}};
  page.rows.push_back({"an update", "PSNR 30 dB", {{"sent", picture_of(std::vector<double>{0.5}, 1, 1, 1)}}});
  const std::string html = to_html(page, "noisefloor 1");
  EXPECT_NE(html.find("data:image/png;base64,iVBORw0KGgo"), std::string::npos);
  EXPECT_NE(html.find("For the custodian"), std::string::npos);
  EXPECT_EQ(html.find("<x>"), std::string::npos);
  EXPECT_EQ(html.find("http://"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
