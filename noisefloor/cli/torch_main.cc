// `noisefloor-torch`: the program with libtorch (torch_backend.h).
#include <malloc.h>

#include <limits>

#include "noisefloor/cli/app.h"
#include "noisefloor/cli/torch_backend.h"
#include "noisefloor/torch/c10d_group.h"
#include "noisefloor/torch/torch_model.h"

namespace noisefloor::cli {
namespace {

Result<std::unique_ptr<TrainableModel>> make_model(const TorchNetwork& network, const Dataset& data,
                                                   const TorchWish& wish) {
  return make_torch_model(network, data, {wish.tokens, wish.threads, wish.memory_limit, wish.augmentation, wish.cuda});
}

Result<std::unique_ptr<WorkerGroup>> meet(const Meeting& meeting) {
  C10dOptions options{FileRendezvous{meeting.place}, meeting.rank, meeting.size, meeting.timeout};
  if (!meeting.is_file) {
    NF_TRY(options.rendezvous, parse_rendezvous(meeting.place));
  }
  return meet_workers(options);
}

// Buffers of one micro-batch are given back and asked for again in the next: to the kernel and from it that takes half
// of the time of small models.
void keep_freed_memory() {
  (void)::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  (void)::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  (void)::mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace
}  // namespace noisefloor::cli

int main(int argc, char** argv) {
  noisefloor::cli::restart_with_openblas_core();
  noisefloor::cli::keep_freed_memory();
  noisefloor::cli::register_torch_backend({noisefloor::cli::make_model, noisefloor::cli::meet});
  return noisefloor::cli::run(argc, argv);
}
