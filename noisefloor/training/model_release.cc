#include "noisefloor/training/model_release.h"

#include <utility>

namespace noisefloor {
namespace {

// JSON begins with a brace; safetensors with the length of its header, followed by the brace of the header.
bool may_be_model(std::string_view bytes) {
  constexpr std::size_t kHeaderAt = 8;
  return !bytes.empty() && (bytes.front() != '{' || (bytes.size() > kHeaderAt && bytes[kHeaderAt] == '{'));
}

}  // namespace

Digest digest_of(const std::vector<NamedTensor>& tensors) { return blake2b(to_safetensors({tensors, {}})); }

Result<std::optional<ReleaseParts>> read_model_release(std::string_view bytes) {
  if (!may_be_model(bytes)) return std::optional<ReleaseParts>{};
  NF_TRY(TensorFile file, parse_safetensors(bytes));
  const auto found = file.metadata.find(kCertificateKey);
  if (found == file.metadata.end()) {
    return input_data_error("the model holds no certificate, so nothing is promised about it");
  }
  return std::optional<ReleaseParts>(ReleaseParts{std::move(found->second), digest_of(file.tensors)});
}

Result<VerifiedRelease> verify_any_release(std::string_view bytes) { return verify_release(bytes, read_model_release); }

}  // namespace noisefloor
