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
