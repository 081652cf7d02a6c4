#include "noisefloor/lanes/kernels.h"

#include "noisefloor/base/check.h"
#include "noisefloor/lanes/kernels_table.h"

namespace noisefloor::lanes {

#if defined(__x86_64__)

bool is_supported(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable:
      return true;
    case InstructionSet::kAvx2:
      return static_cast<bool>(__builtin_cpu_supports("avx2")) && static_cast<bool>(__builtin_cpu_supports("fma"));
    case InstructionSet::kAvx512:
      return static_cast<bool>(__builtin_cpu_supports("avx512f")) &&
             static_cast<bool>(__builtin_cpu_supports("avx512dq"));
  }
  return false;
}

const Kernels& kernels_for(InstructionSet set) {
  NF_CHECK(is_supported(set), "the machine has the instruction set");
  switch (set) {
    case InstructionSet::kAvx2:
      return kernels_avx2;
    case InstructionSet::kAvx512:
      return kernels_avx512;
    case InstructionSet::kPortable:
      break;
  }
  return kernels_portable;
}

#else

bool is_supported(InstructionSet set) { return set == InstructionSet::kPortable; }

const Kernels& kernels_for(InstructionSet set) {
  NF_CHECK(is_supported(set), "the machine has the instruction set");
  return kernels_portable;
}

#endif

InstructionSet best_instruction_set() {
  for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2}) {
    if (is_supported(set)) return set;
  }
  return InstructionSet::kPortable;
}

std::size_t tile_of_outputs(std::size_t outputs, std::size_t first, std::size_t columns) {
  const std::size_t rest = outputs - first;
  if (columns == 1) {
    for (const unsigned tile : {12U, 8U, 4U, 2U}) {
      if (rest >= tile) return tile;
    }
    return 1;
  }
  if (rest == 5) return 3;
  if (rest == 6) return 6;
  return rest < 4 ? rest : 4;
}

}  // namespace noisefloor::lanes
