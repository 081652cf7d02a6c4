#include "noisefloor/secagg/epoch.h"

#include "noisefloor/base/check.h"
#include "noisefloor/secagg/keys.h"

namespace noisefloor::secagg {

Secret32 KeyChain::take(std::uint64_t index) {
  NF_CHECK(index >= next_, "keys of a chain are taken in order");
  for (; next_ < index; ++next_) key_ = next_in_chain(key_);
  Secret32 taken = taken_from_chain(key_);
  key_ = next_in_chain(key_);
  ++next_;
  return taken;
}

}  // namespace noisefloor::secagg
