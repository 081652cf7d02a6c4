#include "noisefloor/release/certificate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "noisefloor/release/verify_release.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

class CertificateTest : public ::testing::Test {
 protected:
  CertificateTest() : key_(SigningKey::from_seed({9, 8, 7})) {}

  [[nodiscard]] Certificate certificate() const {
    const DpStatement statement{
        Adjacency::kAddRemove, PrivacyUnit::kRow,
        SelfComposedEvent{Steps::of(100),
                          PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1.0)}}}};
    return {ReleaseKind::kModel,
            "toy",
            statement,
            Delta::of(1e-5),
            certified_epsilon(statement, Delta::of(1e-5)).value(),
            certified_curve(statement),
            100,
            false,
            R"({"batch_size":100})",
            "bounds are public",
            blake2b(kContent),
            "1.2.3",
            CertifiedSpend{blake2b("ledger"), "b", {2}, 3, blake2b("head")}};
  }
  [[nodiscard]] std::string text() const {
    return to_json(certificate(), [&](std::string_view body) { return std::pair(key_.public_key(), key_.sign(body)); });
  }

  const std::string kContent = "weights";
  SigningKey key_;
};

TEST_F(CertificateTest, RoundTripsThroughJson) {
  const SignedCertificate read = parse_certificate(text()).value();
  EXPECT_EQ(read.key, key_.public_key());
  EXPECT_EQ(read.certificate.statement, certificate().statement);
  EXPECT_EQ(read.certificate.spend, certificate().spend);
  EXPECT_EQ(read.certificate.released, certificate().released);
  EXPECT_EQ(read.certificate.curve.size(), 5U);
}

// Changes or removes every field, at every depth.
void alter(const Json& whole, const Json::json_pointer& at,
           const std::function<void(const std::string&, const Json&)>& use) {
  const Json& value = whole.at(at);
  if (value.is_object() || value.is_array()) {
    for (const auto& [name, inner] : value.items()) {
      (void)inner;
      alter(whole, at / name, use);
    }
    return;
  }
  Json changed = whole;
  if (value.is_boolean()) {
    changed[at] = !value.get<bool>();
  } else if (value.is_number_integer()) {
    changed[at] = value.get<std::int64_t>() + 1;
  } else if (value.is_number()) {
    changed[at] = value.get<double>() * 1.0001;
  } else {
    std::string text = value.get<std::string>();
    text[0] = text[0] == 'a' ? 'b' : 'a';
    changed[at] = text;
  }
  use(at.to_string(), changed);
}

TEST_F(CertificateTest, FindsAnyAlteredField) {
  int altered = 0;
  alter(Json::parse(text()), Json::json_pointer(""), [&](const std::string& where, const Json& changed) {
    ++altered;
    const auto read = parse_certificate(changed.dump(2) + "\n");
    EXPECT_FALSE(read.has_value()) << where;
  });
  EXPECT_GT(altered, 25);
  Json more = Json::parse(text());
  more["note"] = "harmless";
  EXPECT_FALSE(parse_certificate(more.dump(2) + "\n").has_value());
  for (const char* gone : {"signature", "public_key", "not_covered", "ledger", "statement"}) {
    Json less = Json::parse(text());
    less.erase(gone);
    EXPECT_FALSE(parse_certificate(less.dump(2) + "\n").has_value()) << gone;
  }
}

// The holder of the key can sign an ε that is false.
TEST_F(CertificateTest, FindsASignedLie) {
  const auto signed_text = [&](const Certificate& lie) {
    return to_json(lie, [&](std::string_view body) { return std::pair(key_.public_key(), key_.sign(body)); });
  };
  Certificate cheap = certificate();
  cheap.epsilon.upper *= 0.999;
  EXPECT_EQ(parse_certificate(signed_text(cheap)).error().code, ErrorCode::kVerificationFailed);
  Certificate curve = certificate();
  curve.curve[2].epsilon *= 0.999;
  EXPECT_EQ(parse_certificate(signed_text(curve)).error().code, ErrorCode::kVerificationFailed);
  Certificate unsigned_spend = certificate();
  EXPECT_EQ(parse_certificate(to_json(unsigned_spend, {})).error().code, ErrorCode::kVerificationFailed);
}

