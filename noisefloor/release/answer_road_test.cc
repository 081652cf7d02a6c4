#include "noisefloor/release/answer_road.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "noisefloor/base/file.h"
#include "noisefloor/release/document.h"
#include "noisefloor/release/verify_release.h"
#include "tests/support/child_process.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/memory_outlet.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;

class AnswerRoadTest : public ::testing::Test {
 protected:
  AnswerRoadTest() : place_(folder_.path("ledger")), key_file_(folder_.path("key")) {
    SigningKey key = SigningKey::generate();
    expect_good(key.save(key_file_));
    auto ledger = value_of(Ledger::create(place_, std::move(key), {}));
    expect_good(ledger->create_budget(testing::terms("b", 5, 0, Rule::kBasic)));
  }

  [[nodiscard]] std::unique_ptr<Ledger> open() const {
    return value_of(Ledger::open(place_, value_of(SigningKey::load(key_file_)), {}));
  }
  [[nodiscard]] double spent() const { return 5 * value_of(open()->budget("b")).account.spent_share(); }

  static DpStatement statement(double epsilon = 1) {
    return {Adjacency::kAddRemove, PrivacyUnit::kRow, testing::pure(epsilon)};
  }
  // A mechanism's statement for noise from a seed.
  static DpStatement replayed() {
    return {Adjacency::kAddRemove, PrivacyUnit::kRow,
            ComposedEvent{{testing::pure(1), NonPrivateEvent{"replayed noise"}}}};
  }
  // Its answer is drawn anew each time, so that no two runs agree.
  Question question() {
    Question made{"count", statement(), Delta::of(0)};
    made.configuration = R"({"mechanism":"count","bins":3})";
    made.data = "the bins are public";
    made.draw = [this](SecureRandom& random) -> Result<Drawn> {
      ++draws_;
      return Drawn{content(static_cast<std::int64_t>(random.next_u32())), statement()};
    };
    made.rehearse = [this](ReplayRandom&) -> Result<Drawn> {
      ++rehearsals_;
      return Drawn{content(0), replayed()};
    };
    return made;
  }
  static AnswerContent content(std::int64_t value) {
    return {{{"value", value, {}, ErrorBars{Confidence::of(0.95), {-1e6, 1e10}}}}, {}, {{"scale", 1.0, "made up"}}};
  }
  static AnswerRequest request(const std::string& key = "key") {
    return {"b", key, {"1.2.3", AnswerDataset{"people"}}};
  }

  Result<ReleasedAnswer> ask(const Question& question, const std::string& key = "key") {
    LedgerOutlet outlet;
    return release_answer(request(key), question, *open(), outlet);
  }

  testing::TemporaryFolder folder_;
  std::string place_;
  std::string key_file_;
  int draws_ = 0;
  int rehearsals_ = 0;
};

TEST_F(AnswerRoadTest, PaysForCertifiesAndRepeatsAnAnswer) {
  const ReleasedAnswer first = value_of(ask(question()));
  EXPECT_FALSE(first.again);
  EXPECT_EQ(draws_, 1);
  EXPECT_EQ(rehearsals_, 1);
  ASSERT_TRUE(first.answer);
  EXPECT_EQ(first.answer->statement, statement());
  EXPECT_EQ(first.answer->dataset->name, "people");
  EXPECT_EQ(first.answer->program_version, "1.2.3");
  EXPECT_FALSE(first.answer->replayed);
  EXPECT_NEAR(spent(), 1, 1e-9);
  const VerifiedRelease verified = value_of(verify_release(first.release.bytes));
  EXPECT_TRUE(verified.has_content);
  expect_good(verify_in_ledger(verified, *open()));
  // The document holds the typed answer and nothing else.
  const Document document = *value_of(read_document(first.release.bytes));
  EXPECT_EQ(document.content, to_json(*first.answer));

  const ReleasedAnswer again = value_of(ask(question()));
  EXPECT_TRUE(again.again);
  EXPECT_EQ(again.release.bytes, first.release.bytes);
  EXPECT_EQ(to_json(*again.answer), to_json(*first.answer));
  EXPECT_EQ(draws_, 1);
  EXPECT_NEAR(spent(), 1, 1e-9);
  testing::expect_clean(place_);
}

