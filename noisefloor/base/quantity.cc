#include "noisefloor/base/quantity.h"

#include <fmt/format.h>

namespace noisefloor {

Error out_of_range(std::string_view name, std::string_view requirement, double got) {
  return invalid_argument(fmt::format("{} must be {}; got {}", name, requirement, got));
}

Error out_of_range(std::string_view name, std::string_view requirement, std::uint64_t got) {
  return invalid_argument(fmt::format("{} must be {}; got {}", name, requirement, got));
}

}  // namespace noisefloor
