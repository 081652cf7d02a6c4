#include "noisefloor/numerics/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace noisefloor {
namespace {

using Complex = std::complex<double>;
using WideComplex = std::complex<long double>;

// Numbers without a pattern, of sizes from 1e-12 to 1.
std::vector<Complex> ragged(std::size_t n) {
  std::vector<Complex> x(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double size = std::pow(10.0, -12 * std::fabs(std::sin(1.3 * static_cast<double>(j))));
    x[j] = {size * std::cos(static_cast<double>(j * j)), size * std::sin(0.7 * static_cast<double>(j))};
  }
  return x;
}

std::vector<WideComplex> by_definition(const std::vector<Complex>& x) {
  const std::size_t n = x.size();
  std::vector<WideComplex> result(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      const long double angle =
          -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % n) / static_cast<long double>(n);
      result[k] += WideComplex(x[j]) * WideComplex(std::cos(angle), std::sin(angle));
    }
  }
  return result;
}

TEST(Fft, IsWithinItsErrorOfTheDefinition) {
  for (std::size_t n : {1U, 2U, 4U, 64U, 1024U}) {
    std::vector<Complex> x = ragged(n);
    double sum = 0;
    for (const Complex& one : x) sum += std::abs(one);
    const std::vector<WideComplex> exact = by_definition(x);
    fft(x);
    double largest = 0;
    for (std::size_t k = 0; k < n; ++k) {
      largest = std::max(largest, static_cast<double>(std::abs(WideComplex(x[k]) - exact[k])));
    }
    EXPECT_LE(largest, fft_error(n) * sum) << n;
    if (n > 64) {
      EXPECT_GT(largest, 0) << "nothing was rounded: the test compares nothing";
    }
  }
}

TEST(Fft, OfRealNumbersIsWithinItsErrorOfTheDefinition) {
  for (std::size_t n : {2U, 4U, 8U, 64U, 1024U}) {
    std::vector<double> x(n);
    std::vector<Complex> same(n);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      x[j] = ragged(n)[j].real();
      same[j] = x[j];
      sum += std::fabs(x[j]);
    }
    const std::vector<WideComplex> exact = by_definition(same);
    const std::vector<Complex> found = fft_of_real(x);
    ASSERT_EQ(found.size(), n / 2 + 1);
    for (std::size_t k = 0; k <= n / 2; ++k) {
      EXPECT_LE(static_cast<double>(std::abs(WideComplex(found[k]) - exact[k])), 2 * fft_error(n) * sum)
          << n << ' ' << k;
    }
  }
}

// Roots of unity are shared by all lengths: a longer transform before does not change the bits of a shorter one.
TEST(Fft, LengthsDoNotDisturbEachOther) {
  std::vector<Complex> before = ragged(64);
  fft(before);
  std::vector<Complex> longer = ragged(8192);
  fft(longer);
  std::vector<Complex> after = ragged(64);
  fft(after);
  EXPECT_EQ(before, after);
}

TEST(Fft, TheInverseUndoesIt) {
  const std::vector<Complex> original = ragged(4096);
  std::vector<Complex> x = original;
  fft(x);
  inverse_fft(x);
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_LT(std::abs(x[j] - original[j]), 1e-13);
}

}  // namespace
}  // namespace noisefloor