// The attack on version 0.1: without key, signature and ledger any ε passed.
TEST_F(CertificateTest, AClaimOfPrivacyNeedsASignatureAndALedger) {
  const auto refused = [](const std::string& text, const std::string& why) {
    const auto read = parse_certificate(text);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, ErrorCode::kVerificationFailed);
    EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
  };
  Json stripped = Json::parse(text());
  for (const char* field : {"public_key", "signature", "ledger"}) stripped.erase(field);
  refused(stripped.dump(2) + "\n", "nobody has signed it");
  Certificate invented = certificate();
  invented.statement.event = GaussianEvent{NoiseMultiplier::of(1000)};
  invented.epsilon = certified_epsilon(invented.statement, invented.delta).value();
  invented.curve = {};
  invented.spend.reset();
  refused(to_json(invented, {}), "nobody has signed it");
  refused(to_json(invented, [&](std::string_view body) { return std::pair(key_.public_key(), key_.sign(body)); }),
          "names no ledger");
  // What claims nothing needs no signature, and cannot be made to look as if it claimed something.
  Certificate plain = invented;
  plain.statement.event = NonPrivateEvent{"no noise"};
  plain.epsilon = certified_epsilon(plain.statement, plain.delta).value();
  EXPECT_FALSE(parse_certificate(to_json(plain, {})).value().key.has_value());
  Json pretends = Json::parse(to_json(plain, {}));
  pretends["private"] = true;
  refused(pretends.dump(2) + "\n", "contradicts itself");
}

TEST_F(CertificateTest, NamesWhatARunStartedFrom) {
  const auto read_with = [&](const StartPoint& start) {
    Certificate made = certificate();
    made.start = start;
    const std::string text =
        to_json(made, [&](std::string_view body) { return std::pair(key_.public_key(), key_.sign(body)); });
    return std::pair(parse_certificate(text).value().certificate.start, Json::parse(text));
  };
  const StartPoint declared{blake2b("weights before"), "trained on ImageNet"};
  const auto [back, json] = read_with(declared);
  EXPECT_EQ(back, declared);
  EXPECT_EQ(json["started_from"]["public"], "trained on ImageNet");
  EXPECT_NE(json["not_covered"].dump().find("that was declared"), std::string::npos);
  StartPoint paid{blake2b("weights before"), {}, blake2b("its certificate"), "b", {1}};
  EXPECT_EQ(read_with(paid).first, paid);
  EXPECT_NE(read_with(paid).second["not_covered"].dump().find("another budget"), std::string::npos);
  paid.counted = certificate().statement;
  EXPECT_EQ(read_with(paid).first, paid);
  EXPECT_EQ(read_with(paid).second["not_covered"], Json::parse(text())["not_covered"]);
}

// Reads a kind of file that release/ does not know: here, the certificate follows a line of text.
Result<std::optional<ReleaseParts>> read_after_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (bytes.starts_with('{') || end == std::string_view::npos) return std::optional<ReleaseParts>{};
  return std::optional<ReleaseParts>(ReleaseParts{std::string(bytes.substr(end + 1)), blake2b(bytes.substr(0, end))});
}

TEST_F(CertificateTest, VerifiesAnotherKindOfFileByItsReader) {
  const std::string file = kContent + "\n" + text();
  const VerifiedRelease release = verify_release(file, read_after_line).value();
  EXPECT_TRUE(release.has_content);
  EXPECT_EQ(release.certificate_text, text());
  EXPECT_EQ(verify_release(file).error().code, ErrorCode::kInputData) << "without the reader";
  EXPECT_EQ(verify_release("other\n" + text(), read_after_line).error().code, ErrorCode::kVerificationFailed);
  EXPECT_FALSE(verify_release(text(), read_after_line).value().has_content) << "a certificate alone";
}

TEST_F(CertificateTest, RefusesFilesWithoutACertificate) {
  EXPECT_EQ(verify_release("{}").error().code, ErrorCode::kInputData);
  EXPECT_EQ(verify_release("").error().code, ErrorCode::kInputData);
  EXPECT_EQ(verify_release("\x08text").error().code, ErrorCode::kInputData);
}

}  // namespace
}  // namespace noisefloor
