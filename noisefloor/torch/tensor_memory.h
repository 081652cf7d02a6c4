// How much memory tensors take: a meter that counts what this thread allocates and frees while it lives.
//
// Counted:       storage of tensors, on every device, also of those that a backward pass makes. What kernels ask the
//                system for by themselves is not.
// Thread safety: a meter belongs to one thread. Meters nest like any guard.
//
// Internal to torch/.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace noisefloor {

class TensorMemory {
 public:
  TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  ~TensorMemory() = default;

  // The most bytes at one time, beyond what there was before.
  [[nodiscard]] std::int64_t peak() const;

 private:
  struct Meter;

  std::shared_ptr<Meter> meter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace noisefloor
