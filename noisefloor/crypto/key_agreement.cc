#include "noisefloor/crypto/key_agreement.h"

#include <sodium.h>

#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/sodium_init.h"

namespace noisefloor {

AgreementKey::AgreementKey(Secret32 secret) : secret_(std::move(secret)) {
  internal::initialise_sodium();
  NF_CHECK(crypto_scalarmult_base(public_key_.data(), secret_.bytes().data()) == 0,
           "every X25519 key has a public one");
}

Result<Secret32> AgreementKey::agree(const AgreementPublicKey& other) const {
  Secret32 shared;
  if (crypto_scalarmult(shared.bytes().data(), secret_.bytes().data(), other.data()) != 0) {
    return Error{ErrorCode::kProtocol, "the public key has small order: no secret can be agreed on with it"};
  }
  return shared;
}

}  // namespace noisefloor
