#include "noisefloor/config/check_run.h"

#include <fmt/format.h>

#include "noisefloor/base/text.h"

namespace noisefloor::config_internal {

void RunChecker::error(const char* code, Place place, const std::string& message, std::string remedy) {
  findings_.error(code, place.line == 0 ? run_.place : place, fmt::format("run {}: {}", shown(run_.name), message),
                  std::move(remedy));
}

void RunChecker::warning(const char* code, Place place, const std::string& message, std::string remedy) {
  findings_.warning(code, place.line == 0 ? run_.place : place, fmt::format("run {}: {}", shown(run_.name), message),
                    std::move(remedy));
}

}  // namespace noisefloor::config_internal
