#include "noisefloor/table/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace noisefloor {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

std::uint64_t mixed(std::uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// For one seed, different rows have different keys.
class Keys {
 public:
  explicit Keys(std::uint64_t seed) : start_(mixed(seed)) {}
  [[nodiscard]] std::uint64_t of(std::uint64_t row) const { return mixed(start_ ^ mixed(row)); }

 private:
  std::uint64_t start_;
};

}  // namespace

namespace {

Result<void> check_fractions(double validation, double test) {
  if (validation >= 0 && test >= 0 && validation + test < 1) return success();
  return invalid_argument(fmt::format(
      "the fractions for validation and test must be 0 or above, with a sum below 1; got {} and {}", validation, test));
}

// first_of(row) is the row whose key decides.
template <class FirstOf>
Result<Split> split_by_keys(std::uint64_t rows, double validation, double test, std::uint64_t seed, FirstOf first_of) {
  NF_TRY_VOID(check_fractions(validation, test));
  const auto test_below = static_cast<std::uint64_t>(std::ldexp(test, 64));
  const auto validation_below = static_cast<std::uint64_t>(std::ldexp(test + validation, 64));
  const Keys keys(seed);
  Split split;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t key = keys.of(first_of(row));
    (key < test_below ? split.test : key < validation_below ? split.validation : split.train).push_back(row);
  }
  return split;
}

}  // namespace

Result<Split> split_by_fraction(std::uint64_t rows, double validation, double test, std::uint64_t seed) {
  return split_by_keys(rows, validation, test, seed, [](std::uint64_t row) { return row; });
}

Result<Split> split_by_fraction(const Dataset& data, double validation, double test, std::uint64_t seed) {
  if (data.unit() == PrivacyUnit::kRow) return split_by_fraction(data.rows, validation, test, seed);
  std::unordered_map<std::uint32_t, std::uint64_t> first_rows;
  return split_by_keys(data.rows, validation, test, seed,
                       [&](std::uint64_t row) { return first_rows.try_emplace(data.people[row], row).first->second; });
}

Result<std::uint64_t> count_for_training(std::uint64_t rows, double validation, double test, std::uint64_t seed) {
  NF_TRY_VOID(check_fractions(validation, test));
  if (validation + test == 0) return rows;
  if (rows > kMostCounted) return static_cast<std::uint64_t>(static_cast<double>(rows) * (1 - (validation + test)));
  const auto kept_below = static_cast<std::uint64_t>(std::ldexp(test + validation, 64));
  const Keys keys(seed);
  std::uint64_t count = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    if (keys.of(row) >= kept_below) ++count;
  }
  return count;
}

Result<Split> split_by_count(std::uint64_t rows, std::uint64_t validation, std::uint64_t test, std::uint64_t seed) {
  if (test >= rows || validation >= rows - test) {
    return invalid_argument(fmt::format(
        "{} rows for validation and {} for test leave none to train with; ask for fewer", validation, test));
  }
  const Keys keys(seed);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  order.reserve(rows);
  for (std::uint64_t row = 0; row < rows; ++row) order.emplace_back(keys.of(row), row);
  const auto at = [&](std::uint64_t count) { return order.begin() + static_cast<std::ptrdiff_t>(count); };
  std::nth_element(order.begin(), at(test + validation), order.end());
  std::nth_element(order.begin(), at(test), at(test + validation));
  const auto rows_between = [&](std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> list;
    list.reserve(to - from);
    for (auto item = at(from); item != at(to); ++item) list.push_back(item->second);
    std::sort(list.begin(), list.end());
    return list;
  };
  return Split{.train = rows_between(test + validation, rows),
               .validation = rows_between(test, test + validation),
               .test = rows_between(0, test)};
}

}  // namespace noisefloor
