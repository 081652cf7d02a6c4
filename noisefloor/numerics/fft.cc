#include "noisefloor/numerics/fft.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

using Complex = std::complex<double>;

// e^{−2πik/n} for k < n/2, each from its own sine and cosine.
std::vector<Complex> roots_of_unity(std::size_t n) {
  std::vector<Complex> roots(n / 2);
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    roots[k] = {std::cos(angle), -std::sin(angle)};
  }
  return roots;
}

void swap_by_reversed_bits(std::span<Complex> x) {
  std::size_t reversed = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    std::size_t bit = x.size() >> 1;
    for (; (reversed & bit) != 0; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) std::swap(x[i], x[reversed]);
  }
}

// Multiplication without the checks for infinities that operator* makes.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

double fft_error(std::size_t n) { return 9 * 0x1p-53 * static_cast<double>(std::bit_width(n)) * (1 + 1e-9); }

void fft(std::span<Complex> x) {
  const std::size_t n = x.size();
  NF_CHECK(std::has_single_bit(n), "the length of a Fourier transform is a power of two");
  if (n == 1) return;
  const std::vector<Complex> roots = roots_of_unity(n);
  swap_by_reversed_bits(x);
  for (std::size_t half = 1; half < n; half *= 2) {
    const std::size_t stride = n / (2 * half);
    for (std::size_t start = 0; start < n; start += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const Complex low = x[start + k];
        const Complex high = product(x[start + k + half], roots[k * stride]);
        x[start + k] = low + high;
        x[start + k + half] = low - high;
      }
    }
  }
}

void inverse_fft(std::span<Complex> x) {
  // Conjugating before and after turns the roots around.
  for (Complex& value : x) value = std::conj(value);
  fft(x);
  const double scale = 1 / static_cast<double>(x.size());
  for (Complex& value : x) value = std::conj(value) * scale;
}

}  // namespace noisefloor
