// Reports as chromium renders them, on phones and desktops, in light and dark (audit.js), and mutants of them whose
// faults must be found.
//
// NOISEFLOOR_SCREENSHOTS=DIR keeps pictures and a print of what was looked at there.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor {
namespace {

using testing::noisefloor_run;
using testing::Outcome;
using testing::read_file;
using testing::shell;
using testing::TemporaryFolder;
using Json = nlohmann::json;

constexpr int kPhone = 360;
constexpr int kDesktop = 1280;
constexpr std::size_t kUsualBytes = 200'000;  // 1 MB is what mail takes; pages are far from it

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  EXPECT_NE(text.find(what), std::string::npos) << "a mutant needs: " << what;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  return text.substr(at + begin.size(), text.find(end, at) - at - begin.size());
}

enum class Scheme : std::uint8_t { kLight, kDark };

class ReportPage : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(shell("command -v chromium").exit_code, 0) << "reports are tested in chromium, which is not installed: "
                                                            "scripts/bootstrap test, or apt-get install chromium";
    write(path("data.csv"), testing::toy_table());
    // A name that has to wrap, and that would be markup if it were let.
    write(path("train.toml"), replaced(testing::toy_toml(), "name = \"toy\"",
                                       "name = \"a-rather-long-name-of-a-model-for-phones <b>&amp;</b>\""));
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }

  // `noisefloor COMMAND train.toml`, into a folder.
  void run(const std::string& command, const std::string& output, const std::string& more) const {
    const Outcome outcome = noisefloor_run(command + " " + path("train.toml") + " --create --quiet --ledger " +
                                           path("ledger") + " --output " + path(output) + " " + more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  // A training with everything that a report can show: longer ones write such logs.
  [[nodiscard]] std::string full_report() const {
    run("train", "out", "--no-report --epsilon 1.5");
    std::string metrics;
    for (int step = 1; step <= 40; ++step) {
      metrics += Json{{"step", step},
                      {"epsilon", 1.5 * std::sqrt(step / 40.0)},
                      {"clip_norm", 1 + 0.01 * step},
                      {"validation_loss", 0.2 + 1.0 / step},
                      {"validation_accuracy", 0.95 - 0.4 / step}}
                     .dump() +
                 "\n";
    }
    write(path("out/metrics.jsonl"), metrics);
    std::string graph = "clip_norm,accuracy,noise_multiplier,lowest,mean,highest\n";
    for (const char* clip : {"0.05", "0.1", "0.5"}) {
      for (const double noise : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
        const double left = 1 / (1 + noise * std::atof(clip));
        graph += std::string(clip) + ",0.9," + std::to_string(noise) + "," + std::to_string(left - 0.02) + "," +
                 std::to_string(left) + "," + std::to_string(left + 0.02) + "\n";
      }
    }
    write(path("out/utility-graph.csv"), graph);
    const Outcome outcome = noisefloor_run("report " + path("out") + " --ledger " + path("ledger"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_file(path("out/report.html"));
  }

  [[nodiscard]] std::string browser(const std::string& more, int width, int height, Scheme scheme) const {
    // Every name is unknown, so that nothing could be fetched.
    return "timeout 60 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
           "--hide-scrollbars --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir=" +
           path("profile") + " --window-size=" + std::to_string(width) + "," + std::to_string(height) +
           (scheme == Scheme::kDark ? " --blink-settings=preferredColorScheme=0"
                                    : " --blink-settings=preferredColorScheme=1") +
           " " + more;
  }

  // What audit.js finds in the page. The policy of the page forbids scripts: for the look it is taken out.
  [[nodiscard]] Json audit(const std::string& html, int width, Scheme scheme) const {
    std::string page = html;
    const std::string policy = between(page, "<meta http-equiv=\"Content-Security-Policy\"", ">");
    page = replaced(page, "<meta http-equiv=\"Content-Security-Policy\"" + policy + ">", "");
    page = replaced(page, "</body>", "<script>" + read_file(NOISEFLOOR_AUDIT) + "</script></body>");
    // Windows have a least width that is above that of phones; frames have none.
    page = replaced(replaced(page, "&", "&amp;"), "\"", "&quot;");
    write(path("page.html"), "<!doctype html><body style=\"margin:0\"><iframe style=\"border:0;height:900px;width:" +
                                 std::to_string(width) + "px\" srcdoc=\"" + page + "\"></iframe></body>");
    const Outcome outcome = shell(browser("--dump-dom file://" + path("page.html"), kDesktop, 900, scheme));
    std::string found = between(outcome.out, "<pre id=\"audit-result\">", "</pre>");
    EXPECT_FALSE(found.empty()) << "chromium says: " << outcome.err.substr(0, 2000);
    if (found.empty()) return Json{};
    for (const auto& [what, by] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (std::size_t at = found.find(what); at != std::string::npos; at = found.find(what, at + 1)) {
        found.replace(at, std::string(what).size(), by);
      }
    }
    return Json::parse(found);
  }

  void keep_pictures(const std::string& html, const std::string& name) const {
    const char* folder = std::getenv("NOISEFLOOR_SCREENSHOTS");
    if (folder == nullptr) return;
    write(path("page.html"), html);
    const std::string file = " file://" + path("page.html");
    const std::string to = std::string(folder) + "/" + name;
    for (const int width : {kPhone, kDesktop}) {
      for (const Scheme scheme : {Scheme::kLight, Scheme::kDark}) {
        const std::string picture =
            to + "-" + std::to_string(width) + (scheme == Scheme::kDark ? "-dark.png" : "-light.png");
        (void)shell(browser("--screenshot=" + picture + file, width, width == kPhone ? 9600 : 4800, scheme));
      }
    }
    (void)shell(browser("--no-pdf-header-footer --print-to-pdf=" + to + ".pdf" + file, kDesktop, 900, Scheme::kDark));
  }

  void expect_faultless(const std::string& html, int width, Scheme scheme, int charts) const {
    const Json found = audit(html, width, scheme);
    if (found.is_null()) return;
    EXPECT_EQ(found["faults"], Json::array()) << found["faults"].dump(1);
    EXPECT_EQ(found["width"], width);
    EXPECT_EQ(found["dark"], scheme == Scheme::kDark);
    EXPECT_EQ(found["charts"], charts);
    EXPECT_GE(found["least_contrast"], 4.5);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ReportPage, ATrainingOnPhonesAndDesktopsInLightAndDark) {
  const std::string html = full_report();
  keep_pictures(html, "training");
  EXPECT_LT(html.size(), kUsualBytes);
  for (const char* mark : {"http:", "https:", "<script", "<img", "<link", "url("}) {
    EXPECT_EQ(html.find(mark), std::string::npos) << mark;
  }
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const int width : {kPhone, kDesktop}) {
    // ε(δ), trade-off, by ε, utility graph, loss, ε by step, clip norm, scale.
    for (const Scheme scheme : {Scheme::kLight, Scheme::kDark}) expect_faultless(html, width, scheme, 8);
  }
}

TEST_F(ReportPage, ASweepAndAModelWithoutPrivacy) {
  run("sweep", "sweep", "--epsilons 0.5,1,inf");
  const std::string sweep = read_file(path("sweep/report.html"));
  keep_pictures(sweep, "sweep");
  expect_faultless(sweep, kPhone, Scheme::kDark, 4);
  run("train", "plain", "--replay-seed 7");
  const std::string plain = read_file(path("plain/report.html"));
  keep_pictures(plain, "plain");
  EXPECT_NE(plain.find("NOT PRIVATE"), std::string::npos);
  expect_faultless(plain, kPhone, Scheme::kLight, 0);
}

// Faults that the look at good pages would not be worth anything without.
TEST_F(ReportPage, MutantsAreFound) {
  const std::string good = full_report();
  std::string bad = good;
  bad = replaced(bad, ">type I error (false alarms)</text>",
                 ">type I error, which is the share of false alarms of a test</text>");
  bad = replaced(bad, ">type II error (misses)</text>", "></text>");
  bad = replaced(bad, "<h3>Utility graph</h3>", "<h5>Utility graph</h5>");
  bad = replaced(bad, "aria-labelledby=\"loss-narrow-t loss-narrow-d\"", "");
  bad = replaced(bad, ".lead{", ".lead{margin-top:-30px;");
  bad = replaced(bad, "<footer>",
                 "<footer><img src=\"http://example.invalid/x.png\" alt=\"\"><p style=\"width:500px\">wide</p>");
  bad = replaced(bad, "--muted:#4a5766", "--muted:#98a3ae");
  bad = replaced(bad, "class=\"scroll\" role=\"region\" tabindex=\"0\"", "class=\"scroll\" role=\"region\"");
  const Json light = audit(bad, kPhone, Scheme::kLight);
  const auto has = [](const Json& found, const std::string& kind, const std::string& text) {
    for (const Json& fault : found["faults"]) {
      const auto words = fault.get<std::string>();
      if (words.rfind(kind + ":", 0) == 0 && words.find(text) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(light, "clipped", "type I error, which")) << light.dump(1);
  EXPECT_TRUE(has(light, "axis", "y of What a test")) << light.dump(1);
  EXPECT_TRUE(has(light, "heading", "H5")) << light.dump(1);
  EXPECT_TRUE(has(light, "name", "a picture has none")) << light.dump(1);
  EXPECT_TRUE(has(light, "overlap", "Budget")) << light.dump(1);
  EXPECT_TRUE(has(light, "overflow", "the page is")) << light.dump(1);
  EXPECT_TRUE(has(light, "network", "example.invalid")) << light.dump(1);
  EXPECT_TRUE(has(light, "contrast", "one record")) << light.dump(1);
  EXPECT_TRUE(has(light, "keyboard", "scrolled")) << light.dump(1);
  // In dark, and in a picture.
  const Json dark = audit(replaced(good, "--muted:#aab6c2", "--muted:#5d6874"), kDesktop, Scheme::kDark);
  EXPECT_TRUE(has(dark, "contrast", "\"0.5\"")) << dark.dump(1);
}

}  // namespace
}  // namespace noisefloor
