#include <cstdio>

#include "noisefloor/event/json.h"
#include "noisefloor/mechanisms/laplace.h"

using namespace noisefloor;

int main() {
  const auto sensitivity = count_sensitivity({});
  const auto laplace = LaplaceMechanism::create(sensitivity.value(), Epsilon::of(0.5));
  auto random = SecureRandom::create();
  const auto release = laplace.value().release(342.0, random.value());
  std::printf("%f %s\n", release.value().value(), to_json(release.value().statement()).c_str());
  return 0;
}
