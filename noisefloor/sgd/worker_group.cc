#include "noisefloor/sgd/worker_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "noisefloor/crypto/hash.h"

namespace noisefloor {

Result<void> broadcast(WorkerGroup& group, std::span<float> numbers) {
  if (group.rank() != 0) std::fill(numbers.begin(), numbers.end(), 0.0F);
  return group.sum(numbers);
}

Result<void> expect_agreement(WorkerGroup& group, std::string_view what, std::string_view statement) {
  const Digest digest = blake2b(statement);
  std::array<float, kDigestBytes> own{};
  std::copy(digest.begin(), digest.end(), own.begin());
  auto first = own;
  NF_TRY_VOID(broadcast(group, first));
  std::array<float, 1> differing{first == own ? 0.0F : 1.0F};
  NF_TRY_VOID(group.sum(differing));
  if (differing[0] == 0) return success();
  return invalid_argument(
      fmt::format("the workers do not agree on {}: {} of {} differ from the first. Start all of them alike", what,
                  differing[0], group.size()));
}

}  // namespace noisefloor
