#include "noisefloor/ledger/entry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "noisefloor/ledger/canonical_json.h"
#include "noisefloor/ledger/witness.h"

namespace noisefloor {
namespace {

Digest digest(std::uint8_t byte) {
  Digest result{};
  result.fill(byte);
  return result;
}

BudgetTerms terms(Rule rule) {
  return {"trial \"x\"", Epsilon::of(3), Delta::of(1e-5), Adjacency::kAddRemove, PrivacyUnit::kPerson, rule, 0.1};
}

std::vector<Entry> one_of_each() {
  BudgetTerms zcdp = terms(Rule::kZcdp);
  zcdp.rho = 0.2;
  zcdp.from = -1;
  zcdp.until = 1'700'000'000'000;
  BudgetTerms rdp = terms(Rule::kRdp);
  rdp.orders = {1.5, 2, 64};
  rdp.parent = "whole";
  BudgetTerms planned = terms(Rule::kPlanned);
  planned.plan = {{"a", GaussianEvent{NoiseMultiplier::of(1.1)}, Steps::of(3)},
                  {"b\\", SelfComposedEvent{Steps::of(7), LaplaceEvent{NoiseMultiplier::of(2)}}, Steps::of(1)}};
  const Charge charge{{0.1, std::numeric_limits<double>::infinity(), 1e-300}, 1e-9};
  return {
      {0, 1, GenesisEntry{digest(1), digest(2)}},
      {1, -5, BudgetEntry{zcdp, {}}},
      {2, 2, BudgetEntry{rdp, charge}},
      {3, 3, BudgetEntry{planned, {}}},
      {4, 4, BudgetEntry{terms(Rule::kBasic), {}}},
      {5, 5,
       ReserveEntry{
           "b", "k", digest(3), R"({"kind":"gaussian","noise_multiplier":1.1})", {}, {}, charge, digest(4), {}}},
      {6, 6,
       ReserveEntry{"b",
                    "\x01",
                    digest(3),
                    R"({"kind":"zero_cost"})",
                    "item",
                    1e-7,
                    {},
                    digest(4),
                    {"p", "q", {"dp-sgd", "x"}, R"({"a":"}\"{"})"}}},
      {7, 7, CommitEntry{5, digest(5), {}}},
      {8, 8, CommitEntry{5, digest(5), 0.97}},
      {9, 9, AbortEntry{6, digest(6)}},
      {10, 10, AdoptEntry{1, "moved"}},
      {11, 3, ClockEntry{"the clock \"jumped\""}},
      {12, 12, ExposureEntry{"d \"x\"", ExposureKind::kTraining, digest(7), "run", ""}},
      {13, 13, ExposureEntry{"d", ExposureKind::kReplay, digest(7), "run", "for \"comparison\""}},
      {14, 14, ExposureEntry{"d", ExposureKind::kSweep, digest(7), "run", ""}},
      {15, 15, ExposureEntry{"d", ExposureKind::kUtilityGraph, digest(7), "run", ""}},
      {16, 16, ExposureEntry{"d", ExposureKind::kEvaluation, digest(7), "run", ""}},
      {16, 17, ExposureEntry{"d", ExposureKind::kInspection, digest(7), "d", ""}},
      {17, 17, ExposedEntry{12, digest(8)}},
      {18, 18, RoleEntry{"ann", Role::kAnalyst, digest(7), {"trial", "b\\"}, {UseKind::kTraining}, {}, 5, {}},
       "second"},
      {19, 19, RevokeEntry{"ann", "left"}, "ann"},
      {20, 20, AdoptEntry{2, "restored", 17}},
      {21, 21, WitnessEntry{"/mnt/\"other\"/w", {}}},
      {22, 22, WitnessEntry{"postgresql://db/x", "gone"}},
  };
}

TEST(Entry, ReadsBackEachKind) {
  for (const Entry& entry : one_of_each()) {
    const std::string text = to_json(entry);
    const Result<Entry> read = parse_entry(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(to_json(read.value()), text);
    EXPECT_EQ(read.value().sequence, entry.sequence);
    EXPECT_EQ(read.value().time, entry.time);
    EXPECT_EQ(read.value().body.index(), entry.body.index());
  }
  const Entry entry = parse_entry(to_json(one_of_each()[6])).value();
  const auto& reserve = std::get<ReserveEntry>(entry.body);
  EXPECT_EQ(reserve.key, "\x01");
  EXPECT_EQ(reserve.delta, 1e-7);
  EXPECT_EQ(reserve.note.techniques, (std::vector<std::string>{"dp-sgd", "x"}));
  EXPECT_EQ(reserve.note.configuration, R"({"a":"}\"{"})");
}

// One entry has one text: a text with any changed byte is refused, or is exactly the text of another entry.
TEST(Entry, HasOneTextOnly) {
  for (const Entry& entry : one_of_each()) {
    const std::string text = to_json(entry);
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (char c : {' ', '0', '9', '"', '}', 'e', '\\', '\n'}) {
        std::string other = text;
        other[i] = c;
        const Result<Entry> read = parse_entry(other);
        EXPECT_TRUE(!read.has_value() || to_json(read.value()) == other) << other;
      }
      EXPECT_FALSE(parse_entry(text.substr(0, i)).has_value());
      const std::string longer = text.substr(0, i) + " " + text.substr(i);
      const Result<Entry> spaced = parse_entry(longer);
      EXPECT_TRUE(!spaced.has_value() || to_json(spaced.value()) == longer) << longer;
    }
    EXPECT_FALSE(parse_entry(text + " ").has_value());
  }
}

