#include "noisefloor/release/road.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

// The moments of the procedure at which a program may be killed.
enum class Moment : int {
  kNever,
  kPreparing,
  kLooking,
  kRunning,
  kRan,
  kKeeping,
  kKept,
  kPublishing,
  kCertificateIsOut,
  kPublished,
  kEnd
};

void pass(Moment moment, Moment killed_at) {
  if (moment == killed_at) (void)std::raise(SIGKILL);
}

// A file outlet that dies at one of its moments.
class Mortal final : public Outlet {
 public:
  Mortal(std::string path, std::string certificate, Moment killed_at)
      : file_(std::move(path), certificate), certificate_(std::move(certificate)), killed_at_(killed_at) {}
  [[nodiscard]] std::string name() const override { return file_.name(); }
  [[nodiscard]] Result<void> prepare() override {
    pass(Moment::kPreparing, killed_at_);
    return file_.prepare();
  }
  [[nodiscard]] Result<std::optional<std::string>> kept() override {
    pass(Moment::kLooking, killed_at_);
    return file_.kept();
  }
  [[nodiscard]] Result<void> keep(const std::string& bytes) override {
    pass(Moment::kKeeping, killed_at_);
    NF_TRY_VOID(file_.keep(bytes));
    pass(Moment::kKept, killed_at_);
    return success();
  }
  [[nodiscard]] Result<void> publish(const Sealed& release) override {
    pass(Moment::kPublishing, killed_at_);
    if (killed_at_ == Moment::kCertificateIsOut) {
      NF_TRY_VOID(write_file(certificate_, release.signed_certificate));
      pass(Moment::kCertificateIsOut, killed_at_);
    }
    NF_TRY_VOID(file_.publish(release));
    pass(Moment::kPublished, killed_at_);
    return success();
  }

 private:
  FileOutlet file_;
  std::string certificate_;
  Moment killed_at_;
};

class RoadTest : public ::testing::Test {
 protected:
  RoadTest() : place_(folder_.path("ledger")), key_file_(folder_.path("key")) {
    SigningKey key = SigningKey::generate();
    expect_good(key.save(key_file_));
    auto ledger = value_of(Ledger::create(place_, std::move(key), {}));
    expect_good(ledger->create_budget(testing::terms("b", 5, 0, Rule::kBasic)));
  }

  std::unique_ptr<Ledger> open() const {
    return value_of(Ledger::open(place_, value_of(SigningKey::load(key_file_)), {}));
  }

  static DpStatement statement() { return {Adjacency::kAddRemove, PrivacyUnit::kRow, testing::pure(1)}; }
  static ReleaseRequest request(bool in_ledger = false, const std::string& key = "key") {
    ReleaseRequest made{testing::request("b", key, testing::pure(1))};
    made.in_ledger = in_ledger;
    return made;
  }
  static Result<Draft> draft(const std::string& document) {
    return document_draft(ReleaseKind::kAnswer, "answer", document, statement(), Delta::of(0), "", "none", "1.2.3");
  }
  // Gives another answer each time it is run.
  Result<Released> release(Outlet& outlet, const ReleaseRequest& request, Moment killed_at = Moment::kNever) {
    const auto ledger = open();
    return release_by(request, *ledger, outlet, [&](const CertifiedSpend& paid) -> Result<Draft> {
      EXPECT_EQ(paid.reservations.size(), 1U);
      pass(Moment::kRunning, killed_at);
      std::ofstream(folder_.path("runs"), std::ios::app) << 'x';
      auto made = draft(R"({"value":)" + std::to_string(std::filesystem::file_size(folder_.path("runs"))) + "}");
      pass(Moment::kRan, killed_at);
      return made;
    });
  }
  [[nodiscard]] std::string path() const { return folder_.path("answer.json"); }
  [[nodiscard]] std::string certificate() const { return folder_.path("answer.certificate.json"); }
  [[nodiscard]] std::uintmax_t runs() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(folder_.path("runs"), none);
    return none ? 0 : size;
  }
  double spent() const { return 5 * value_of(open()->budget("b")).account.spent_share(); }

  testing::TemporaryFolder folder_;
  std::string place_;
  std::string key_file_;
};

