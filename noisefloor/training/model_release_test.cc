#include "noisefloor/training/model_release.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "noisefloor/crypto/signing.h"
#include "noisefloor/release/document.h"

namespace noisefloor {
namespace {

class ModelReleaseTest : public ::testing::Test {
 protected:
  ModelReleaseTest() : key_(SigningKey::from_seed({9, 8, 7})) {
    file_.tensors = {{"weight", {3}, {1, 2, 3}}};
    file_.metadata[kCertificateKey] = certificate_text();
  }

  [[nodiscard]] static DpStatement statement() {
    return {Adjacency::kAddRemove, PrivacyUnit::kRow,
            SelfComposedEvent{Steps::of(100),
                              PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1.0)}}}};
  }
  [[nodiscard]] Sign sign() const {
    return [this](std::string_view body) { return std::pair(key_.public_key(), key_.sign(body)); };
  }
  [[nodiscard]] std::string certificate_text() const {
    const Certificate certificate{ReleaseKind::kModel,
                                  "toy",
                                  statement(),
                                  Delta::of(1e-5),
                                  certified_epsilon(statement(), Delta::of(1e-5)).value(),
                                  certified_curve(statement()),
                                  100,
                                  false,
                                  R"({"batch_size":100})",
                                  "bounds are public",
                                  digest_of(file_.tensors),
                                  "1.2.3",
                                  CertifiedSpend{blake2b("ledger"), "b", {2}, 3, blake2b("head")}};
    return to_json(certificate, sign());
  }

  SigningKey key_;
  TensorFile file_;
};

TEST_F(ModelReleaseTest, VerifiesAModelWithItsCertificate) {
  const VerifiedRelease release = verify_any_release(to_safetensors(file_)).value();
  EXPECT_TRUE(release.has_content);
  EXPECT_EQ(release.certificate_text, file_.metadata[kCertificateKey]);
  EXPECT_EQ(release.certificate.key, key_.public_key());
  EXPECT_EQ(release.digest, blake2b(to_safetensors(file_)));
}

TEST_F(ModelReleaseTest, VerifiesDocumentsAndCertificatesToo) {
  const VerifiedRelease alone = verify_any_release(certificate_text()).value();
  EXPECT_FALSE(alone.has_content);
  Draft draft = document_draft(ReleaseKind::kAnswer, "answer", R"({"value":1})", statement(), Delta::of(1e-5), "",
                               "none", "1.2.3")
                    .value();
  const Sealed sealed = seal(std::move(draft), CertifiedSpend{blake2b("ledger"), "b", {2}, 3, blake2b("head")}, sign());
  EXPECT_TRUE(verify_any_release(sealed.bytes).value().has_content);
}

TEST_F(ModelReleaseTest, KnowsNoModelWithoutItsReader) {
  EXPECT_EQ(verify_release(to_safetensors(file_)).error().code, ErrorCode::kInputData);
}

// The first byte is the lowest of the header's length, which extra spaces can make equal to a brace.
TEST_F(ModelReleaseTest, KnowsAModelWhoseFirstByteIsABrace) {
  std::string bytes = to_safetensors(file_);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::uint64_t spaces = (256 + '{' - length % 256) % 256;
  bytes.insert(sizeof length + length, spaces, ' ');
  length += spaces;
  std::memcpy(bytes.data(), &length, sizeof length);
  ASSERT_EQ(bytes.front(), '{');
  const auto release = verify_any_release(bytes);
  ASSERT_TRUE(release.has_value()) << release.error().message;
  EXPECT_TRUE(release.value().has_content);
}

TEST_F(ModelReleaseTest, FindsAnyAlteredByteOfAModel) {
  const std::string bytes = to_safetensors(file_);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(verify_any_release(changed).has_value()) << at;
  }
  for (const std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_FALSE(verify_any_release(bytes.substr(0, size)).has_value()) << size;
  }
}

TEST_F(ModelReleaseTest, RefusesAModelWithoutACertificate) {
  file_.metadata.clear();
  EXPECT_EQ(verify_any_release(to_safetensors(file_)).error().code, ErrorCode::kInputData);
  EXPECT_EQ(verify_any_release("{}").error().code, ErrorCode::kInputData);
  EXPECT_EQ(verify_any_release("").error().code, ErrorCode::kInputData);
}

}  // namespace
}  // namespace noisefloor
