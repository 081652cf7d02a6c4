#include "noisefloor/lanes/kernels_impl.h"
#include "noisefloor/lanes/kernels_table.h"

namespace noisefloor::lanes {
namespace {

struct Portable {
  using Floats = float __attribute__((vector_size(16)));
  using Integers = std::int32_t __attribute__((vector_size(16)));
  using Unaligned = float __attribute__((vector_size(16), aligned(4)));
  using HalfFloats = float __attribute__((vector_size(8), may_alias));
  using Doubles = double __attribute__((vector_size(16)));
};

}  // namespace

const Kernels kernels_portable = Loops<Portable>::kTable;

}  // namespace noisefloor::lanes
