// Processes that train one model together, each on its share of the examples. All that they exchange is one sum.
//
// Guarantee:     (of every implementation) if sum() succeeds, the numbers are the sum of what all members gave, each
//                exactly once, and every member that succeeds holds the same bits. If it fails, the numbers are
//                meaningless, and every later call fails too: members that no longer agree on where they are never
//                exchange again.
// Requires:      every member calls sum() in the same order, with as many numbers.
// Not covered:   members, and whoever reads the wire between them, see sums that have only a part of the noise. They
//                must be one party, on a network of its own.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor {

class WorkerGroup {
 public:
  WorkerGroup() = default;
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;
  virtual ~WorkerGroup() = default;

  [[nodiscard]] virtual std::size_t rank() const = 0;  // below size()
  [[nodiscard]] virtual std::size_t size() const = 0;

  // Replaces each number by its sum over all members.
  [[nodiscard]] virtual Result<void> sum(std::span<float> numbers) = 0;
};

// Every member gets the numbers of rank 0.
[[nodiscard]] Result<void> broadcast(WorkerGroup& group, std::span<float> numbers);

// kInvalidArgument on every member, unless all make the same statement. `what` names the subject in the error.
[[nodiscard]] Result<void> expect_agreement(WorkerGroup& group, std::string_view what, std::string_view statement);

}  // namespace noisefloor
