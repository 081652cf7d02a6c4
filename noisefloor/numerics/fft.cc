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

// e^{−πik/half} for k < half, for every power of two `half` up to a largest one, one after the other. Each comes from
// its own sine and cosine, and is the same whatever the largest one is.
const std::vector<Complex>& roots_up_to(std::size_t half) {
  static thread_local std::vector<Complex> roots = {{1, 0}, {1, 0}};  // those of `half` begin at `half`
  for (std::size_t size = roots.size(); size <= half; size *= 2) {
    roots.resize(2 * size);
    for (std::size_t k = 0; k < size; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(2 * size);
      roots[size + k] = {std::cos(angle), -std::sin(angle)};
    }
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
  const std::vector<Complex>& roots = roots_up_to(n / 2);
  swap_by_reversed_bits(x);
  std::size_t half = 1;
  if (std::countr_zero(n) % 2 == 1) {
    for (std::size_t k = 0; k < n; k += 2) {
      const Complex low = x[k];
      const Complex high = x[k + 1];
      x[k] = low + high;
      x[k + 1] = low - high;
    }
    half = 2;
  }
  // Two levels at a time, so that numbers are fetched once for both.
  for (; half < n; half *= 4) {
    const Complex* const inner = roots.data() + half;
    const Complex* const outer = roots.data() + 2 * half;
    for (std::size_t start = 0; start < n; start += 4 * half) {
      Complex* const at = x.data() + start;
      for (std::size_t k = 0; k < half; ++k) {
        const Complex a1 = product(at[k + half], inner[k]);
        const Complex b1 = product(at[k + 3 * half], inner[k]);
        const Complex a_plus = at[k] + a1;
        const Complex a_minus = at[k] - a1;
        const Complex b_plus = product(at[k + 2 * half] + b1, outer[k]);
        const Complex b_minus = product(at[k + 2 * half] - b1, outer[k + half]);
        at[k] = a_plus + b_plus;
        at[k + half] = a_minus + b_minus;
        at[k + 2 * half] = a_plus - b_plus;
        at[k + 3 * half] = a_minus - b_minus;
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

std::vector<Complex> fft_of_real(std::span<const double> x) {
  const std::size_t half = x.size() / 2;
  NF_CHECK(half > 0 && std::has_single_bit(x.size()), "the length of a Fourier transform is a power of two");
  std::vector<Complex> z(half + 1);
  for (std::size_t k = 0; k < half; ++k) z[k] = {x[2 * k], x[2 * k + 1]};
  fft(std::span(z).first(half));
  z[half] = z[0];
  // X = E + e^{−2πik/n} O, from the even places E = (z[k] + z̄[n/2 − k])/2 and the odd ones O = −i (z[k] −
  // z̄[n/2 − k])/2.
  const std::vector<Complex>& roots = roots_up_to(half);
  for (std::size_t k = 0; 2 * k <= half; ++k) {
    const Complex a = z[k];
    const Complex b = z[half - k];
    const auto at = [&](Complex one, Complex other, Complex root) {
      const Complex even = 0.5 * (one + std::conj(other));
      const Complex odd = product({0, -0.5}, one - std::conj(other));
      return even + product(root, odd);
    };
    const Complex root = roots[half + k];
    z[k] = at(a, b, root);
    z[half - k] = at(b, a, k == 0 ? Complex(-1, 0) : Complex(-root.real(), root.imag()));
  }
  return z;
}

}  // namespace noisefloor
