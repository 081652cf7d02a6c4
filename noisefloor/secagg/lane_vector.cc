#include "noisefloor/secagg/lane_vector.h"

#include <cstring>

#include "noisefloor/base/check.h"
#include "noisefloor/base/wide_int.h"

namespace noisefloor::secagg {
namespace {

std::uint64_t low_bits(unsigned bits) { return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

LaneBits lanes_for(unsigned bits) { return bits <= 16 ? LaneBits::k16 : bits <= 32 ? LaneBits::k32 : LaneBits::k64; }

// Calls use(lane type) for the lanes of a vector.
template <class Use>
auto with_lane(LaneBits lanes, const Use& use) {
  switch (lanes) {
    case LaneBits::k16:
      return use(std::uint16_t{});
    case LaneBits::k32:
      return use(std::uint32_t{});
    case LaneBits::k64:
      return use(std::uint64_t{});
  }
  NF_UNREACHABLE("lanes outside the closed list");
}

template <class Lane>
Lane load(const std::uint8_t* from) {
  Lane lane;
  std::memcpy(&lane, from, sizeof lane);
  return lane;
}

}  // namespace

LaneVector::LaneVector(std::uint64_t dimension, unsigned bits)
    : dimension_(dimension), bits_(bits), lanes_(lanes_for(bits)) {
  NF_CHECK(bits >= 1 && bits <= kMaxBits && dimension <= kMaxDimension, "the shape of a vector was checked before");
  bytes_.resize(dimension * bytes_of(lanes_));
}

std::uint64_t LaneVector::get(std::uint64_t i) const {
  NF_CHECK(i < dimension_, "an index within the vector");
  return with_lane(lanes_,
                   [&](auto lane) -> std::uint64_t { return load<decltype(lane)>(bytes_.data() + i * sizeof lane); }) &
         low_bits(bits_);
}

std::int64_t LaneVector::get_signed(std::uint64_t i) const {
  const unsigned above = 64 - bits_;
  return static_cast<std::int64_t>(get(i) << above) >> above;
}

void LaneVector::set(std::uint64_t i, std::uint64_t value) {
  NF_CHECK(i < dimension_, "an index within the vector");
  with_lane(lanes_, [&](auto lane) {
    lane = static_cast<decltype(lane)>(value);
    std::memcpy(bytes_.data() + i * sizeof lane, &lane, sizeof lane);
  });
}

// Pointers and sizes are locals below: bytes may alias anything, also the vector's own members.
void LaneVector::pack(std::span<std::uint8_t> out) const {
  NF_CHECK(out.size() == packed_bytes(dimension_, bits_), "room for the packed vector");
  if (dimension_ == 0) return;
  if (bits_ == static_cast<unsigned>(lanes_)) {
    std::memcpy(out.data(), bytes_.data(), bytes_.size());
    return;
  }
  with_lane(lanes_,
            [from = bytes_.data(), count = dimension_, bits = bits_, to = out.data(), size = out.size()](auto lane) {
              Uint128 pending = 0;  // the low `held` bits are not written yet
              unsigned held = 0;
              std::size_t at = 0;
              for (std::uint64_t i = 0; i < count; ++i) {
                pending |= Uint128{load<decltype(lane)>(from + i * sizeof lane) & low_bits(bits)} << held;
                held += bits;
                if (held >= 64) {
                  const auto word = static_cast<std::uint64_t>(pending);
                  std::memcpy(to + at, &word, sizeof word);
                  at += sizeof word;
                  pending >>= 64;
                  held -= 64;
                }
              }
              const auto word = static_cast<std::uint64_t>(pending);
              std::memcpy(to + at, &word, size - at);
            });
}

void LaneVector::add_packed(Bytes packed) {
  NF_CHECK(is_packed(packed, dimension_, bits_), "a packed vector of the same shape");
  with_lane(lanes_, [to = bytes_.data(), count = dimension_, bits = bits_, from = packed.data(),
                     size = packed.size()](auto lane) {
    using Lane = decltype(lane);
    const auto add = [to](std::uint64_t i, Lane value) {
      const auto sum = static_cast<Lane>(load<Lane>(to + i * sizeof(Lane)) + value);
      std::memcpy(to + i * sizeof(Lane), &sum, sizeof sum);
    };
    if (bits == 8 * sizeof(Lane)) {
      for (std::uint64_t i = 0; i < count; ++i) add(i, load<Lane>(from + i * sizeof(Lane)));
      return;
    }
    Uint128 pending = 0;
    unsigned held = 0;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (held < bits) {
        std::uint64_t word = 0;
        const std::size_t next = size - at < sizeof word ? size - at : sizeof word;
        std::memcpy(&word, from + at, next);
        at += next;
        pending |= Uint128{word} << held;
        held += 64;
      }
      add(i, static_cast<Lane>(static_cast<std::uint64_t>(pending) & low_bits(bits)));
      pending >>= bits;
      held -= bits;
    }
  });
}

bool operator==(const LaneVector& a, const LaneVector& b) {
  if (a.dimension_ != b.dimension_ || a.bits_ != b.bits_) return false;
  for (std::uint64_t i = 0; i < a.dimension_; ++i) {
    if (a.get(i) != b.get(i)) return false;
  }
  return true;
}

bool is_packed(Bytes bytes, std::uint64_t dimension, unsigned bits) {
  if (bytes.size() != packed_bytes(dimension, bits)) return false;
  const unsigned used = static_cast<unsigned>(dimension * bits % 8);
  return used == 0 || bytes.back() >> used == 0;
}

}  // namespace noisefloor::secagg
