// Replayed noise must not pass for private noise.
#include "noisefloor/mechanisms/laplace.h"

using namespace noisefloor;

void publish(const PrivateRelease<double>& release);

void use(const LaplaceMechanism& laplace, SecureRandom& secure, ReplayRandom& replay) {
#if defined(CASE_REPLAYED_AS_PRIVATE)
  publish(laplace.release(1.0, replay).value());
#elif defined(CASE_ANY_STREAM)
  BitStream& stream = secure;
  publish(laplace.release(1.0, stream).value());
#elif defined(CASE_COPIED_STREAM)
  SecureRandom copy = secure;
  publish(laplace.release(1.0, copy).value());
#else
  publish(laplace.release(1.0, secure).value());
  static_cast<void>(laplace.release(1.0, replay));
#endif
}