TEST_F(RoadTest, PublishesOnlyWhatIsPaidForCertifiedAndCommitted) {
  FileOutlet outlet(path(), certificate());
  const Released made = value_of(release(outlet, request()));
  EXPECT_FALSE(made.again);
  const std::string bytes = value_of(read_file(path(), 1 << 20));
  EXPECT_EQ(bytes, made.release.bytes);
  EXPECT_EQ(value_of(read_file(certificate(), 1 << 20)), made.release.signed_certificate);
  EXPECT_FALSE(std::filesystem::exists(path() + ".sealed"));
  const VerifiedRelease verified = value_of(verify_release(bytes));
  EXPECT_TRUE(verified.has_content);
  EXPECT_EQ(verified.certificate.certificate.kind, ReleaseKind::kAnswer);
  expect_good(verify_in_ledger(verified, *open()));
  EXPECT_NEAR(spent(), 1, 1e-9);
}

TEST_F(RoadTest, RunsNothingThatIsNotPaidFor) {
  testing::MemoryOutlet outlet;
  ReleaseRequest dear{testing::request("b", "key", testing::pure(6))};
  expect_error(release(outlet, dear), ErrorCode::kBudgetExhausted, "does not allow");
  ReleaseRequest open_book{testing::request("b", "key", NonPrivateEvent{})};
  expect_error(release(outlet, open_book), ErrorCode::kInvalidArgument, "not private");
  FileOutlet nowhere("/proc/no/such/answer.json", "/proc/no/such/certificate.json");
  expect_error(release(nowhere, request()), ErrorCode::kIo, "could not be made");
  EXPECT_EQ(runs(), 0U);
  EXPECT_EQ(spent(), 0);
  EXPECT_TRUE(outlet.published.empty());
}

TEST_F(RoadTest, MakesOneReleasePerKey) {
  FileOutlet outlet(path(), certificate());
  const Released first = value_of(release(outlet, request()));
  const Released again = value_of(release(outlet, request()));
  EXPECT_TRUE(again.again);
  EXPECT_EQ(again.release.bytes, first.release.bytes);
  EXPECT_EQ(runs(), 1U);
  EXPECT_NEAR(spent(), 1, 1e-9);
  // There is nothing to find at another place, and the ledger did not keep the bytes.
  FileOutlet elsewhere(folder_.path("else.json"), folder_.path("else.certificate.json"));
  expect_error(release(elsewhere, request()), ErrorCode::kInvalidArgument, "was used before");
  // Another key does not replace the file that is there.
  expect_error(release(outlet, request(false, "other")), ErrorCode::kInvalidArgument, "is there already");
  ReleaseRequest other = request();
  other.spend.note.configuration = R"({"other":1})";
  expect_error(release(outlet, other), ErrorCode::kInvalidArgument, "is there already");
  EXPECT_EQ(runs(), 1U);
  EXPECT_NEAR(spent(), 1, 1e-9);
}

// The attack: another ledger with the same budget, key and number of entries takes over a sealed release, so that one
// ledger's commit stands for what another one has paid for.
TEST_F(RoadTest, FinishesNoReleaseOfAnotherLedger) {
  FileOutlet outlet(path(), certificate());
  const auto killed = testing::ChildProcess::run([&] {
    Mortal mortal(path(), certificate(), Moment::kKept);
    return release(mortal, request(), Moment::kNever).has_value() ? 0 : 1;
  });
  ASSERT_TRUE(killed.was_killed());
  ASSERT_TRUE(std::filesystem::exists(path() + ".sealed"));
  for (const bool same_key : {true, false}) {
    SCOPED_TRACE(same_key ? "with the same key" : "with a key of its own");
    SigningKey key = same_key ? value_of(SigningKey::load(key_file_)) : SigningKey::generate();
    auto other = value_of(Ledger::create(folder_.path(same_key ? "twin" : "other"), std::move(key), {}));
    expect_good(other->create_budget(testing::terms("b", 5, 0, Rule::kBasic)));
    ASSERT_EQ(value_of(other->reserve(request().spend)).sequence(), 2U) << "as in the first ledger";
    const auto run = [](const CertifiedSpend&) -> Result<Draft> { return internal_error("it was run"); };
    expect_error(release_by(request(), *other, outlet, run), ErrorCode::kInvalidArgument, "is another release");
    EXPECT_EQ(value_of(other->budget("b")).committed, 0U);
  }
  EXPECT_TRUE(value_of(release(outlet, request())).again) << "its own ledger finishes it";
}

