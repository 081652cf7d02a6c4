// libsodium chooses its fastest code when it is initialised.
#pragma once

namespace noisefloor::internal {

void initialise_sodium();

}  // namespace noisefloor::internal
