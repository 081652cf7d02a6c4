#include "noisefloor/numerics/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

using Complex = std::complex<double>;

// e^{−2πik/n} for k < n/2 and any power of two n: every other one, and so on, of those for the largest n so far. Each
// comes from its own sine and cosine, and is the same whatever the largest n is.
class Roots {
 public:
  explicit Roots(std::size_t n) : roots_(table()) {
    if (2 * roots_.size() < n) {
      roots_.resize(n / 2);
      for (std::size_t k = 0; k < n / 2; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
        roots_[k] = {std::cos(angle), -std::sin(angle)};
      }
    }
    stride_ = std::max<std::size_t>(1, 2 * roots_.size() / n);
  }
  [[nodiscard]] Complex operator[](std::size_t k) const { return roots_[k * stride_]; }

 private:
  static std::vector<Complex>& table() {
    static thread_local std::vector<Complex> roots;
    return roots;
  }
  std::vector<Complex>& roots_;
  std::size_t stride_ = 1;
};

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
  const Roots roots(n);
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

std::vector<Complex> fft_of_real(std::span<const double> x) {
  const std::size_t half = x.size() / 2;
  NF_CHECK(half > 0 && std::has_single_bit(x.size()), "the length of a Fourier transform is a power of two");
  std::vector<Complex> z(half + 1);
  for (std::size_t k = 0; k < half; ++k) z[k] = {x[2 * k], x[2 * k + 1]};
  fft(std::span(z).first(half));
  z[half] = z[0];
  // X = E + e^{−2πik/n} O, from the even places E = (z[k] + z̄[n/2 − k])/2 and the odd ones O = −i (z[k] −
  // z̄[n/2 − k])/2.
  const Roots roots(x.size());
  for (std::size_t k = 0; 2 * k <= half; ++k) {
    const Complex a = z[k];
    const Complex b = z[half - k];
    const auto at = [&](Complex one, Complex other, Complex root) {
      const Complex even = 0.5 * (one + std::conj(other));
      const Complex odd = product({0, -0.5}, one - std::conj(other));
      return even + product(root, odd);
    };
    const Complex root = roots[k];
    z[k] = at(a, b, root);
    z[half - k] = at(b, a, k == 0 ? Complex(-1, 0) : Complex(-root.real(), root.imag()));
  }
  return z;
}

}  // namespace noisefloor
