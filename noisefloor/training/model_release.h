// Releases of models: safetensors files that hold their certificate in the metadata.
//
// Guarantee:     the digest covers names, shapes and values, whatever the metadata say, so that a certificate fits no
//                other model. Files of version 0.1 verify.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/release/release_reader.h"
#include "noisefloor/release/verify_release.h"

namespace noisefloor {

// The name under which a model's file holds its certificate.
inline constexpr const char* kCertificateKey = "noisefloor.certificate";

// The digest of names, shapes and values.
[[nodiscard]] Digest digest_of(const std::vector<NamedTensor>& tensors);

// The reader of models, for verify_release and for a ReleaseRequest. kInputData if a model holds no certificate.
[[nodiscard]] Result<std::optional<ReleaseParts>> read_model_release(std::string_view bytes);

// verify_release for a model (safetensors), a document or a certificate (JSON).
[[nodiscard]] Result<VerifiedRelease> verify_any_release(std::string_view bytes);

}  // namespace noisefloor
