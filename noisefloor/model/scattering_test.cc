// Compares with the definition: convolutions written out, in double precision.
#include "noisefloor/model/scattering.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr std::size_t kSize = 12;
constexpr std::size_t kSide = 16;  // padded: a margin of 2 on each side
constexpr std::size_t kOut = 3;

using Plane = std::vector<std::complex<double>>;

std::vector<float> image() {
  std::vector<float> pixels;
  for (std::size_t i = 0; i < kSize * kSize; ++i)
    pixels.push_back(static_cast<float>(std::sin(static_cast<double>(i) * 12.9898) * 0.5 + 0.5));
  return pixels;
}

std::vector<float> features(const std::vector<float>& pixels) {
  std::vector<float> out(Scattering::kChannels * kOut * kOut);
  Scattering::create(kSize, kSize).value().transform(pixels, out);
  return out;
}

double gaussian(double y, double x, double sigma, double slant, double angle) {
  const double along = x * std::cos(angle) + y * std::sin(angle);
  const double across = -x * std::sin(angle) + y * std::cos(angle);
  return slant / (2 * kPi * sigma * sigma) *
         std::exp(-(along * along + slant * slant * across * across) / (2 * sigma * sigma));
}

// A convolution on the torus: sums over all ways around it that matter.
Plane convolved(const Plane& in, const std::function<std::complex<double>(double, double)>& filter) {
  const int side = static_cast<int>(kSide);
  std::vector<std::complex<double>> wrapped(kSide * kSide);
  for (int y = -side; y < side; ++y) {
    for (int x = -side; x < side; ++x) {
      wrapped[static_cast<std::size_t>(((y + side) % side) * side + (x + side) % side)] += filter(y, x);
    }
  }
  Plane out(kSide * kSide);
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x) {
      for (std::size_t v = 0; v < kSide; ++v) {
        for (std::size_t u = 0; u < kSide; ++u) {
          out[y * kSide + x] +=
              in[v * kSide + u] * wrapped[((y + kSide - v) % kSide) * kSide + (x + kSide - u) % kSide];
        }
      }
    }
  }
  return out;
}

Plane wavelet_modulus(const Plane& in, int scale, double angle) {
  const double size = std::pow(2.0, scale);
  const auto envelope = [&](double y, double x) { return gaussian(y, x, 0.8 * size, 0.5, angle); };
  const auto wave = [&](double y, double x) {
    return std::polar(1.0, 3 * kPi / 4 / size * (x * std::cos(angle) + y * std::sin(angle)));
  };
  double with_wave = 0;
  double alone = 0;
  const int side = static_cast<int>(kSide);
  for (int y = -side; y < side; ++y) {
    for (int x = -side; x < side; ++x) {
      with_wave += envelope(y, x) * wave(y, x).real();
      alone += envelope(y, x);
    }
  }
  Plane out = convolved(in, [&](double y, double x) { return envelope(y, x) * (wave(y, x) - with_wave / alone); });
  for (auto& value : out) value = std::abs(value);
  return out;
}

Plane padded(const std::vector<float>& pixels) {
  Plane plane;
  const auto reflected = [](int at) { return static_cast<std::size_t>(at < 0 ? -1 - at : at >= 12 ? 23 - at : at); };
  for (int y = -2; y < 14; ++y) {
    for (int x = -2; x < 14; ++x) plane.emplace_back(pixels[reflected(y) * kSize + reflected(x)]);
  }
  return plane;
}

void expect_channel(const std::vector<float>& out, std::size_t channel, const Plane& before_pooling, double tolerance) {
  const Plane smooth = convolved(before_pooling, [](double y, double x) { return gaussian(y, x, 1.6, 1, 0); });
  for (std::size_t y = 0; y < kOut; ++y) {
    for (std::size_t x = 0; x < kOut; ++x) {
      EXPECT_NEAR(out[(channel * kOut + y) * kOut + x], smooth[(4 * y + 4) * kSide + 4 * x + 4].real(), tolerance)
          << "channel " << channel;
    }
  }
}

TEST(Scattering, FollowsItsDefinition) {
  const std::vector<float> out = features(image());
  const Plane plane = padded(image());
  expect_channel(out, 0, plane, 1e-5);
  for (const std::size_t angle : {0U, 3U}) {
    const double theta = kPi * static_cast<double>(angle) / 8;
    const Plane fine = wavelet_modulus(plane, 0, theta);
    expect_channel(out, 1 + angle, fine, 1e-5);
    // At half the resolution, frequencies above it fold over a little.
    expect_channel(out, 9 + angle, wavelet_modulus(plane, 1, theta), 2e-3);
    expect_channel(out, 17 + angle * 8 + 5, wavelet_modulus(fine, 1, kPi * 5 / 8), 2e-3);
  }
}

TEST(Scattering, FindsNoWavesInAFlatImage) {
  const std::vector<float> out = features(std::vector<float>(kSize * kSize, 0.7F));
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], i < kOut * kOut ? 0.7 : 0.0, 1e-5);
}

TEST(Scattering, TransformsADatasetOnAnyNumberOfThreads) {
  Dataset data;
  data.rows = 5;
  data.shape = {2, kSize, kSize};
  data.classes = 2;
  data.labels = {0, 1, 0, 1, 1};
  for (std::size_t i = 0; i < data.rows * 2 * kSize * kSize; ++i)
    data.features.push_back(static_cast<float>(std::cos(static_cast<double>(i))));
  const Dataset one = scattered(data, 1).value();
  EXPECT_EQ(one.shape, (std::vector<std::size_t>{162, 3, 3}));
  EXPECT_EQ(one.labels, data.labels);
  EXPECT_TRUE(check_dataset(one));
  EXPECT_EQ(scattered(data, 3).value(), one);
  const std::vector<float> second_channel(data.features.begin() + 144, data.features.begin() + 288);
  const std::vector<float> alone = features(second_channel);
  for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(one.features[alone.size() + i], alone[i]);
}

TEST(Scattering, RefusesOtherShapes) {
  testing::expect_invalid(Scattering::create(30, 28).error(), "30 x 28");
  testing::expect_invalid(Scattering::create(4, 28).error(), "4 x 28");
  testing::expect_invalid(Scattering::create(128, 28).error(), "128 x 28");
  Dataset table;
  table.rows = 1;
  table.shape = {4};
  testing::expect_invalid(scattered(table, 1).error(), "images");
}

}  // namespace
}  // namespace noisefloor
