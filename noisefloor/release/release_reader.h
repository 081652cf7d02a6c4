// Finds the certificate in a kind of file. Verification and road.h know documents (JSON); code that releases files of
// another kind, such as models, passes a reader for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"

namespace noisefloor {

// A released file, taken apart.
struct ReleaseParts {
  std::string certificate;  // its text
  Digest content{};         // the digest of the content that the certificate is about
};

// The parts of a file of the reader's kind; nothing if the file is of another kind. kInputData or kVerificationFailed
// if it is of this kind and damaged.
using ReleaseReader = std::function<Result<std::optional<ReleaseParts>>(std::string_view bytes)>;

}  // namespace noisefloor