// The attack: a certificate about less than was reserved, signed with the right key.
TEST_F(RoadTest, ThePaidStatementIsTheCertifiedOne) {
  testing::MemoryOutlet outlet;
  const auto ledger = open();
  const auto cheap = [&](const CertifiedSpend&) -> Result<Draft> {
    return document_draft(ReleaseKind::kAnswer, "answer", R"({"value":1})",
                          {Adjacency::kAddRemove, PrivacyUnit::kRow, testing::pure(0.001)}, Delta::of(0), "", "none",
                          "1.2.3");
  };
  const Released made = value_of(release_by(request(), *ledger, outlet, cheap));
  const VerifiedRelease alone = value_of(verify_release(made.release.bytes));
  expect_error(verify_in_ledger(alone, *ledger), ErrorCode::kVerificationFailed, "what was reserved");
}

// The attacks: the list of what had looked at the rows is removed from a certificate, shortened or made longer.
TEST_F(RoadTest, NamesWhatHadLookedAtTheRowsWithoutNoise) {
  const auto ledger = open();
  RowSketcher rows(value_of(ledger->row_key()));
  for (int i = 0; i < 100; ++i) rows.add_record(std::to_string(i));
  const NewDataset patients{"patients", blake2b("patients"), testing::terms("b", 5, 0, Rule::kBasic)};
  ASSERT_TRUE(granted(value_of(ledger->add_dataset(patients, std::move(rows).finish()))).has_value());
  const auto expose = [&](const std::string& key, ExposureKind kind) {
    return value_of(ledger->expose({"patients", kind, blake2b(key), key, ""}));
  };
  const std::uint64_t first = expose("one", ExposureKind::kTraining);
  const std::uint64_t second = expose("two", ExposureKind::kSweep);
  testing::MemoryOutlet outlet;
  const Released made = value_of(release(outlet, request()));
  (void)expose("after", ExposureKind::kEvaluation);
  const Certificate& certificate = made.release.certificate;
  ASSERT_EQ(certificate.exposures.size(), 2U);
  EXPECT_EQ(certificate.exposures[0].entry, first);
  EXPECT_EQ(certificate.exposures[1].kind, ExposureKind::kSweep);
  EXPECT_EQ(certificate.exposures[1].entry, second);
  EXPECT_EQ(certificate.exposures[0].time, value_of(ledger->entry(first)).time);
  EXPECT_NE(made.release.signed_certificate.find("exposures lists it"), std::string::npos);
  const VerifiedRelease whole = value_of(verify_release(made.release.bytes));
  EXPECT_EQ(whole.certificate.certificate.exposures, certificate.exposures);
  expect_good(verify_in_ledger(whole, *ledger));
  // In the text, it breaks the signature.
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(made.release.signed_certificate);
  json.erase("exposures");
  expect_error(parse_certificate(json.dump(2) + "\n"), ErrorCode::kVerificationFailed, "altered");
  // Signed with the ledger's own key, the ledger knows better.
  const Sign sign = value_of(sign_by(*ledger));
  const auto forged = [&](std::vector<CertifiedExposure> exposures) {
    Certificate other = certificate;
    other.exposures = std::move(exposures);
    return value_of(verify_release(to_json(other, sign)));
  };
  expect_good(verify_in_ledger(forged(certificate.exposures), *ledger));
  const CertifiedExposure one = certificate.exposures[0];
  const CertifiedExposure two = certificate.exposures[1];
  expect_error(verify_in_ledger(forged({}), *ledger), ErrorCode::kVerificationFailed, "leaves out");
  expect_error(verify_in_ledger(forged({two}), *ledger), ErrorCode::kVerificationFailed, "leaves out");
  CertifiedExposure harmless = two;
  harmless.kind = ExposureKind::kEvaluation;
  expect_error(verify_in_ledger(forged({one, harmless}), *ledger), ErrorCode::kVerificationFailed, "leaves out");
  CertifiedExposure later = two;
  later.time += 1;
  expect_error(verify_in_ledger(forged({one, later}), *ledger), ErrorCode::kVerificationFailed, "leaves out");
  CertifiedExposure made_up = two;
  made_up.entry += 1;
  expect_error(verify_in_ledger(forged({one, two, made_up}), *ledger), ErrorCode::kVerificationFailed, "does not know");
  // An order that no ledger has is no certificate.
  Certificate disorder = certificate;
  std::swap(disorder.exposures[0], disorder.exposures[1]);
  expect_error(parse_certificate(to_json(disorder, sign)), ErrorCode::kVerificationFailed, "in their order");
}

