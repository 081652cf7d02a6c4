// Ledgers that version 1 has written stay readable, and this program still writes the bytes that version 1 wrote.
//
// The first version made tests/data/ledger_v1.*: a ledger with entries of every kind and budgets of every rule, its
// key, a witness of its end, and the text of one entry of each kind. Do not make them again: a change that needs that
// is a new version of the format.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/open_store.h"
#include "tests/support/faulty_vfs.h"
#include "tests/support/kept_counters.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::content_of;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::gaussian;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;

constexpr TimeMs kTime = 1'700'000'000'000;
// Other programs than this one computed these.
constexpr const char* kChainHash = "56e88e2a1c1ea3a586d2fb1eb9657a057a2f0ba854ec4fb5c472eeeb2053624e";
constexpr const char* kSignature =
    "a2a29f0e953eed042f4990949604390abc31317ddce9724769fa2b45cd46ea53"
    "3bb3de76e384e84c0ad2f4ff4bfb0dfcb4155e636486b7b31e6985e077129a03";

std::string data(const std::string& name) { return std::string(NOISEFLOOR_TEST_DATA) + "/" + name; }

// The key of the test data, in a file that only its owner can read.
SigningKey key_of_v1() {
  const testing::TemporaryFolder folder;
  testing::overwrite(folder.path("key"), content_of(data("ledger_v1.key")));
  EXPECT_EQ(::chmod(folder.path("key").c_str(), 0600), 0);
  return value_of(SigningKey::load(folder.path("key")));
}

Digest digest(std::uint8_t filler) {
  Digest made;
  made.fill(filler);
  return made;
}

// One entry of each kind and of each rule, with every field that it can have and without.
std::vector<Entry> entries_of_every_kind() {
  std::vector<Entry> all;
  const auto add = [&](EntryBody body) {
    const auto sequence = static_cast<std::uint64_t>(all.size());
    all.push_back({sequence, kTime + static_cast<TimeMs>(sequence), std::move(body)});
  };
  PublicKey key{};
  key.fill(0xab);
  add(GenesisEntry{digest(1), key});
  add(BudgetEntry{terms("basic \"quoted\" \\ ü", 1, 0, Rule::kBasic), {}});
  BudgetTerms zcdp = terms("zcdp", 2.5, 1e-6, Rule::kZcdp);
  zcdp.rho = 0.0625;
  zcdp.from = -5;
  zcdp.until = kTime;
  add(BudgetEntry{zcdp, {}});
  add(BudgetEntry{terms("rdp", 0.1, 1e-300, Rule::kRdp), {}});
  add(BudgetEntry{terms("approx", 3, 1e-5, Rule::kApproxDp), {}});
  BudgetTerms planned = terms("planned", 3, 1e-5, Rule::kPlanned);
  planned.plan = {
      {"count", pure(0.125), Steps::of(4)},
      {"train", SelfComposedEvent{Steps::of(100), PoissonSampledEvent{SamplingRate::of(0.01), gaussian(1.1)}},
       Steps::of(1)}};
  planned.adjacency = Adjacency::kReplaceOne;
  add(BudgetEntry{planned, {}});
  add(BudgetEntry{terms("part", 0.5, 1e-7, Rule::kBasic, "zcdp"), {{0.03125}, 1e-7}});
  add(ReserveEntry{"basic", "key", digest(2), to_json(pure(0.25)), "", std::nullopt, {{0.25}, 0}, digest(3), {}});
  add(ReserveEntry{"planned",
                   "key 2",
                   digest(4),
                   to_json(pure(0.125)),
                   "count",
                   1e-9,
                   {},
                   digest(5),
                   Note{"pipeline", "purpose", {"dp-sgd", "clipping"}, R"({"a":[1,"}"],"b":{}})"}});
  add(ReserveEntry{"rdp",
                   "key 3",
                   digest(6),
                   to_json(gaussian(2)),
                   "",
                   std::nullopt,
                   {{0.25, 1.5, std::numeric_limits<double>::infinity()}, 5e-324},
                   digest(7),
                   {}});
  add(CommitEntry{7, digest(8), std::nullopt, false});
  add(CommitEntry{8, digest(9), 0.1, true});
  add(AbortEntry{9, digest(10)});
  add(AdoptEntry{1, "restored"});
  return all;
}