TEST_F(AnswerRoadTest, GivesOutNoAnswerThatStatesSomethingElse) {
  for (const DpStatement& other :
       {statement(0.5), statement(2), DpStatement{Adjacency::kReplaceOne, PrivacyUnit::kRow, testing::pure(1)},
        DpStatement{Adjacency::kAddRemove, PrivacyUnit::kPerson, testing::pure(1)}, replayed()}) {
    const std::string key = "key" + std::to_string(draws_);
    Question lies = question();
    lies.draw = [&](SecureRandom&) -> Result<Drawn> {
      ++draws_;
      return Drawn{content(987), other};
    };
    const double before = spent();
    testing::MemoryOutlet outlet;
    const std::string message = expect_error(release_answer(request(key), lies, *open(), outlet), ErrorCode::kInternal,
                                             "state different things");
    EXPECT_EQ(message.find("987"), std::string::npos);
    EXPECT_TRUE(outlet.published.empty());
    EXPECT_NEAR(spent() - before, 1, 1e-9) << "noise was drawn: it counts";
    expect_error(ask(question(), key), ErrorCode::kBudgetExhausted, "counts as spent");
  }
}

TEST_F(AnswerRoadTest, CountsAFailedRunAsSpentAndShowsNothingOfTheData) {
  Question fails = question();
  fails.draw = [](SecureRandom&) -> Result<Drawn> { return internal_error("it broke"); };
  expect_error(ask(fails, "fails"), ErrorCode::kInternal, "it broke");
  Question throws = question();
  throws.draw = [](SecureRandom&) -> Result<Drawn> { throw std::runtime_error("row 987"); };
  const std::string message = expect_error(ask(throws, "throws"), ErrorCode::kInternal, "unexpected");
  EXPECT_EQ(message.find("987"), std::string::npos) << message;
  Question odd = question();
  odd.draw = [](SecureRandom&) -> Result<Drawn> { return Drawn{{{{"", 1.0}}}, statement()}; };
  expect_error(ask(odd, "odd"), ErrorCode::kInvalidArgument, "name");
  EXPECT_NEAR(spent(), 3, 1e-9);
  for (const char* key : {"fails", "throws", "odd"}) {
    expect_error(ask(question(), key), ErrorCode::kBudgetExhausted, "counts as spent");
  }
  EXPECT_EQ(draws_, 0);
}

TEST_F(AnswerRoadTest, FindsABadQuestionBeforeAnythingIsSpent) {
  Question fails = question();
  fails.rehearse = [](ReplayRandom&) -> Result<Drawn> { return invalid_argument("there are no rows"); };
  expect_error(ask(fails), ErrorCode::kInvalidArgument, "no rows");
  Question throws = question();
  throws.rehearse = [](ReplayRandom&) -> Result<Drawn> { throw std::runtime_error("row 987"); };
  expect_error(ask(throws), ErrorCode::kInternal, "unexpected");
  Question unwritable = question();
  unwritable.rehearse = [](ReplayRandom&) -> Result<Drawn> { return Drawn{{{{"\xff", 1.0}}}, replayed()}; };
  expect_error(ask(unwritable), ErrorCode::kInvalidArgument, "UTF-8");
  // This question claims privacy for known noise.
  Question claims = question();
  claims.rehearse = [](ReplayRandom&) -> Result<Drawn> { return Drawn{content(1), statement()}; };
  expect_error(ask(claims), ErrorCode::kInternal, "not private");
  Question open_book = question();
  open_book.statement = replayed();
  expect_error(ask(open_book), ErrorCode::kInvalidArgument, "not private");
  Question undrawable = question();
  undrawable.configuration = "[]";
  expect_error(ask(undrawable), ErrorCode::kInvalidArgument, "configuration");
  EXPECT_EQ(draws_, 0);
  EXPECT_EQ(spent(), 0);
}

