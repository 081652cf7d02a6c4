#include "noisefloor/report/verdict.h"

#include <gtest/gtest.h>

#include <vector>

#include "noisefloor/base/hex.h"
#include "tests/support/toy_run.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;

class VerdictTest : public ::testing::Test {
 protected:
  testing::ToyRuns runs_;
};

TEST_F(VerdictTest, SaysWhatTheCertificatePromises) {
  const Sealed model = runs_.train("run");
  const Verdict verdict = value_of(verify_file(runs_.path("run/model.safetensors")));
  EXPECT_EQ(verdict.file, runs_.path("run/model.safetensors"));
  EXPECT_TRUE(verdict.is_private());
  EXPECT_TRUE(verdict.release.has_content);
  EXPECT_EQ(verdict.certificate().epsilon.upper, model.certificate.epsilon.upper);
  EXPECT_EQ(verdict.payment, Payment::kNotLookedAt);
  EXPECT_EQ(verdict.accountant, "certified privacy-loss bounds, noisefloor 1.2.3");
  EXPECT_FALSE(verdict.not_covered.empty());
  const std::string claim = claim_of(verdict);
  EXPECT_EQ(claim.rfind("epsilon ", 0), 0U) << claim;
  EXPECT_NE(claim.find("at delta 1e-05, for one row added or removed"), std::string::npos) << claim;
  const std::string meaning = meaning_of(verdict);
  EXPECT_NE(meaning.find("from this model becomes more than"), std::string::npos) << meaning;
  EXPECT_NE(meaning.find("because any one row was in the data or was not, except with probability 1e-05"),
            std::string::npos)
      << meaning;
  EXPECT_EQ(coverage_of(verdict), "'toy': the file holds what the certificate is about, unaltered");
}

TEST_F(VerdictTest, SaysThatACertificateIsAlone) {
  (void)runs_.train("run");
  const Verdict verdict = value_of(verify_file(runs_.path("run/certificate.json")));
  EXPECT_FALSE(verdict.release.has_content);
  EXPECT_NE(coverage_of(verdict).find("its certificate alone. Verify the model"), std::string::npos);
}

TEST_F(VerdictTest, PromisesNothingWithoutPrivacy) {
  (void)runs_.train("plain", std::nullopt);
  Verdict verdict = value_of(verify_file(runs_.path("plain/model.safetensors")));
  EXPECT_FALSE(verdict.is_private());
  EXPECT_EQ(verdict.payment, Payment::kNotCharged);
  EXPECT_EQ(meaning_of(verdict).rfind("NOT PRIVATE", 0), 0U);
  // Nothing was charged, so no ledger can have paid.
  expect_good(verify_payment(verdict, runs_.ledger(), LedgerIs::kNamed));
  EXPECT_EQ(verdict.payment, Payment::kNotCharged);
}

TEST_F(VerdictTest, NamesWhatHadLookedAtTheRowsWithoutNoise) {
  (void)runs_.train("before");
  EXPECT_EQ(exposures_of(value_of(verify_file(runs_.path("before/model.safetensors")))), "");
  Ledger& ledger = runs_.ledger();
  RowSketcher rows(value_of(ledger.row_key()));
  for (int i = 0; i < 100; ++i) rows.add_record(std::to_string(i));
  const NewDataset patients{"patients", blake2b("p"), testing::terms("trial", 5, 1e-3, Rule::kBasic)};
  ASSERT_TRUE(granted(value_of(ledger.add_dataset(patients, std::move(rows).finish()))).has_value());
  (void)value_of(ledger.expose({"patients", ExposureKind::kTraining, blake2b("x"), "x", ""}));
  (void)runs_.train("after");
  const std::string once = exposures_of(value_of(verify_file(runs_.path("after/model.safetensors"))));
  EXPECT_NE(once.find("once: training without noise (entry"), std::string::npos) << once;
  EXPECT_NE(once.find("not covered by epsilon"), std::string::npos) << once;
  for (int i = 0; i < 20; ++i) {
    (void)value_of(ledger.expose({"patients", ExposureKind::kSweep, blake2b("x"), std::to_string(i), ""}));
  }
  (void)runs_.train("much-later");
  const std::string often = exposures_of(value_of(verify_file(runs_.path("much-later/model.safetensors"))));
  EXPECT_NE(often.find("21 times: "), std::string::npos) << often;
  EXPECT_NE(often.find("and 11 more"), std::string::npos) << often;
}