// Shows how the files were made.
void write_v1() {
  ASSERT_FALSE(std::filesystem::exists(data("ledger_v1.ledger"))) << "there is a version 1 already";
  std::string lines;
  for (const Entry& entry : entries_of_every_kind()) lines += to_json(entry) + "\n";
  testing::overwrite(data("ledger_v1_entries.jsonl"), lines);
  const std::string path = data("ledger_v1.ledger");
  const std::array<std::uint8_t, 32> seed{1, 2, 3};
  testing::overwrite(data("ledger_v1.key"), to_hex(seed) + "\n");
  TimeMs now = kTime;
  LedgerOptions options;
  options.clock = [&] { return now += 1000; };
  {
    const auto ledger = value_of(Ledger::create(path, SigningKey::from_seed(seed), options));
    expect_good(ledger->create_budget(terms("basic", 1, 1e-6, Rule::kBasic)));
    expect_good(ledger->create_budget(terms("zcdp", 1, 1e-6, Rule::kZcdp)));
    expect_good(ledger->create_budget(terms("rdp", 1, 1e-6, Rule::kRdp)));
    BudgetTerms approx = terms("approx", 1, 1e-6, Rule::kApproxDp);
    approx.from = kTime;
    approx.until = TimeMs{1} << 50;
    expect_good(ledger->create_budget(approx));
    BudgetTerms planned = terms("planned", 1, 1e-6, Rule::kPlanned);
    planned.plan = {{"count", pure(0.125), Steps::of(4)}};
    expect_good(ledger->create_budget(planned));
    expect_good(ledger->create_budget(terms("part", 0.25, 0, Rule::kBasic, "basic")));
    const auto spend = [&](ReserveRequest asked, std::optional<std::string> answer) {
      const Reservation made = value_of(ledger->reserve(asked));
      expect_good(ledger->commit(made.sequence(), blake2b(answer.value_or("secret")), answer,
                                 answer ? std::optional(0.5) : std::nullopt));
    };
    spend(request("basic", "a", pure(0.25)), "42");
    ReserveRequest with_delta = request("basic", "b", gaussian(20));
    with_delta.delta = Delta::of(1e-7);
    with_delta.note = {"pipeline", "purpose", {"dp-sgd"}, R"({"rate": 0.01})"};
    spend(with_delta, std::nullopt);
    spend(request("zcdp", "a", gaussian(20)), "43");
    spend(request("rdp", "a", gaussian(20)), "44");
    spend(request("approx", "a", pure(0.125)), "45");
    spend(request("planned", "a", pure(0.125), "count"), "46");
    expect_good(ledger->abort(value_of(ledger->reserve(request("part", "a", pure(0.125))))));
    EXPECT_TRUE(ledger->reserve(request("part", "open", pure(0.125))).has_value());
    expect_good(ledger->adopt("to have an entry of this kind"));
    expect_good(write_witness(data("ledger_v1.witness.json"), value_of(ledger->witness())));
  }
  std::filesystem::remove(path + ".fence");
}

