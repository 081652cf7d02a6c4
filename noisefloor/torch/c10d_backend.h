// Workers that have met already, by any process group of c10d: Gloo, which c10d_group.h meets with, or NCCL and MPI
// where libtorch was built with them.
//
// Guarantee:     as WorkerGroup, if its sums have the same bits everywhere (those of Gloo do), and
//                if waiting for a sum fails when a member is gone.
// Thread safety: none.
//
// Internal to torch/.
#pragma once

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <memory>

#include "noisefloor/sgd/worker_group.h"

namespace noisefloor {

// Sums are made on `device`: the processor, or the GPU that NCCL wants. `timeout` is what it was made with.
[[nodiscard]] std::unique_ptr<WorkerGroup> workers_of(c10::intrusive_ptr<c10d::ProcessGroup> group, c10::Device device,
                                                      std::chrono::milliseconds timeout);

}  // namespace noisefloor