// The attack: whoever may spend for other uses only makes an answer with it, through another command.
TEST_F(RoadTest, AKindOfUseIsNotLaundered) {
  const SigningKey key = SigningKey::from_seed({7});
  expect_good(open()->add_role({"ann", Role::kAnalyst, key.public_key(), {"b"}, {UseKind::kOther}}));
  const auto ann = value_of(Ledger::open(place_, SigningKey::from_seed({7}), {}));
  const auto run = [](const CertifiedSpend&) { return draft(R"({"value":1})"); };
  testing::MemoryOutlet outlet;
  ReleaseRequest asked = request(true);
  asked.spend.use = UseKind::kStatistic;
  expect_error(release_by(asked, *ann, outlet, run), ErrorCode::kInvalidArgument, "may use budgets for other");
  asked.spend.use = UseKind::kOther;
  const Released made = value_of(release_by(asked, *ann, outlet, run));
  expect_error(verify_in_ledger(value_of(verify_release(made.release.bytes)), *ann), ErrorCode::kVerificationFailed,
               "it was not what it was reserved for");
}

TEST_F(RoadTest, AMemberSignsForItsOwnReservationsOnly) {
  for (const auto& [name, seed] : {std::pair("ann", std::uint8_t{7}), std::pair("bob", std::uint8_t{8})}) {
    expect_good(open()->add_role({name, Role::kAnalyst, SigningKey::from_seed({seed}).public_key(), {"b"}}));
  }
  const auto ann = value_of(Ledger::open(place_, SigningKey::from_seed({7}), {}));
  const auto bob = value_of(Ledger::open(place_, SigningKey::from_seed({8}), {}));
  testing::MemoryOutlet outlet;
  const auto run = [](const CertifiedSpend&) { return draft(R"({"value":1})"); };
  ReleaseRequest asked = request();
  asked.spend.use = UseKind::kStatistic;
  const Released made = value_of(release_by(asked, *ann, outlet, run));
  const VerifiedRelease verified = value_of(verify_release(made.release.bytes));
  expect_good(verify_in_ledger(verified, *bob));
  EXPECT_EQ(value_of(signer_in_ledger(verified, *bob)), "the analyst 'ann' of");
  EXPECT_EQ(verified.certificate.key, SigningKey::from_seed({7}).public_key());
  // The attack: bob signs the same statement in place of ann; an owner may.
  const auto signed_by = [&](Ledger& ledger) {
    const Sealed sealed =
        seal(value_of(draft(R"({"value":1})")), verified.certificate.certificate.spend, value_of(sign_by(ledger)));
    return value_of(verify_release(sealed.signed_certificate));
  };
  expect_error(verify_in_ledger(signed_by(*bob), *ann), ErrorCode::kVerificationFailed, "did not make reservation");
  expect_good(verify_in_ledger(signed_by(*open()), *ann));
  expect_good(open()->revoke_role("ann", "left"));
  expect_good(verify_in_ledger(verified, *open()));
}

TEST_F(RoadTest, RepeatsAnywhereWhatTheLedgerKeeps) {
  testing::MemoryOutlet outlet;
  const Released first = value_of(release(outlet, request(true)));
  const Released again = value_of(release(outlet, request(true)));
  EXPECT_TRUE(again.again);
  EXPECT_EQ(outlet.published, (std::vector<std::string>{first.release.bytes, first.release.bytes}));
  EXPECT_EQ(runs(), 1U);
  EXPECT_NEAR(spent(), 1, 1e-9);
}

TEST_F(RoadTest, OverwritesNoOtherFile) {
  expect_good(write_file(path(), "somebody's notes"));
  FileOutlet outlet(path(), certificate());
  expect_error(release(outlet, request()), ErrorCode::kInvalidArgument, "is there already");
  EXPECT_EQ(value_of(read_file(path(), 100)), "somebody's notes");
  EXPECT_EQ(spent(), 0);
}