TEST(MigrationTest, ContinuesALedgerOfVersion1) {
  if (std::getenv("NOISEFLOOR_WRITE_LEDGER_V1") != nullptr) write_v1();
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("copy.ledger");
  std::filesystem::copy_file(data("ledger_v1.ledger"), path);
  testing::KeptCounters::lose();  // every test continues the same ledger in its own way
  expect_clean(path, {data("ledger_v1.witness.json")});
  const auto ledger = value_of(Ledger::open(path, key_of_v1(), {}));
  // Known figures of what the ledger held then.
  expect_good(ledger->read([&](const LedgerState& state) -> Result<void> {
    EXPECT_EQ(state.next_sequence(), 23U);
    EXPECT_EQ(state.epoch(), 1U);
    EXPECT_EQ(state.budgets().size(), 6U);
    EXPECT_EQ(state.find("part")->account.spent_share(), 0.5);
    EXPECT_EQ(state.find("part")->open, 1U);
    EXPECT_EQ(state.find("part")->aborted, 1U);
    EXPECT_EQ(state.find("planned")->account.item_left("count"), 3U);
    EXPECT_EQ(state.find("basic")->account.failures_spent(), 1e-7);
    EXPECT_NEAR(state.find("zcdp")->account.spent_share() * state.find("zcdp")->terms->rho, 1.0 / 800, 1e-12);
    return success();
  }));
  // The file is a copy, which must be adopted first.
  expect_error(ledger->create_budget(terms("more", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed, "no fence");
  expect_good(ledger->adopt("moved to this test"));
  const Reservation again = value_of(ledger->reserve(request("rdp", "a", gaussian(20))));
  EXPECT_EQ(again.earlier_answer(), "44");
  for (const char* budget : {"basic", "approx", "part"}) {
    const Reservation made = value_of(ledger->reserve(request(budget, "new", pure(0.0625))));
    expect_good(ledger->commit(made.sequence(), blake2b("x"), "x"));
  }
  expect_good(ledger->create_budget(terms("new part", 0.0625, 0, Rule::kBasic, "basic")));
  expect_clean(path, {data("ledger_v1.witness.json")});
}

// A budget of version 1 gets its dataset with the first use of its rows, and pays for them from then on.
TEST(MigrationTest, GivesADatasetToABudgetOfVersion1) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("copy.ledger");
  std::filesystem::copy_file(data("ledger_v1.ledger"), path);
  testing::KeptCounters::lose();  // every test continues the same ledger in its own way
  const auto ledger = value_of(Ledger::open(path, key_of_v1(), {}));
  expect_good(ledger->adopt("moved to this test"));
  const LedgerState::Budget before = value_of(ledger->budget("basic"));
  const auto sketch = [&](int first) {
    RowSketcher rows(value_of(ledger->row_key()));
    for (int i = first; i < first + 1'000; ++i) rows.add_record(std::to_string(i));
    return std::move(rows).finish();
  };
  const DatasetGrant grant =
      value_of(granted(value_of(ledger->add_dataset({"patients", digest(1), *before.terms}, sketch(0)))));
  EXPECT_EQ(grant.budget, "basic");
  EXPECT_FALSE(grant.new_budget);
  EXPECT_EQ(value_of(ledger->budget("basic")).account.spent_share(), before.account.spent_share());
  const DatasetOutcome copy =
      value_of(ledger->add_dataset({"copy", digest(2), terms("other", 9, 0, Rule::kBasic)}, sketch(100)));
  ASSERT_TRUE(std::holds_alternative<DatasetConflict>(copy));
  EXPECT_EQ(std::get<DatasetConflict>(copy).owner, "patients");
  EXPECT_TRUE(ledger->reserve(request("basic", "new", pure(0.0625))).has_value());
  expect_clean(path, {data("ledger_v1.witness.json")});
}

// Version 0.1 accepted characters in names that cannot be seen, or that reorder what is read.
TEST(MigrationTest, ContinuesALedgerWithNamesThatAreRefusedToday) {
  const std::string old = "total\u202Elatot";
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("copy.ledger");
  std::filesystem::copy_file(data("ledger_v1.ledger"), path);
  testing::KeptCounters::lose();  // every test continues the same ledger in its own way
  {
    const auto store = value_of(open_store(path, {}));
    const auto transaction = value_of(store->begin(LedgerStore::Mode::kWrite));
    Head head = *value_of(transaction->head());
    const auto append = [&](EntryBody body) {
      const std::string text = to_json(Entry{head.sequence + 1, TimeMs{1} << 45, std::move(body)});
      head = sign_head(key_of_v1(), head.ledger, head.epoch, head.sequence + 1, chain_hash(head.hash, text));
      expect_good(transaction->append({head.sequence, text, head.hash}));
    };
    append(BudgetEntry{terms(old, 1, 0, Rule::kBasic), {}});
    append(ReserveEntry{old, old, digest(1), to_json(pure(0.25)), "", std::nullopt, {{0.25}, 0}, digest(2), {}});
    expect_good(transaction->set_head(head));
    expect_good(transaction->commit());
  }
  expect_clean(path, {data("ledger_v1.witness.json")});
  LedgerOptions options;
  options.clock = [] { return TimeMs{1} << 46; };
  const auto ledger = value_of(Ledger::open(path, key_of_v1(), options));
  expect_good(ledger->adopt("moved to this test"));
  EXPECT_EQ(value_of(ledger->budget(old)).account.spent_share(), 0.25);
  EXPECT_TRUE(ledger->reserve(request(old, "new", pure(0.25))).has_value());
  expect_good(ledger->create_budget(terms("new part", 0.25, 0, Rule::kBasic, old)));
  // Its old key is known, and a new one like it is refused.
  expect_error(ledger->reserve(request(old, old, pure(0.125))), ErrorCode::kInvalidArgument, "stands for another");
  expect_error(ledger->reserve(request("new part", old, pure(0.125))), ErrorCode::kInvalidArgument, "U+202E");
  expect_error(ledger->create_budget(terms(old + "2", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "U+202E");
  expect_error(ledger->budget("none"), ErrorCode::kInvalidArgument, "'total\\u{202e}latot'");
  expect_clean(path, {data("ledger_v1.witness.json")});
}

// Programs that do not know entries of the kind `clock` must refuse a ledger that has one.
TEST(MigrationTest, TheFirstClockEntryMakesAStoreOfVersion3) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("copy.ledger");
  std::filesystem::copy_file(data("ledger_v1.ledger"), path);
  testing::KeptCounters::lose();  // every test continues the same ledger in its own way
  const auto version = [&] { return static_cast<int>(content_of(path).at(63)); };  // the end of SQLite's user_version
  TimeMs now = kTime + 1'000'000;
  LedgerOptions options;
  options.clock = [&] { return now; };
  {
    const auto ledger = value_of(Ledger::open(path, key_of_v1(), options));
    expect_good(ledger->adopt("moved to this test"));
  }
  EXPECT_EQ(version(), 1);
  now -= 500'000;
  {
    const auto ledger = value_of(Ledger::open(path, key_of_v1(), options));
    EXPECT_EQ(value_of(ledger->set_clock("jumped")), kTime + 1'000'000);
  }
  EXPECT_EQ(version(), 3);
  expect_clean(path, {data("ledger_v1.witness.json")});
  std::string newer = content_of(path);
  newer.at(63) = static_cast<char>(kNewestStoreVersion + 1);
  testing::overwrite(folder.path("newer.ledger"), newer);
  expect_error(Ledger::open_to_read(folder.path("newer.ledger"), {}), ErrorCode::kVerificationFailed,
               "versions 1 to 4");
}

TEST(MigrationTest, WritesEveryKindOfEntryAsVersion1Did) {
  std::istringstream lines(content_of(data("ledger_v1_entries.jsonl")));
  std::string line;
  for (const Entry& entry : entries_of_every_kind()) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(to_json(entry), line);
    EXPECT_EQ(to_json(value_of(parse_entry(line))), line);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

// One entry has one text: a text that differs in a byte is another entry or none.
TEST(MigrationTest, ReadsNothingThatAnEntryDoesNotSay) {
  std::istringstream lines(content_of(data("ledger_v1_entries.jsonl")));
  std::string line;
  while (std::getline(lines, line)) {
    for (std::size_t at = 0; at <= line.size(); ++at) {
      for (const std::string& changed :
           {line.substr(0, at), line.substr(0, at) + " " + line.substr(at), line.substr(0, at) + "0" + line.substr(at),
            at < line.size() ? line.substr(0, at) + line.substr(at + 1) : std::string(),
            at < line.size() ? line.substr(0, at) + static_cast<char>(line[at] ^ 1) + line.substr(at + 1)
                             : std::string()}) {
        const Result<Entry> entry = parse_entry(changed);
        if (entry.has_value()) {
          ASSERT_EQ(to_json(entry.value()), changed);
        }
      }
    }
  }
}

TEST(MigrationTest, ComputesTheHashesAndSignaturesOfVersion1) {
  EXPECT_EQ(to_hex(chain_hash(kNoEntry, "{}")), kChainHash);
  const Head head = sign_head(key_of_v1(), digest(1), 2, 3, digest(4));
  EXPECT_EQ(to_hex(head.signature), kSignature);
  EXPECT_EQ(to_json(value_of(read_witness(data("ledger_v1.witness.json")))),
            content_of(data("ledger_v1.witness.json")));
}

}  // namespace
}  // namespace noisefloor