TEST(Entry, RefusesValuesOutOfRange) {
  const std::string good = to_json(one_of_each()[1]);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  ASSERT_TRUE(parse_entry(good).has_value());
  for (const char* epsilon : {"-3", "0", "null", "1e400", "3.0", "03", "+3"}) {
    EXPECT_FALSE(parse_entry(with("\"epsilon\":3", std::string("\"epsilon\":") + epsilon)).has_value()) << epsilon;
  }
  EXPECT_FALSE(parse_entry(with("zcdp", "none")).has_value());
  EXPECT_FALSE(parse_entry(with("person", "people")).has_value());
}

TEST(Entry, HashesEveryByteIntoTheChain) {
  const Digest first = chain_hash(kNoEntry, "a");
  EXPECT_NE(first, chain_hash(kNoEntry, "b"));
  EXPECT_NE(chain_hash(first, "a"), first);
  EXPECT_NE(chain_hash(first, "c"), chain_hash(chain_hash(kNoEntry, "b"), "c"));
}

TEST(Entry, SignsAHeadForOneLedgerAndOneEntry) {
  const SigningKey key = SigningKey::generate();
  const Head head = sign_head(key, digest(1), 2, 3, digest(4));
  EXPECT_TRUE(is_signed_by(head, key.public_key()));
  for (int field = 0; field < 4; ++field) {
    Head other = head;
    if (field == 0) other.ledger = digest(9);
    if (field == 1) ++other.epoch;
    if (field == 2) ++other.sequence;
    if (field == 3) other.hash = digest(9);
    EXPECT_FALSE(is_signed_by(other, key.public_key())) << field;
  }
}

TEST(Witness, ReadsBackAndIsSigned) {
  const SigningKey key = SigningKey::generate();
  const Witness witness{key.public_key(), sign_head(key, digest(1), 2, 3, digest(4)), 5};
  const std::string text = to_json(witness);
  EXPECT_EQ(to_json(parse_witness(text).value()), text);
  int refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == '1' ? '2' : '1';
    if (other != text && !parse_witness(other).has_value()) ++refused;
  }
  // The time of a witness is for people; it is not signed.
  EXPECT_EQ(refused, static_cast<int>(text.size()) - 1);
}

RC_GTEST_PROP(CanonicalJson, ReadsBackNumbersAndTexts, (double value, const std::string& text)) {
  std::string out;
  append_json_number(out, value);
  append_json_string(out, text);
  CanonicalReader in(out);
  if (std::isfinite(value))
    RC_ASSERT(in.number() == value);
  else
    RC_ASSERT(in.number_or_null() == std::numeric_limits<double>::infinity());
  RC_ASSERT(in.string() == text);
  RC_ASSERT(in.done());
}

RC_GTEST_PROP(CanonicalJson, RefusesGarbageUnlessExact, (const std::string& text)) {
  const Result<Entry> entry = parse_entry(text);
  RC_ASSERT(!entry.has_value());
}

}  // namespace
}  // namespace noisefloor
