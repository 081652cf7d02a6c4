// Which kernels OpenBLAS should take on this processor.
//
// OpenBLAS chooses its kernels by the processor's model when it is loaded. For models that are newer than itself it
// falls back to SSE3 kernels, which are 5 times slower. This program finds out what the processor can do and tells
// OpenBLAS through the environment variable OPENBLAS_CORETYPE. Thread safety: as for the environment: call it before
// there are threads.
#pragma once

#include <optional>
#include <string>

namespace noisefloor {

// "SKYLAKEX" (AVX-512), "ZEN" or "HASWELL" (AVX2); nothing for processors with less.
[[nodiscard]] std::optional<std::string> openblas_core();

// Sets OPENBLAS_CORETYPE for the programs that this one becomes or starts, unless it is set or there is nothing to set.
// Returns whether it did.
bool set_openblas_core();

}  // namespace noisefloor
