// Which kernels OpenBLAS should take on this processor.
//
// OpenBLAS chooses by the processor's model when it is loaded, and falls back to SSE3 kernels, 5 times slower, for models that
// are newer than itself. What the processor can do is known all the same, so the environment can say it: OPENBLAS_CORETYPE.
// Thread safety: as the environment: before there are threads.
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
