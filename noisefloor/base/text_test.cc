#include "noisefloor/base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace noisefloor {
namespace {

TEST(Text, ReadsFiniteNumbersExactly) {
  EXPECT_EQ(parse_finite("0.1"), 0.1);
  EXPECT_EQ(parse_finite("-3"), -3.0);
  EXPECT_EQ(parse_finite("1e-6"), 1e-6);
  EXPECT_EQ(parse_finite("5e-324"), std::numeric_limits<double>::denorm_min());
}

TEST(Text, RefusesEverythingElse) {
  for (const char* bad : {"", " ", " 1", "1 ", "1,5", "nan", "inf", "-inf", "infinity", "1e400", "-1e400", "0x10",
                          "1ms", "1.2.3", "--1", "e5", "one", "+1"}) {
    EXPECT_FALSE(parse_finite(bad).has_value()) << bad;
  }
  EXPECT_FALSE(parse_finite(std::string("1\0", 2)).has_value());
}

TEST(Text, ErrorsNameTheArgumentAndTheText) {
  EXPECT_EQ(parse_number("--epsilon", "1e400").error().message, "--epsilon must be a finite number; got '1e400'");
  EXPECT_EQ(parse_count("--steps", "-1").error().message, "--steps must be a whole number, 0 or above; got '-1'");
  EXPECT_EQ(parse_integer("--value", "9223372036854775808").error().message,
            "--value is out of range: '9223372036854775808'");
}

TEST(Text, ErrorsAreOneShortLineWhateverTheText) {
  std::string message = parse_number("--epsilon", std::string(100000, 'x') + "\n\x1b[2J").error().message;
  EXPECT_LT(message.size(), 120U);
  message = parse_number("--epsilon", "a\nb\x1b").error().message;
  EXPECT_EQ(message, "--epsilon must be a finite number; got 'a\\u{a}b\\u{1b}'");
}

TEST(Shown, WritesOutWhatCannotBeSeen) {
  EXPECT_EQ(shown("naïve 模型"), "'naïve 模型'");
  EXPECT_EQ(shown("\x1b[2J"), "'\\u{1b}[2J'");
  EXPECT_EQ(shown("a\u202Eb\u200Bc\u009B"), "'a\\u{202e}b\\u{200b}c\\u{9b}'");
  EXPECT_EQ(shown("a\xff"), "'a\\xff'");
}

TEST(Shown, CutsAtAWholeCharacter) {
  EXPECT_EQ(shown(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(shown(std::string(41, 'x')), "'" + std::string(40, 'x') + "…'");
  EXPECT_EQ(shown(std::string(39, 'x') + "é"), "'" + std::string(39, 'x') + "…'") << "no half of an é";
  EXPECT_EQ(shown(std::string(38, 'x') + "é"), "'" + std::string(38, 'x') + "é'");
  EXPECT_EQ(shown(std::string(38, 'x') + "\x1b"), "'" + std::string(38, 'x') + "…'") << "no half of an escape";
  EXPECT_LE(shown(std::string(1000, '\x1b')).size(), 45U);
}

TEST(WithoutPassword, LeavesTheRestOfAPlace) {
  EXPECT_EQ(without_password("postgresql://eve:s3cret@db.example/trial"), "postgresql://eve@db.example/trial");
  EXPECT_EQ(without_password("postgres://:s3cret@h:5432/d?sslmode=require"), "postgres://@h:5432/d?sslmode=require");
  EXPECT_EQ(without_password("host=h password=s3cret dbname=d"), "host=h password=***");
  for (const char* same :
       {"study.ledger", "a:b@c", "/tmp/with space/a.ledger", "postgresql://eve@h/d", "postgresql://h",
        "postgresql://h:5432,[::1]:5433/d?sslmode=require", "postgresql:///d", "the password", ""}) {
    EXPECT_EQ(without_password(same), same);
  }
}

// Whatever a password looks like and wherever it stands, no three characters of it are shown.
TEST(WithoutPassword, ShowsNoPartOfAHostilePassword) {
  for (const std::string word :
       {"zqxwvk", "zqx@wvk", "zqx/wvk", "zqx?wvk", "zqx:wvk", "zqx#wvk", "zqx wvk", "zqx&wvk", "zqx=wvk", "zqx://wvk",
        "zqx'wvk", "zqx%40wvk", "zqx[wvk", "zqx\nwvk", "zqx@wvk/zqx@wvk"}) {
    for (const std::string& place :
         {"postgresql://eve:" + word + "@host/db", "postgres://:" + word + "@host", "postgresql://eve:" + word,
          "postgresql://eve:" + word + "@host:5432/db?sslmode=require", "postgresql://host/db?password=" + word,
          "postgresql://host:1/db?password=" + word, std::string("postgresql://eve:wvk?passzqx@host/db"),
          std::string("postgresql://eve:wvk/password=zqx@host/db"),
          "postgresql://host/db?sslmode=require&password=" + word + "&user=eve",
          "postgresql://host/db?pass%77ord=" + word, "postgresql://host/db?PASSWORD=" + word,
          "postgresql://host/db?sslpassword=" + word, "host=h password=" + word,
          "host=h password = '" + word + "' user=e", "PASSWORD\t=\n" + word, "postgress://eve:" + word + "@host/db",
          "password password=" + word}) {
      // Nobody can tell the end of this password from a host.
      if (place == "postgresql://eve:" + word && word.find('@') != std::string::npos) continue;
      for (const std::string& text : {without_password(place), shown(place)}) {
        EXPECT_EQ(text.find("zqx"), std::string::npos) << text;
        EXPECT_EQ(text.find("wvk"), std::string::npos) << text;
      }
    }
  }
}

TEST(SplitList, SplitsAtEveryComma) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split_list("a,bc,d"), (Parts{"a", "bc", "d"}));
  EXPECT_EQ(split_list(",a,"), (Parts{"", "a", ""}));
  EXPECT_EQ(split_list(""), Parts{""});
}

}  // namespace
}  // namespace noisefloor
