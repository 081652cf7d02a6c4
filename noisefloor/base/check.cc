#include "noisefloor/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace noisefloor {

void check_failed(std::string_view file, int line, std::string_view what) {
  static_cast<void>(std::fprintf(stderr, "%.*s:%d: check failed: %.*s\n", static_cast<int>(file.size()), file.data(),
                                 line, static_cast<int>(what.size()), what.data()));
  std::abort();
}

}  // namespace noisefloor
