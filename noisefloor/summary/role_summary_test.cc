#include "noisefloor/summary/role_summary.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/summary/ledger_summary.h"
#include "noisefloor/summary/summary_json.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/summary_reading.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::expect_says;
using testing::fields_of;
using testing::pure;
using testing::request;
using testing::value_of;
using Json = nlohmann::ordered_json;

class RoleSummaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(place_, SigningKey::from_seed({1}), {}));
    expect_good(ledger_->create_budget(testing::terms("trial", 2, 0, Rule::kBasic)));
    value_of(make_key(key_file_));
  }
  [[nodiscard]] RoleWords ann() const {
    RoleWords words;
    words.name = "ann";
    words.public_key = key_file_ + ".pub";
    words.budgets = {"trial"};
    return words;
  }

  testing::TemporaryFolder folder_;
  std::string place_ = folder_.path("a.ledger");
  std::string key_file_ = folder_.path("ann.key");
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(RoleSummaryTest, MakesAKeyOnceAndShowsItsPublicKey) {
  const std::string key = to_hex(value_of(SigningKey::load(key_file_)).public_key());
  EXPECT_EQ(value_of(read_file(key_file_ + ".pub", 100)), key + "\n");
  const Json again = fields_of(value_of(make_key(key_file_)));
  EXPECT_EQ(again["new"], false);
  EXPECT_EQ(again["public_key"], key);
}

TEST_F(RoleSummaryTest, ReadsTheWordsOfARole) {
  RoleWords words = ann();
  words.uses = {"training", "utility graph"};
  words.quota_epsilon = "0.5";
  words.per = "30d";
  words.until = "2099-01-01";
  const NewRole role = value_of(parse_role(words));
  EXPECT_EQ(role.role, Role::kAnalyst);
  EXPECT_EQ(role.key, value_of(SigningKey::load(key_file_)).public_key());
  EXPECT_EQ(role.uses, (std::vector{UseKind::kTraining, UseKind::kUtilityGraph}));
  ASSERT_TRUE(role.quota);
  EXPECT_EQ(role.quota->epsilon.value(), 0.5);
  EXPECT_EQ(role.quota->delta.value(), 0);
  EXPECT_EQ(role.quota->period, TimeMs{30} * 24 * 3600 * 1000);
  words.per.clear();
  expect_error(parse_role(words), ErrorCode::kInvalidArgument, "an epsilon and a period");
  words = ann();
  words.role = "king";
  expect_error(parse_role(words), ErrorCode::kInvalidArgument, "owner, analyst or auditor");
  words = ann();
  words.uses = {"fun"};
  expect_error(parse_role(words), ErrorCode::kInvalidArgument, "a kind of use is");
  words = ann();
  words.public_key = "12";
  expect_error(parse_role(words), ErrorCode::kInvalidArgument, "64 hexadecimal digits");
  words.public_key = "";
  expect_error(parse_role(words), ErrorCode::kInvalidArgument, "role key");
}

TEST_F(RoleSummaryTest, ListsMembersAndShowsWhoDidWhat) {
  RoleWords words = ann();
  words.quota_epsilon = "0.5";
  words.per = "30d";
  expect_good(ledger_->add_role(value_of(parse_role(words))));
  const auto as_ann = value_of(Ledger::open(place_, value_of(SigningKey::load(key_file_)), {}));
  value_of(as_ann->reserve(request("trial", "a", pure(0.25))));
  const Summary members = value_of(summary_of_roles(*ledger_, "a.ledger"));
  expect_says(members, "Members of a.ledger\n");
  expect_says(members, "trial; for every use; epsilon 0.5, delta 0 each 30d");
  const Json list = fields_of(members)["members"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["name"], "owner");
  EXPECT_EQ(list[1]["quota"]["left_at_last_entry"]["trial"], "epsilon 0.25 and delta 0");
  const Summary history = value_of(summary_of_history(*ledger_, "", "1.2.3"));
  expect_says(history, "ann becomes an analyst  by owner");
  expect_says(history, "  by ann");
  EXPECT_EQ(fields_of(history)["records"][0]["by"], "ann");
  expect_good(ledger_->revoke_role("ann", "left"));
  const Summary gone = value_of(summary_of_role(*ledger_, "ann"));
  expect_says(gone, "entry 4: left");
  EXPECT_EQ(fields_of(gone)["status"], "revoked");
}

}  // namespace
}  // namespace noisefloor
