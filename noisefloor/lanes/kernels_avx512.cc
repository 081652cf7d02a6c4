#include "noisefloor/lanes/kernels_impl.h"
#include "noisefloor/lanes/kernels_table.h"

namespace noisefloor::lanes {
namespace {

struct Avx512 {
  using Floats = float __attribute__((vector_size(64)));
  using Integers = std::int32_t __attribute__((vector_size(64)));
  using Unaligned = float __attribute__((vector_size(64), aligned(4)));
  using HalfFloats = float __attribute__((vector_size(32), may_alias));
  using Doubles = double __attribute__((vector_size(64)));
};

}  // namespace

const Kernels kernels_avx512 = Loops<Avx512>::kTable;

}  // namespace noisefloor::lanes
