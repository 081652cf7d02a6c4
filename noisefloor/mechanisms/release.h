// What a mechanism gives out: a noised value together with the statement of what was done.
//
// Guarantee: a PrivateRelease holds noise from a SecureRandom. Noise from a seed gives a ReplayedRelease: another
//            type, which does not convert, and whose statement says that it is not private.
#pragma once

#include <concepts>
#include <utility>

#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

template <class Source>
concept RandomSource = std::same_as<Source, SecureRandom> || std::same_as<Source, ReplayRandom>;

// `statement` with the remark that its noise was replayed, and that the release is therefore not private.
[[nodiscard]] DpStatement mark_as_replayed(DpStatement statement);

template <RandomSource Source, class T>
class Release {
 public:
  Release(T value, DpStatement statement) : value_(std::move(value)), statement_(std::move(statement)) {
    if constexpr (std::same_as<Source, ReplayRandom>) statement_ = mark_as_replayed(std::move(statement_));
  }

  [[nodiscard]] const T& value() const { return value_; }
  [[nodiscard]] const DpStatement& statement() const { return statement_; }

 private:
  T value_;
  DpStatement statement_;
};

template <class T>
using PrivateRelease = Release<SecureRandom, T>;
template <class T>
using ReplayedRelease = Release<ReplayRandom, T>;

}  // namespace noisefloor