TEST_F(AnswerRoadTest, RefusesTheSameKeyWithAnotherQuestion) {
  const std::string first = value_of(ask(question())).release.bytes;
  Question other = question();
  other.configuration = R"({"mechanism":"count","bins":4})";
  expect_error(ask(other), ErrorCode::kInvalidArgument, "another request");
  Question dearer = question();
  dearer.statement = statement(2);
  expect_error(ask(dearer), ErrorCode::kInvalidArgument, "another request");
  EXPECT_EQ(draws_, 1);
  EXPECT_NEAR(spent(), 1, 1e-9);
  EXPECT_EQ(value_of(ask(question())).release.bytes, first);
}

TEST_F(AnswerRoadTest, DrawsNothingThatTheBudgetDoesNotAllow) {
  Question dear = question();
  dear.statement = statement(6);
  expect_error(ask(dear), ErrorCode::kBudgetExhausted, "does not allow");
  EXPECT_EQ(draws_, 0);
  EXPECT_EQ(spent(), 0);
}

// Releases an answer as version 0.1 did: the text that the terminal printed, under a shorter description of the
// question.
class FormerAnswerTest : public AnswerRoadTest {
 protected:
  static constexpr const char* kFormer = R"({"mechanism":"count"})";

  Question renewed() {
    Question made = question();
    made.former_configuration = kFormer;
    return made;
  }
  [[nodiscard]] Result<Released> release_as_before(Outlet& outlet) const {
    ReleaseRequest former{{"b", "key", statement()}};
    former.spend.note = {"key", "answer", {"count"}, kFormer};
    former.in_ledger = true;
    return release_by(former, *open(), outlet, [](const CertifiedSpend&) {
      return document_draft(ReleaseKind::kAnswer, "key", R"({"mechanism":"count","value":42})", statement(),
                            Delta::of(0), kFormer, "bounds are public", "0.1.0");
    });
  }
};

TEST_F(FormerAnswerTest, ReturnsTheOldBytesForAnOldKey) {
  LedgerOutlet outlet;
  const std::string bytes = value_of(release_as_before(outlet)).release.bytes;
  const ReleasedAnswer again = value_of(ask(renewed()));
  EXPECT_TRUE(again.again);
  EXPECT_FALSE(again.answer) << "it is no typed answer";
  EXPECT_EQ(again.release.bytes, bytes);
  EXPECT_EQ(draws_, 0);
  EXPECT_NEAR(spent(), 1, 1e-9);
  expect_good(verify_in_ledger(value_of(verify_release(bytes)), *open()));
  // A different question also differs in the old words.
  Question dearer = renewed();
  dearer.statement = statement(2);
  expect_error(ask(dearer), ErrorCode::kInvalidArgument, "another request");
  EXPECT_NEAR(spent(), 1, 1e-9);
}

// Version 0.1 sealed this, and was killed before it committed.
TEST_F(FormerAnswerTest, CommitsAndPublishesAnOldSealedFile) {
  class Dies final : public Outlet {
   public:
    explicit Dies(FileOutlet& file) : file_(file) {}
    [[nodiscard]] std::string name() const override { return file_.name(); }
    [[nodiscard]] Result<void> prepare() override { return file_.prepare(); }
    [[nodiscard]] Result<std::optional<std::string>> kept() override { return file_.kept(); }
    [[nodiscard]] Result<void> keep(const std::string& bytes) override {
      NF_TRY_VOID(file_.keep(bytes));
      return io_error("the power went");
    }
    [[nodiscard]] Result<void> publish(const Sealed& release) override { return file_.publish(release); }

   private:
    FileOutlet& file_;
  };
  const std::string path = folder_.path("answer.json");
  FileOutlet file(path, certificate_beside(path));
  Dies dies(file);
  expect_error(release_as_before(dies), ErrorCode::kIo, "power");
  ASSERT_TRUE(std::filesystem::exists(path + ".sealed"));
  const ReleasedAnswer finished = value_of(release_answer(request(), renewed(), *open(), file));
  EXPECT_TRUE(finished.again);
  EXPECT_EQ(value_of(read_file(path, 1 << 20)), finished.release.bytes);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("answer.certificate.json")));
  EXPECT_EQ(draws_, 0);
  EXPECT_NEAR(spent(), 1, 1e-9);
}

