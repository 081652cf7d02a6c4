#include "noisefloor/random/alias_table.h"

#include <bit>

#include "noisefloor/random/wide_real.h"

namespace noisefloor::internal {

AliasTable::AliasTable(const WideProbabilities& given, int unit_bits) {
  std::vector<WideReal> probabilities = given.p;
  NF_CHECK(!probabilities.empty() && probabilities.size() <= (1U << 20), "an alias table has 1 to 2^20 outcomes");
  WideReal missing = 1;
  for (const WideReal& p : probabilities) missing -= p;
  NF_CHECK(missing > -wide_error(), "probabilities add up to more than 1");
  probabilities.push_back(missing > 0 ? missing : WideReal(0));

  // One column for each outcome and one for the rests; the next power of two, so that top bits choose a column.
  const std::size_t outcomes = probabilities.size();
  const auto column_bits = static_cast<int>(std::bit_width(outcomes));
  const std::size_t columns = std::size_t{1} << column_bits;
  NF_CHECK(column_bits < unit_bits && unit_bits <= 63, "an alias table needs more units than columns");
  rest_ = static_cast<std::uint32_t>(outcomes);
  column_shift_ = 64 - column_bits;
  height_shift_ = 64 - unit_bits;
  height_mask_ = (std::uint64_t{1} << (unit_bits - column_bits)) - 1;

  // Weights are multiples of the unit 2^-unit_bits, rounded down with the error of the probabilities taken off first.
  const WideReal error = ldexp(wide_error() * outcomes, unit_bits);
  const std::uint64_t total = std::uint64_t{1} << unit_bits;
  std::vector<std::uint64_t> weight(columns, 0);
  std::uint64_t assigned = 0;
  WideProbabilities rests;
  for (std::size_t i = 0; i < outcomes; ++i) {
    const WideReal units = ldexp(probabilities[i], unit_bits);
    weight[i] = units > error ? static_cast<std::uint64_t>(units - error) : 0;
    assigned += weight[i];
    rests.p.push_back(units - weight[i]);
  }
  NF_CHECK(assigned < total, "weights exceed the table");
  weight[rest_] = total - assigned;
  rest_total_ = weight[rest_];
  rests_ = std::make_shared<const WideProbabilities>(std::move(rests));

  // Vose: pair each column that is not full with one that overflows.
  const std::uint64_t capacity = height_mask_ + 1;
  columns_.resize(columns);
  std::vector<std::uint32_t> small;
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < columns; ++i) (weight[i] < capacity ? small : large).push_back(i);
  while (!small.empty()) {
    const std::uint32_t low = small.back();
    small.pop_back();
    NF_CHECK(!large.empty(), "the weights of an alias table add up to its capacity");
    const std::uint32_t high = large.back();
    columns_[low] = {weight[low], high};
    weight[high] -= capacity - weight[low];
    if (weight[high] < capacity) {
      large.pop_back();
      small.push_back(high);
    }
  }
  for (std::uint32_t full : large) columns_[full] = {capacity, full};
}

std::uint32_t AliasTable::sample_rest(BitStream& stream) const {
  const WideReal point = wide_uniform(stream, 0, 0) * rest_total_;
  const WideReal error = ldexp(WideReal(1), -210);
  WideReal sum = 0;
  const std::vector<WideReal>& rests = rests_->p;
  for (std::uint32_t i = 0; i + 1 < rests.size(); ++i) {
    sum += rests[i];
    if (decided_at_least(sum, point, error)) return i;
  }
  return static_cast<std::uint32_t>(rests.size() - 1);
}

}  // namespace noisefloor::internal
