#include "noisefloor/secagg/graph.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask.h"

namespace noisefloor::secagg {

Graph::Graph(std::uint32_t clients, std::uint32_t degree, const Digest& seed)
    : degree_(degree), at_(clients), place_(clients) {
  NF_CHECK(degree % 2 == 0 || degree + 1 >= clients, "a sparse graph has an even degree");
  // Sorted by random numbers; two are equal with probability below clients² / 2^65.
  std::vector<std::uint64_t> ranks(clients);
  std::vector<Mask> mask(1);
  std::memcpy(mask[0].seed.bytes().data(), seed.data(), kMaskSeedBytes);
  apply_masks(mask, LaneBits::k64, {reinterpret_cast<std::uint8_t*>(ranks.data()), 8 * ranks.size()});
  std::iota(at_.begin(), at_.end(), 0U);
  std::sort(at_.begin(), at_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : a < b; });
  for (std::uint32_t place = 0; place < clients; ++place) place_[at_[place]] = place;
}

std::vector<std::uint32_t> Graph::neighbours(std::uint32_t client) const {
  NF_CHECK(client < clients(), "a client of the graph");
  std::vector<std::uint32_t> result;
  if (degree_ + 1 >= clients()) {
    result.reserve(clients() - 1);
    for (std::uint32_t other = 0; other < clients(); ++other) {
      if (other != client) result.push_back(other);
    }
    return result;
  }
  result.reserve(degree_);
  const std::uint32_t place = place_[client];
  for (std::uint32_t step = 1; step <= degree_ / 2; ++step) {
    result.push_back(at_[(place + step) % clients()]);
    result.push_back(at_[(place + clients() - step) % clients()]);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::uint32_t> Graph::committee() const {
  const std::uint32_t size = degree_ + 1 >= clients() ? clients() : degree_;
  std::vector<std::uint32_t> result(at_.begin(), at_.begin() + size);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace noisefloor::secagg
