// What must not compile, one case at a time. With no case chosen it must compile: then a failure is due to the case.
#include "noisefloor/base/privacy_types.h"

using namespace noisefloor;

double budget(Epsilon epsilon, Delta delta) { return epsilon.value() + delta.value(); }

double use() {
  constexpr Epsilon epsilon = Epsilon::of(1);
  constexpr Delta delta = Delta::of(1e-5);
#if defined(CASE_SWAPPED)
  return budget(delta, epsilon);
#elif defined(CASE_PLAIN_NUMBER)
  return budget(1.0, delta);
#elif defined(CASE_TO_PLAIN_NUMBER)
  const double plain = epsilon;
  return plain;
#elif defined(CASE_NEGATIVE_CONSTANT)
  return budget(Epsilon::of(-1), delta);
#elif defined(CASE_DELTA_OF_ONE)
  return budget(epsilon, Delta::of(1));
#elif defined(CASE_COMPARE_DIFFERENT)
  return epsilon < delta ? 1 : 0;
#elif defined(CASE_L1_AS_L2)
  constexpr L2Sensitivity l2 = L1Sensitivity::of(1);
  return l2.value();
#else
  return budget(epsilon, delta);
#endif
}
