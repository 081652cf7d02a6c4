// How the program gets libtorch (training/backend.h). Loading it takes half a second, so `noisefloor` is without it;
// where it is needed, the program becomes `noisefloor-torch`, the same program with a back end, and nobody else
// notices.
//
// Thread safety: none; before there are threads.
#pragma once

#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/training/backend.h"

namespace noisefloor::cli {

void register_torch_backend(const TorchBackend& backend);

// Returns the back end. Without one this process becomes `noisefloor-torch` with the same arguments, and begins anew;
// if that program does not stand beside this one, kInvalidArgument. `why` reads before "needs libtorch". So nothing may
// have been done before that cannot be done twice.
[[nodiscard]] Result<const TorchBackend*> require_torch(std::string_view why);

// This program once more, with OPENBLAS_CORETYPE set, if it was not: OpenBLAS reads it while it is loaded. Returns if
// there is nothing to do.
void restart_with_openblas_core();

}  // namespace noisefloor::cli
