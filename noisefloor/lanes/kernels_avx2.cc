#include "noisefloor/lanes/kernels_impl.h"
#include "noisefloor/lanes/kernels_table.h"

namespace noisefloor::lanes {
namespace {

struct Avx2 {
  using Floats = float __attribute__((vector_size(32)));
  using Integers = std::int32_t __attribute__((vector_size(32)));
  using Unaligned = float __attribute__((vector_size(32), aligned(4)));
  using HalfFloats = float __attribute__((vector_size(16), may_alias));
  using Doubles = double __attribute__((vector_size(32)));
};

}  // namespace

const Kernels kernels_avx2 = Loops<Avx2>::kTable;

}  // namespace noisefloor::lanes