TEST_F(FormerAnswerTest, RecordsNewKeysInTodaysWords) {
  EXPECT_EQ(value_of(ask(renewed())).release.certificate.configuration, question().configuration);
  Question other = renewed();
  other.configuration = R"({"mechanism":"count","bins":4})";
  expect_error(ask(other), ErrorCode::kInvalidArgument, "another request");
}

TEST_F(AnswerRoadTest, FindsAnyAlteredByteOfADocument) {
  const std::string bytes = value_of(ask(question())).release.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(verify_release(changed).has_value()) << at;
  }
}

// The holder of the key can certify an answer with a statement that is not the answer's.
TEST_F(AnswerRoadTest, FindsAnAnswerThatStatesLessThanItsCertificate) {
  Answer cheap{"count", content(1), statement(0.1), Delta::of(0)};
  Draft draft = value_of(
      document_draft(ReleaseKind::kAnswer, "key", to_json(cheap), statement(), Delta::of(0), "{}", "", "1.2.3"));
  const Sealed sealed = seal(std::move(draft), {}, {});
  expect_error(read_answer(sealed), ErrorCode::kVerificationFailed, "state different things");
}

enum class Moment : int { kNever, kDrawing, kDrawn, kKept, kPublished, kEnd };

void pass(Moment moment, Moment killed_at) {
  if (moment == killed_at) (void)std::raise(SIGKILL);
}

class Mortal final : public Outlet {
 public:
  Mortal(const std::string& path, Moment killed_at) : file_(path, certificate_beside(path)), killed_at_(killed_at) {}
  [[nodiscard]] std::string name() const override { return file_.name(); }
  [[nodiscard]] Result<void> prepare() override { return file_.prepare(); }
  [[nodiscard]] Result<std::optional<std::string>> kept() override { return file_.kept(); }
  [[nodiscard]] Result<void> keep(const std::string& bytes) override {
    NF_TRY_VOID(file_.keep(bytes));
    pass(Moment::kKept, killed_at_);
    return success();
  }
  [[nodiscard]] Result<void> publish(const Sealed& release) override {
    NF_TRY_VOID(file_.publish(release));
    pass(Moment::kPublished, killed_at_);
    return success();
  }

 private:
  FileOutlet file_;
  Moment killed_at_;
};

// No answer is given without a reservation, no noise is drawn twice, and asking again finishes or says why not.
TEST_F(AnswerRoadTest, SurvivesBeingKilledBetweenTheSteps) {
  for (int moment = 1; moment < static_cast<int>(Moment::kEnd); ++moment) {
    SCOPED_TRACE(moment);
    const auto killed_at = static_cast<Moment>(moment);
    const std::string key = "key" + std::to_string(moment);
    const std::string path = folder_.path(key + ".json");
    const double before = spent();
    const auto child = testing::ChildProcess::run([&] {
      Question mortal = question();
      mortal.draw = [&](SecureRandom& random) -> Result<Drawn> {
        pass(Moment::kDrawing, killed_at);
        const auto value = static_cast<std::int64_t>(random.next_u32());
        pass(Moment::kDrawn, killed_at);
        return Drawn{content(value), statement()};
      };
      Mortal outlet(path, killed_at);
      return release_answer(request(key), mortal, *open(), outlet).has_value() ? 0 : 1;
    });
    ASSERT_TRUE(child.was_killed()) << "it lived";
    EXPECT_NEAR(spent() - before, 1, 1e-9);
    Mortal outlet(path, Moment::kNever);
    const auto again = release_answer(request(key), question(), *open(), outlet);
    EXPECT_NEAR(spent() - before, 1, 1e-9);
    EXPECT_EQ(draws_, 0) << "noise is drawn once";
    if (killed_at < Moment::kKept) {
      expect_error(again, ErrorCode::kBudgetExhausted, "counts as spent");
      EXPECT_FALSE(std::filesystem::exists(path));
      continue;
    }
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_TRUE(again.value().again);
    EXPECT_EQ(value_of(read_file(path, 1 << 20)), again.value().release.bytes);
    expect_good(verify_in_ledger(value_of(verify_release(again.value().release.bytes)), *open()));
  }
}

