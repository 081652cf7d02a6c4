#include "noisefloor/accounting/factorization_sensitivity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace noisefloor::internal {
namespace {

// Sums of up to 2^17 terms of which none is negative, and one root, in numbers of 64 bits.
constexpr long double kRounding = 0x1p-44L;

Interval root_of(long double lower_square, long double upper_square) {
  const auto lower = static_cast<double>(std::sqrt(std::max(0.0L, lower_square)) * (1 - kRounding));
  const auto upper = static_cast<double>(std::sqrt(upper_square) * (1 + kRounding));
  return {std::nextafter(lower, 0.0), std::nextafter(upper, std::numeric_limits<double>::infinity())};
}
Interval root_of(long double square) { return root_of(square, square); }

// w_j = a_j + a_{j−1} + … + a_{j−m+1}, where a is 0 outside of its J entries, without differences: J ≥ m entries are
// cut into blocks of m, and a window is the end of one block and the beginning of the next.
class WindowSums {
 public:
  WindowSums(std::vector<long double> a, std::uint64_t m) : a_(std::move(a)), m_(m), ahead_(a_), behind_(a_) {
    const std::size_t size = a_.size();
    const std::uint64_t block = std::min<std::uint64_t>(m, size);
    for (std::size_t j = 1; j < size; ++j) {
      if (j % block != 0) ahead_[j] += ahead_[j - 1];
    }
    for (std::size_t j = size - 1; j-- > 0;) {
      if ((j + 1) % block != 0) behind_[j] += behind_[j + 1];
    }
    // Where the window reaches beyond the last entry.
    rest_ = a_;
    for (std::size_t j = size - 1; j-- > 0;) rest_[j] += rest_[j + 1];
  }

  // Σ w_j² for j = 0 … last.
  [[nodiscard]] long double squares(std::uint64_t last) const {
    const std::uint64_t size = a_.size();
    long double sum = 0;
    const auto add = [&](long double w) { sum += w * w; };
    for (std::uint64_t j = 0; j < size && j <= last; ++j) add(inner(j));
    if (m_ > size && last >= size) {
      const long double all = inner(size - 1);
      sum += all * all * static_cast<long double>(std::min(m_ - 1, last) - size + 1);
    }
    for (std::uint64_t j = std::max(size, m_); j <= last && j - m_ + 1 < size; ++j) add(rest_[j - m_ + 1]);
    return sum;
  }

 private:
  // For j below the number of entries.
  [[nodiscard]] long double inner(std::uint64_t j) const {
    if (j < m_) return ahead_[j];
    const std::uint64_t from = j - m_ + 1;
    return from % m_ == 0 ? ahead_[j] : behind_[from] + ahead_[j];
  }

  std::vector<long double> a_;
  std::uint64_t m_;
  std::vector<long double> ahead_;   // sums from the beginning of the block
  std::vector<long double> behind_;  // sums to its end
  std::vector<long double> rest_;    // sums to the last entry
};

// The squared norm of the columns 0, b, …, (m − 1) b added up. Requires (m − 1) b < n.
long double squared_norm_together(const std::vector<long double>& c, std::uint64_t n, std::uint64_t b,
                                  std::uint64_t m) {
  long double sum = 0;
  for (std::uint64_t phase = 0; phase < std::min<std::uint64_t>(b, c.size()); ++phase) {
    std::vector<long double> a;
    for (std::uint64_t i = phase; i < c.size(); i += b) a.push_back(c[i]);
    sum += WindowSums(std::move(a), m).squares((n - 1 - phase) / b);
  }
  return sum;
}

// Σ of the squared norms of these columns, each of which is cut off after the last step.
long double squared_norms(const std::vector<long double>& c, std::uint64_t n, std::uint64_t b, std::uint64_t m) {
  std::vector<long double> squares = {0};
  for (const long double one : c) squares.push_back(squares.back() + one * one);
  const std::uint64_t size = c.size();
  // Column r has min(size, n − rb) entries.
  const std::uint64_t whole = n < size ? 0 : std::min(m, (n - size) / b + 1);
  long double sum = static_cast<long double>(whole) * squares.back();
  for (std::uint64_t r = whole; r < m; ++r) sum += squares[n - r * b];
  return sum;
}

}  // namespace

Interval column_norm(std::span<const double> coefficients, std::uint64_t rows) {
  long double sum = 0;
  for (const double c : coefficients.first(std::min<std::uint64_t>(rows, coefficients.size()))) {
    sum += static_cast<long double>(c) * static_cast<long double>(c);
  }
  return root_of(sum);
}

Interval factorization_sensitivity(const MatrixFactorizationEvent& event) {
  const std::uint64_t n = event.steps.value();
  const std::uint64_t b = std::min(event.min_separation.value(), n);
  const std::uint64_t m = std::min(event.participations.value(), (n - 1) / b + 1);
  const std::vector<long double> c(event.coefficients.begin(), event.coefficients.end());
  // Contributions in directions that are orthogonal to each other.
  const long double apart = squared_norms(c, n, b, m);
  if (m == 1 || c.size() <= b) return root_of(apart);
  // The least falling sequence above |c|: no columns have larger products than its earliest and closest ones.
  std::vector<long double> hull(c.size());
  long double largest = 0;
  for (std::size_t i = c.size(); i-- > 0;) hull[i] = largest = std::max(largest, std::fabs(c[i]));
  const long double above = squared_norm_together(hull, n, b, m);
  if (hull == c) return root_of(above);
  // Contributions in one direction. Its differences are rounded by no more than sums of the hull would be.
  const long double together = squared_norm_together(c, n, b, m) - above * kRounding;
  return root_of(std::max(apart, together), above);
}

}  // namespace noisefloor::internal
