#include "noisefloor/engine/cell.h"

#include "noisefloor/base/check.h"

namespace noisefloor::engine {

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kText:
      return "text";
    case Type::kDate:
      return "date";
    case Type::kTruth:
      return "truth";
  }
  NF_UNREACHABLE("there are five types");
}

}  // namespace noisefloor::engine