TEST_F(AnswerRoadTest, DrawsWithoutALedgerAndMarksReplays) {
  SecureRandom secure = value_of(SecureRandom::create());
  EXPECT_FALSE(value_of(answer_of(question(), {"1.2.3"}, secure)).replayed);
  ReplayRandom replay = value_of(ReplayRandom::create(7));
  const Answer repeated = value_of(answer_of(question(), {"1.2.3"}, replay));
  EXPECT_TRUE(repeated.replayed);
  EXPECT_TRUE(contains<NonPrivateEvent>(repeated.statement.event));
  expect_good(check_answer(repeated));
  Question no_rehearsal = question();
  no_rehearsal.rehearse = {};
  expect_error(answer_of(no_rehearsal, {"1.2.3"}, replay), ErrorCode::kInvalidArgument, "seed");
  EXPECT_EQ(spent(), 0);
}

// --- Outlooks --------------------------------------------------------------------------------------------------------

TEST_F(AnswerRoadTest, PredictsWhatARequestWillGet) {
  const auto reader = value_of(Ledger::open_to_read(place_, {}));
  const BudgetTerms terms = *value_of(reader->budget(request("key").budget)).terms;
  const auto look = [&](const Question& asked, const std::string& key = "key") -> Result<Outlook> {
    NF_TRY(const ReserveRequest spend, spend_of(request(key), asked, reader.get()));
    return outlook_of({&spend, 1}, terms, reader.get(), Repeats::kMustBeAnswered);
  };
  const Outlook cheap = value_of(look(question()));
  EXPECT_TRUE(cheap.fits);
  EXPECT_FALSE(cheap.asked_before);
  EXPECT_NE(cheap.left.find("epsilon 5"), std::string::npos) << cheap.left;
  Question dear = question();
  dear.statement = statement(6);
  const Outlook refused = value_of(look(dear));
  EXPECT_FALSE(refused.fits);
  EXPECT_NE(refused.refusal.find("epsilon 6"), std::string::npos) << refused.refusal;
  EXPECT_NE(refused.refusal.find("It would fit with"), std::string::npos) << refused.refusal;
  Question exchanged = question();
  exchanged.statement.adjacency = Adjacency::kReplaceOne;
  expect_error(look(exchanged), ErrorCode::kInvalidArgument, "add-remove");
  Question open_book = question();
  open_book.statement = replayed();
  expect_error(look(open_book), ErrorCode::kInvalidArgument, "private");
  EXPECT_EQ(spent(), 0) << "an outlook costs nothing";
  EXPECT_EQ(draws_, 0);

  (void)value_of(ask(question()));
  const Outlook again = value_of(look(question()));
  EXPECT_TRUE(again.fits);
  EXPECT_TRUE(again.asked_before);
  EXPECT_TRUE(again.reservation);
  Question fails = question();
  fails.draw = [](SecureRandom&) -> Result<Drawn> { return internal_error("it broke"); };
  (void)ask(fails, "lost");
  const Outlook lost = value_of(look(question(), "lost"));
  EXPECT_FALSE(lost.fits);
  EXPECT_NE(lost.refusal.find("open"), std::string::npos) << lost.refusal;
}

TEST_F(AnswerRoadTest, RefusesAnswersOutsideTheTimesOfTheirBudget) {
  BudgetTerms over = testing::terms("over", 5, 0, Rule::kBasic);
  over.until = 1;
  expect_good(open()->create_budget(over));
  LedgerOutlet outlet;
  expect_error(release_answer({"over", "key", {"1"}}, question(), *open(), outlet), ErrorCode::kBudgetExhausted,
               "not open");
}

}  // namespace
}  // namespace noisefloor
