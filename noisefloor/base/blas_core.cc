#include "noisefloor/base/blas_core.h"

#include <cstdlib>

namespace noisefloor {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

}  // namespace

std::optional<std::string> openblas_core() {
#if defined(__x86_64__)
  if (static_cast<bool>(__builtin_cpu_supports("avx512f")) && static_cast<bool>(__builtin_cpu_supports("avx512bw")) &&
      static_cast<bool>(__builtin_cpu_supports("avx512dq")) && static_cast<bool>(__builtin_cpu_supports("avx512vl"))) {
    return "SKYLAKEX";
  }
  if (static_cast<bool>(__builtin_cpu_supports("avx2")) && static_cast<bool>(__builtin_cpu_supports("fma"))) {
    return static_cast<bool>(__builtin_cpu_is("amd")) ? "ZEN" : "HASWELL";
  }
#endif
  return std::nullopt;
}

bool set_openblas_core() {
  const std::optional<std::string> core = openblas_core();
  return core && ::getenv(kVariable) == nullptr && ::setenv(kVariable, core->c_str(), 0) == 0;
}

}  // namespace noisefloor