TEST_F(VerdictTest, AcceptsOnlyTheLedgerThatPaid) {
  (void)runs_.train("run");
  Verdict verdict = value_of(verify_file(runs_.path("run/model.safetensors")));
  testing::ToyRuns others;
  expect_error(verify_payment(verdict, others.ledger(), LedgerIs::kNamed), ErrorCode::kVerificationFailed,
               "another ledger");
  EXPECT_EQ(verdict.payment, Payment::kNotLookedAt);
  expect_good(verify_payment(verdict, runs_.ledger(), LedgerIs::kNamed));
  EXPECT_EQ(verdict.payment, Payment::kPaid);
  EXPECT_EQ(verdict.signer, "the ledger that you named");
  Verdict beside = value_of(verify_file(runs_.path("run/model.safetensors")));
  expect_good(verify_payment(beside, runs_.ledger(), LedgerIs::kFound));
  EXPECT_EQ(beside.payment, Payment::kPaid);
  EXPECT_FALSE(beside.signer.has_value()) << "a ledger that lay there may have come with the release";
}

TEST_F(VerdictTest, NamesTheFileAmongSeveral) {
  (void)runs_.train("first");
  (void)runs_.train("plain", std::nullopt);
  const std::string charged = runs_.path("first/model.safetensors");
  std::vector<Verdict> verdicts{value_of(verify_file(runs_.path("plain/model.safetensors")))};
  EXPECT_FALSE(awaits_ledger(verdicts));
  verdicts.push_back(value_of(verify_file(charged)));
  EXPECT_TRUE(awaits_ledger(verdicts));
  testing::ToyRuns others;
  const std::string error = expect_error(verify_payments(verdicts, others.ledger(), LedgerIs::kNamed),
                                         ErrorCode::kVerificationFailed, "another ledger");
  EXPECT_EQ(error.rfind(charged + ": ", 0), 0U) << error;
  EXPECT_TRUE(awaits_ledger(verdicts));
  expect_good(verify_payments(verdicts, runs_.ledger(), LedgerIs::kNamed));
  EXPECT_FALSE(awaits_ledger(verdicts));
}

TEST_F(VerdictTest, IsNotGivenOnAlteredFiles) {
  (void)runs_.train("run");
  runs_.damage("run/model.safetensors");
  expect_error(verify_file(runs_.path("run/model.safetensors")), ErrorCode::kVerificationFailed,
               "the content of the file is not");
  std::string certificate = runs_.read("run/certificate.json");
  certificate.replace(certificate.find("\"steps\": 20"), 11, "\"steps\": 21");
  runs_.write("run/certificate.json", certificate);
  expect_error(verify_file(runs_.path("run/certificate.json")), ErrorCode::kVerificationFailed, "altered");
  expect_error(verify_file(runs_.path("nowhere")), ErrorCode::kIo, "nowhere");
}

// The attack: a forger signs with a key of their own, and everything else holds.
TEST_F(VerdictTest, ASignerIsKnownOnlyIfTheReaderNamesIt) {
  (void)runs_.train("run");
  Verdict verdict = value_of(verify_file(runs_.path("run/model.safetensors")));
  EXPECT_FALSE(verdict.signer.has_value());
  const PublicKey key = *verdict.release.certificate.key;
  const PublicKey other = SigningKey::from_seed({1}).public_key();
  expect_good(verify_signer(verdict, {}));
  EXPECT_FALSE(verdict.signer.has_value());
  expect_error(verify_signer(verdict, std::vector<Signer>{{other, "the registry"}}), ErrorCode::kVerificationFailed,
               "none of the keys that you trust");
  EXPECT_FALSE(verdict.signer.has_value());
  expect_good(verify_signer(verdict, std::vector<Signer>{{other, "x"}, {key, "the registry"}}));
  EXPECT_EQ(verdict.signer, "'the registry'");
  EXPECT_EQ(signature_of(verdict, "do this"), "valid, by 'the registry': " + to_hex(key));
  // What nobody signed claims nothing.
  (void)runs_.train("plain", std::nullopt);
  Verdict plain = value_of(verify_file(runs_.path("plain/model.safetensors")));
  expect_good(verify_signer(plain, std::vector<Signer>{{other, "the registry"}}));
  EXPECT_EQ(signature_of(plain, ""), "none");
}

}  // namespace
}  // namespace noisefloor
