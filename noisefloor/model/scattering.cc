#include "noisefloor/model/scattering.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/lanes/team.h"

namespace noisefloor {
namespace {

constexpr std::size_t kAngles = 8;
constexpr double kPi = std::numbers::pi;

// A function of space, wrapped around a side · side torus, and its spectrum, which is real for the even functions here.
template <class Function>
std::vector<float> spectrum_of(std::size_t side, Function function) {
  // The spectrum is computed directly: this is done once.
  const auto n = static_cast<double>(side);
  const int reach = static_cast<int>(side);
  std::vector<float> spectrum(side * side);
  struct Sample {
    double y;
    double x;
    std::complex<double> value;
  };
  std::vector<Sample> samples;
  for (int y = -reach; y < reach; ++y) {
    for (int x = -reach; x < reach; ++x) {
      const std::complex<double> value = function(static_cast<double>(y), static_cast<double>(x));
      if (std::abs(value) > 1e-9) samples.push_back({static_cast<double>(y), static_cast<double>(x), value});
    }
  }
  for (std::size_t ky = 0; ky < side; ++ky) {
    for (std::size_t kx = 0; kx < side; ++kx) {
      std::complex<double> sum = 0;
      for (const Sample& s : samples) {
        const double angle = -2 * kPi * (static_cast<double>(ky) * s.y + static_cast<double>(kx) * s.x) / n;
        sum += s.value * std::polar(1.0, angle);
      }
      spectrum[ky * side + kx] = static_cast<float>(sum.real());
    }
  }
  return spectrum;
}

struct Envelope {
  double sigma;
  double slant;
  double angle;
  [[nodiscard]] double at(double y, double x) const {
    const double along = x * std::cos(angle) + y * std::sin(angle);
    const double across = -x * std::sin(angle) + y * std::cos(angle);
    return std::exp(-(along * along + slant * slant * across * across) / (2 * sigma * sigma)) * slant /
           (2 * kPi * sigma * sigma);
  }
};

// A wave under an envelope, minus enough of the envelope to make its mean 0.
std::vector<float> wavelet(std::size_t side, int scale, double angle) {
  const double size = std::pow(2.0, scale);
  const Envelope envelope{0.8 * size, 4.0 / kAngles, angle};
  const double frequency = 3 * kPi / 4 / size;
  const auto wave = [&](double y, double x) {
    return std::polar(1.0, frequency * (x * std::cos(angle) + y * std::sin(angle)));
  };
  std::complex<double> mean = 0;
  double total = 0;
  const int reach = static_cast<int>(side);
  for (int y = -reach; y < reach; ++y) {
    for (int x = -reach; x < reach; ++x) {
      mean += envelope.at(y, x) * wave(y, x);
      total += envelope.at(y, x);
    }
  }
  const double share = mean.real() / total;
  return spectrum_of(side, [&](double y, double x) { return envelope.at(y, x) * (wave(y, x) - share); });
}

std::vector<float> low_pass(std::size_t side, double size) {
  const Envelope envelope{0.8 * size / 2, 1, 0};
  return spectrum_of(side, [&](double y, double x) { return std::complex<double>(envelope.at(y, x)); });
}

}  // namespace

Result<Scattering> Scattering::create(std::size_t height, std::size_t width) {
  const auto fits = [](std::size_t size) { return size % 4 == 0 && size >= 8 && size <= 124; };
  if (!fits(height) || !fits(width)) {
    return invalid_argument(fmt::format(
        "scattering needs images whose sides are multiples of 4 from 8 to 124; {} x {} was given", height, width));
  }
  // A margin of at least 2 on each side, filled by reflection.
  return Scattering(height, width, std::bit_ceil(std::max(height, width) + 4));
}

Scattering::Scattering(std::size_t height, std::size_t width, std::size_t side)
    : height_(height), width_(width), side_(side) {
  for (std::size_t angle = 0; angle < kAngles; ++angle) {
    const double theta = kPi * static_cast<double>(angle) / kAngles;
    fine_.push_back(wavelet(side, 0, theta));
    coarse_.push_back(wavelet(side, 1, theta));
  }
  low_pass_ = low_pass(side, 4);
  low_pass_half_ = low_pass(side / 2, 2);
  for (std::size_t k = 0; k < side; ++k) {
    roots_.push_back(
        static_cast<Complex>(std::polar(1.0, -2 * kPi * static_cast<double>(k) / static_cast<double>(side))));
  }
}

void Scattering::fourier(Plane& plane, std::size_t side, bool inverse) const {
  const auto line = [&](Complex* first, std::size_t stride) {
    // First bit reversal, then butterflies.
    for (std::size_t i = 1, j = 0; i < side; ++i) {
      std::size_t bit = side >> 1U;
      for (; (j & bit) != 0; bit >>= 1U) j ^= bit;
      j ^= bit;
      if (i < j) std::swap(first[i * stride], first[j * stride]);
    }
    for (std::size_t length = 2; length <= side; length *= 2) {
      const std::size_t skip = side_ / length;
      for (std::size_t start = 0; start < side; start += length) {
        for (std::size_t k = 0; k < length / 2; ++k) {
          const Complex root = inverse ? std::conj(roots_[k * skip]) : roots_[k * skip];
          Complex& a = first[(start + k) * stride];
          Complex& b = first[(start + k + length / 2) * stride];
          const Complex turned(root.real() * b.real() - root.imag() * b.imag(),
                               root.real() * b.imag() + root.imag() * b.real());
          b = a - turned;
          a += turned;
        }
      }
    }
  };
  for (std::size_t row = 0; row < side; ++row) line(plane.data() + row * side, 1);
  for (std::size_t column = 0; column < side; ++column) line(plane.data() + column, side);
}

Scattering::Plane Scattering::filtered(const Plane& spectrum, const std::vector<float>& filter, std::size_t side,
                                       std::size_t step) const {
  // Taking every step-th position in space folds frequencies onto each other.
  const std::size_t small = side / step;
  NF_CHECK(small > 0, "a plane larger than the step");
  Plane folded(small * small);
  for (std::size_t y = 0; y < side; ++y) {
    for (std::size_t x = 0; x < side; ++x) {
      folded[(y % small) * small + x % small] += spectrum[y * side + x] * filter[y * side + x];
    }
  }
  fourier(folded, small, true);
  const float share = 1.0F / static_cast<float>(side * side);
  for (Complex& value : folded) value *= share;
  return folded;
}

void Scattering::pool(const Plane& spectrum, std::size_t side, std::span<float> out) const {
  NF_CHECK(side_ > 0, "a padded image");
  const std::size_t step = 4 * side / side_;
  const Plane small = filtered(spectrum, side == side_ ? low_pass_ : low_pass_half_, side, step);
  const std::size_t low = side_ / 4;
  // The image begins at `margin`; takes the positions at multiples of 4 that are nearest to the centres of its 4 x 4
  // cells.
  const std::size_t top = ((side_ - height_) / 2 + 2) / 4;
  const std::size_t left = ((side_ - width_) / 2 + 2) / 4;
  for (std::size_t y = 0; y < out_height(); ++y) {
    for (std::size_t x = 0; x < out_width(); ++x) {
      out[y * out_width() + x] = small[((top + y) % low) * low + (left + x) % low].real();
    }
  }
}

void Scattering::transform(std::span<const float> image, std::span<float> out) const {
  const std::size_t area = out_height() * out_width();
  NF_CHECK(image.size() == height_ * width_ && out.size() == kChannels * area,
           "an image of the size that was declared");
  const auto channel = [&](std::size_t number) { return out.subspan(number * area, area); };
  const auto reflected = [](std::size_t position, std::size_t margin, std::size_t size) {
    const auto period = static_cast<std::ptrdiff_t>(2 * size);
    std::ptrdiff_t at = (static_cast<std::ptrdiff_t>(position) - static_cast<std::ptrdiff_t>(margin)) % period;
    if (at < 0) at += period;
    return static_cast<std::size_t>(at < static_cast<std::ptrdiff_t>(size) ? at : period - 1 - at);
  };
  Plane spectrum(side_ * side_);
  for (std::size_t y = 0; y < side_; ++y) {
    const std::size_t from_row = reflected(y, (side_ - height_) / 2, height_);
    for (std::size_t x = 0; x < side_; ++x) {
      spectrum[y * side_ + x] = image[from_row * width_ + reflected(x, (side_ - width_) / 2, width_)];
    }
  }
  fourier(spectrum, side_, false);
  pool(spectrum, side_, channel(0));
  const auto modulus = [](Plane& plane) {
    for (Complex& value : plane) value = std::sqrt(value.real() * value.real() + value.imag() * value.imag());
  };
  for (std::size_t angle = 0; angle < kAngles; ++angle) {
    Plane first = filtered(spectrum, fine_[angle], side_, 1);
    modulus(first);
    fourier(first, side_, false);
    pool(first, side_, channel(1 + angle));
    for (std::size_t other = 0; other < kAngles; ++other) {
      Plane second = filtered(first, coarse_[other], side_, 2);
      modulus(second);
      fourier(second, side_ / 2, false);
      pool(second, side_ / 2, channel(1 + 2 * kAngles + angle * kAngles + other));
    }
  }
  for (std::size_t angle = 0; angle < kAngles; ++angle) {
    Plane first = filtered(spectrum, coarse_[angle], side_, 2);
    modulus(first);
    fourier(first, side_ / 2, false);
    pool(first, side_ / 2, channel(1 + kAngles + angle));
  }
}

Result<Dataset> scattered(const Dataset& images, std::size_t threads) {
  if (images.shape.size() != 3) return invalid_argument("scattering needs images: channels, height and width");
  NF_TRY(const Scattering scattering, Scattering::create(images.shape[1], images.shape[2]));
  Dataset result;
  result.rows = images.rows;
  result.shape = {images.shape[0] * Scattering::kChannels, scattering.out_height(), scattering.out_width()};
  result.labels = images.labels;
  result.classes = images.classes;
  result.targets = images.targets;
  result.people = images.people;
  result.nulls = images.nulls;
  result.rows_per_person = images.rows_per_person;
  result.features.resize(result.rows * result.width());
  const std::size_t area = images.shape[1] * images.shape[2];
  const std::size_t each = Scattering::kChannels * scattering.out_height() * scattering.out_width();
  const std::size_t planes = images.rows * images.shape[0];
  lanes::Team team(threads);
  team.run([&](std::size_t member) {
    for (std::size_t i = planes * member / team.size(); i < planes * (member + 1) / team.size(); ++i) {
      scattering.transform(std::span(images.features).subspan(i * area, area),
                           std::span(result.features).subspan(i * each, each));
    }
  });
  return result;
}

}  // namespace noisefloor
