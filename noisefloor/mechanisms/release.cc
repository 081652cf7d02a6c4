#include "noisefloor/mechanisms/release.h"

namespace noisefloor {

DpStatement mark_as_replayed(DpStatement statement) {
  statement.event = ComposedEvent{{NonPrivateEvent{"the noise was replayed from a seed"}, statement.event}};
  return statement;
}

}  // namespace noisefloor
