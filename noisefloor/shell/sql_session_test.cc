#include "noisefloor/shell/sql_session.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

class SqlSessionTest : public ::testing::Test {
 protected:
  std::vector<std::string> asked_;
  std::vector<std::string> explained_;
  SqlSession session_{"visits",
                      {[this](const std::string& statement) -> Result<std::string> {
                         asked_.push_back(statement);
                         if (statement.find("bad") != std::string::npos) return invalid_argument("refused");
                         return std::string("answer\n");
                       },
                       [this](const std::string& statement) -> Result<std::string> {
                         explained_.push_back(statement);
                         return std::string("costs\n");
                       },
                       [] { return Result<std::string>("left\n"); }, [] { return Result<std::string>("tables\n"); }},
                      {"visits", "cost", "ward", "wards"}};
};

TEST_F(SqlSessionTest, AsksWhenAStatementIsComplete) {
  EXPECT_EQ(session_.prompt(), "visits> ");
  EXPECT_EQ(session_.take("SELECT count(*)").text, "");
  EXPECT_EQ(session_.prompt(), "     -> ");
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(session_.take("FROM visits;  ").text, "answer\n");
  EXPECT_EQ(asked_, (std::vector<std::string>{"SELECT count(*)\nFROM visits;"}));
  EXPECT_EQ(session_.take("SELECT bad;").error->message, "refused");
  (void)session_.take("SELECT");
  session_.give_up();
  EXPECT_EQ(session_.prompt(), "visits> ");
}

TEST_F(SqlSessionTest, ASemicolonInATextEndsNothing) {
  for (const char* open : {"SELECT ';", "SELECT \";", "SELECT 1 -- ;", "SELECT /* ;", "SELECT ';' ", "SELECT 1; x"}) {
    EXPECT_FALSE(ends_statement(open)) << open;
  }
  for (const char* done : {"SELECT ';';", "SELECT 1; -- that is it", "SELECT 1 /* ; */ ;\n", "SELECT 'it''s';"}) {
    EXPECT_TRUE(ends_statement(done)) << done;
  }
}

TEST_F(SqlSessionTest, HasCommandsOfItsOwn) {
  EXPECT_EQ(session_.take("\\budget").text, "left\n");
  EXPECT_EQ(session_.take(" \\tables ").text, "tables\n");
  EXPECT_EQ(session_.take("\\explain SELECT 1").text, "costs\n");
  EXPECT_EQ(explained_, (std::vector<std::string>{"SELECT 1"}));
  EXPECT_TRUE(session_.take("\\explain").error.has_value());
  EXPECT_NE(session_.take("\\budgt").error->message.find("\\budget"), std::string::npos);
  EXPECT_NE(session_.take("\\help").text.find("\\explain"), std::string::npos);
  EXPECT_TRUE(session_.take("\\q").ended);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(SqlSessionTest, CompletesNamesKeywordsAndCommands) {
  const auto words = [&](std::string_view text) { return session_.complete(text).words; };
  EXPECT_EQ(words("SELECT wa"), (std::vector<std::string>{"ward", "wards"}));
  EXPECT_EQ(words("sel"), (std::vector<std::string>{"select"}));
  EXPECT_EQ(words("SEL"), (std::vector<std::string>{"SELECT"}));
  EXPECT_EQ(words("SELECT sum(co"), (std::vector<std::string>{"cost", "count"}));
  EXPECT_EQ(words("\\b"), (std::vector<std::string>{"\\budget"}));
  EXPECT_EQ(session_.complete("\\b").begin, 0U);
  EXPECT_TRUE(words("SELECT ").empty());
}

}  // namespace
}  // namespace noisefloor
