// Decides which rows train, and which are kept for validation and test.
//
// Guarantee:     the list that a row goes to depends only on public things: its number, the seed and the sizes asked
//                for. It is the same on every machine and for ever (a test holds values). By fractions each row is
//                decided by itself, so that a row more at the end moves no other row, and neighbours under add-remove
//                stay neighbours. By counts the number of rows decides too, and one row more can move another: under
//                add-remove this is only for data whose number of rows is public.
// Implements:    a row's key is a fixed one-to-one mixing of its number, keyed by the seed: the output function of
//                SplitMix64 (Steele, Lea, Flood 2014), twice. It is a public hash that spreads rows evenly, neither
//                noise nor a secret: nothing private may rely on it. Noise, and which rows are in a batch, come from
//                random/.
// People:        where whole people are protected, all rows of a person go where the first of them goes. So the side of
//                a person depends on the places of that person's own rows alone: one person more moves nobody whose
//                rows keep their places, and with one row each the split is that of rows.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

// Numbers of rows, each row in one of the lists, increasing.
struct Split {
  std::vector<std::uint64_t> train;
  std::vector<std::uint64_t> validation;
  std::vector<std::uint64_t> test;

  friend bool operator==(const Split&, const Split&) = default;
};

// Keeps about these fractions of the rows: those whose key is below the fraction. Each is from 0 to 1, their sum below
// 1.
[[nodiscard]] Result<Split> split_by_fraction(std::uint64_t rows, double validation, double test, std::uint64_t seed);

// The same for the rows of `data`, by its unit: people are never divided.
[[nodiscard]] Result<Split> split_by_fraction(const Dataset& data, double validation, double test, std::uint64_t seed);

// How many of so many rows are kept for training, by the same rule: a public number if that of the rows is. About so
// many where there are more than kMostCounted rows. The fractions are as above (checked).
inline constexpr std::uint64_t kMostCounted = 50'000'000;
[[nodiscard]] Result<std::uint64_t> count_for_training(std::uint64_t rows, double validation, double test,
                                                       std::uint64_t seed);

// Keeps exactly this many rows, those with the lowest keys. Their sum must be below the number of rows.
[[nodiscard]] Result<Split> split_by_count(std::uint64_t rows, std::uint64_t validation, std::uint64_t test,
                                           std::uint64_t seed);

}  // namespace noisefloor