TEST_F(RoadTest, CountsAFailedRunAsSpentAndSaysSo) {
  testing::MemoryOutlet outlet;
  const auto fails = [](const CertifiedSpend&) -> Result<Draft> { return internal_error("it broke"); };
  expect_error(release_by(request(), *open(), outlet, fails), ErrorCode::kInternal, "it broke");
  EXPECT_NEAR(spent(), 1, 1e-9);
  expect_error(release(outlet, request()), ErrorCode::kBudgetExhausted, "counts as spent");
  EXPECT_TRUE(outlet.published.empty());
}

// Nothing is public without a reservation, no reservation is lost, and asking again finishes or says why not.
TEST_F(RoadTest, SurvivesBeingKilledAtAnyMoment) {
  for (int moment = 1; moment < static_cast<int>(Moment::kEnd); ++moment) {
    for (const bool in_ledger : {false, true}) {
      const auto killed_at = static_cast<Moment>(moment);
      SCOPED_TRACE(::testing::Message() << "killed at " << moment << (in_ledger ? ", kept in the ledger" : ""));
      for (const auto& file : {path(), certificate(), path() + ".sealed"}) std::filesystem::remove(file);
      std::filesystem::remove(folder_.path("runs"));
      const std::string key = std::to_string(moment) + (in_ledger ? "+" : "");
      expect_good(open()->create_budget(testing::terms(key, 1, 0, Rule::kBasic)));
      ReleaseRequest wanted = request(in_ledger, key);
      wanted.spend.budget = key;
      const auto child = testing::ChildProcess::run([&] {
        Mortal outlet(path(), certificate(), killed_at);
        return release(outlet, wanted, killed_at).has_value() ? 0 : 1;
      });
      ASSERT_TRUE(child.was_killed()) << "it lived";
      const double share = value_of(open()->budget(key)).account.spent_share();
      const bool reserved = killed_at >= Moment::kRunning;
      EXPECT_NEAR(share, reserved ? 1 : 0, 1e-9);
      if (std::filesystem::exists(path())) {
        EXPECT_TRUE(killed_at == Moment::kPublished);
        expect_good(verify_in_ledger(value_of(verify_release(value_of(read_file(path(), 1 << 20)))), *open()));
      }
      const std::uintmax_t before = runs();
      Mortal outlet(path(), certificate(), Moment::kNever);
      const auto again = release(outlet, wanted);
      EXPECT_LE(value_of(open()->budget(key)).account.spent_share(), 1 + 1e-9);
      const bool lost = reserved && killed_at < Moment::kKept;
      if (lost) {
        expect_error(again, ErrorCode::kBudgetExhausted, "counts as spent");
        EXPECT_FALSE(std::filesystem::exists(path()));
        continue;
      }
      ASSERT_TRUE(again.has_value()) << again.error().message;
      EXPECT_EQ(again.value().again, reserved);
      EXPECT_EQ(runs(), reserved ? before : 1U) << "noise is drawn once";
      EXPECT_EQ(value_of(read_file(path(), 1 << 20)), again.value().release.bytes);
      EXPECT_TRUE(std::filesystem::exists(certificate()));
      EXPECT_FALSE(std::filesystem::exists(path() + ".sealed"));
      expect_good(verify_in_ledger(value_of(verify_release(again.value().release.bytes)), *open()));
    }
  }
}

TEST_F(RoadTest, FindsAnyAlteredByteOfADocument) {
  testing::MemoryOutlet outlet;
  const std::string bytes = value_of(release(outlet, request())).release.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(verify_release(changed).has_value()) << at << ": " << changed[at];
  }
  for (const char* other : {"{}", R"({"value":1})", R"({"certificate":{}})", R"({"certificate":1})"}) {
    EXPECT_FALSE(verify_release(other).has_value()) << other;
  }
}

TEST_F(RoadTest, RefusesDocumentsWithACertificateOfTheirOwn) {
  expect_error(draft("[1]"), ErrorCode::kInvalidArgument, "JSON object");
  expect_error(draft("nonsense"), ErrorCode::kInvalidArgument, "JSON object");
  expect_error(draft(R"({"certificate":{}})"), ErrorCode::kInvalidArgument, "JSON object");
}

}  // namespace
}  // namespace noisefloor
