#include "noisefloor/torch/tensor_memory.h"

#include <c10/core/Allocator.h>

#include <algorithm>

namespace noisefloor {

// torch's allocators tell a profiler of every block: this is one.
struct TensorMemory::Meter final : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void* /*block*/, std::int64_t bytes, std::int64_t /*allocated*/, std::int64_t /*reserved*/,
                         c10::Device /*device*/) override {
    now += bytes;
    peak = std::max(peak, now);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  std::int64_t now = 0;
  std::int64_t peak = 0;
};

TensorMemory::TensorMemory() : meter_(std::make_shared<Meter>()), guard_(c10::DebugInfoKind::PROFILER_STATE, meter_) {}

std::int64_t TensorMemory::peak() const { return meter_->peak; }

}  // namespace noisefloor
