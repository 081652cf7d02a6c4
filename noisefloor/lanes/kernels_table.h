// The tables of kernels.h, one for each instruction set.
//
// Internal to lanes/.
#pragma once

#include "noisefloor/lanes/kernels.h"

namespace noisefloor::lanes {

extern const Kernels kernels_portable;
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;

}  // namespace noisefloor::lanes
