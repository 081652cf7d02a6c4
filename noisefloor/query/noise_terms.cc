#include "noisefloor/query/noise_terms.h"

#include <fmt/format.h>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor::query {

std::string_view name_of(NoiseKind kind) {
  switch (kind) {
    case NoiseKind::kAuto:
      return "auto";
    case NoiseKind::kLaplace:
      return "laplace";
    case NoiseKind::kGaussian:
      return "gaussian";
  }
  NF_UNREACHABLE("a kind of noise outside the closed list");
}

Result<NoiseKind> parse_noise_kind(std::string_view text) {
  for (const NoiseKind kind : {NoiseKind::kAuto, NoiseKind::kLaplace, NoiseKind::kGaussian}) {
    if (name_of(kind) == text) return kind;
  }
  return invalid_argument(fmt::format("noise must be auto, laplace or gaussian; got {}", shown(text)));
}

}  // namespace noisefloor::query
