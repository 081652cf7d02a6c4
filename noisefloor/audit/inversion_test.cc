// Gradients are right, attacks bring back what they promise, and what stops them stops them.
#include "noisefloor/audit/inversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace noisefloor::audit {
namespace {

constexpr Picture kShape{1, 12, 12};

SmallNetwork dense() { return SmallNetwork::create(kShape, {Dense{32}, Bend::kRelu, Dense{4}}).value(); }
SmallNetwork bent(Bend bend) {
  return SmallNetwork::create(kShape, {Convolution{6, 5, 2}, bend, Convolution{6, 3, 1}, bend, Dense{4}}).value();
}

std::vector<double> weights_of(const SmallNetwork& network, std::uint64_t seed = 1) {
  ReplayRandom random = ReplayRandom::create(seed).value();
  return network.initial_weights(random);
}

// A smooth picture: a disc, whose place follows from the number.
Pixels disc(std::size_t number) {
  Pixels picture(kShape.size());
  const double cx = 3.5 + 2.5 * static_cast<double>(number % 3);
  const double cy = 3.5 + 2.5 * static_cast<double>(number / 3 % 3);
  for (std::size_t y = 0; y < 12; ++y) {
    for (std::size_t x = 0; x < 12; ++x) {
      const double r = std::hypot(static_cast<double>(x) - cx, static_cast<double>(y) - cy);
      picture[y * 12 + x] = 1 / (1 + std::exp(2 * (r - 3)));
    }
  }
  return picture;
}

Update sent(const SmallNetwork& network, std::size_t first, std::size_t count) {
  std::vector<Pixels> pictures;
  std::vector<std::size_t> labels;
  for (std::size_t i = first; i < first + count; ++i) {
    pictures.push_back(disc(i));
    labels.push_back(i % 4);
  }
  return update_of(network, weights_of(network), pictures, labels).value();
}

double likeness(const SmallNetwork& network, const Update& update, const InversionOptions& options, std::size_t first) {
  const Reconstruction found = invert(network, weights_of(network), update, kShape, options).value();
  return psnr(disc(first), found.pictures.front());
}

TEST(SmallNetwork, HasTheGradientsOfItsLoss) {
  for (const Bend bend : {Bend::kSigmoid, Bend::kRelu}) {
    const SmallNetwork network = bent(bend);
    std::vector<double> weights = weights_of(network);
    Pixels picture = disc(4);
    std::vector<double> by_weights(network.parameters());
    std::vector<double> by_input(network.inputs());
    (void)network.gradients(weights, picture, 2, by_weights, by_input);
    const auto loss = [&] { return network.gradients(weights, picture, 2, {}, {}); };
    const auto slope = [&](double& at) {
      const double kept = at;
      at = kept + 1e-6;
      const double ahead = loss();
      at = kept - 1e-6;
      const double behind = loss();
      at = kept;
      return (ahead - behind) / 2e-6;
    };
    for (std::size_t i = 0; i < weights.size(); i += 37) EXPECT_NEAR(by_weights[i], slope(weights[i]), 1e-7) << i;
    for (std::size_t i = 0; i < picture.size(); i += 11) EXPECT_NEAR(by_input[i], slope(picture[i]), 1e-7) << i;
  }
}

// The gradient by the input of ⟨gradient by the weights, direction⟩.
TEST(SmallNetwork, MatchesGradients) {
  const SmallNetwork network = bent(Bend::kSigmoid);
  const std::vector<double> weights = weights_of(network);
  const std::vector<double> direction = weights_of(network, 9);
  Pixels picture = disc(1);
  const std::vector<double> found = network.match_gradient(weights, picture, 1, direction);
  const auto product = [&] {
    std::vector<double> by_weights(network.parameters());
    (void)network.gradients(weights, picture, 1, by_weights, {});
    return std::inner_product(direction.begin(), direction.end(), by_weights.begin(), 0.0);
  };
  for (std::size_t i = 0; i < picture.size(); i += 7) {
    const double kept = picture[i];
    picture[i] = kept + 1e-5;
    const double ahead = product();
    picture[i] = kept - 1e-5;
    const double behind = product();
    picture[i] = kept;
    EXPECT_NEAR(found[i], (ahead - behind) / 2e-5, 1e-6) << i;
  }
}

TEST(SmallNetwork, RefusesWhatItCannotBe) {
  EXPECT_FALSE(SmallNetwork::create(kShape, {}).has_value());
  EXPECT_FALSE(SmallNetwork::create(kShape, {Dense{3}, Bend::kRelu}).has_value());
  EXPECT_FALSE(SmallNetwork::create(kShape, {Convolution{3, 4, 1}, Dense{2}}).has_value());
  EXPECT_FALSE(SmallNetwork::create(kShape, {Convolution{3, 3, 0}, Dense{2}}).has_value());
  EXPECT_FALSE(SmallNetwork::create({1, 0, 5}, {Dense{2}}).has_value());
  EXPECT_FALSE(SmallNetwork::create(kShape, {Dense{0}, Dense{2}}).has_value());
}

TEST(Inversion, ReadsADenseLayerExactly) {
  const SmallNetwork network = dense();
  const Update update = sent(network, 2, 1);
  EXPECT_EQ(label_of(network, update), 2U);
  EXPECT_GT(likeness(network, update, {.method = Inversion::kAnalytic}, 2), 119) << "as the reference states";
}

TEST(Inversion, BringsAPictureBackFromConvolutions) {
  const SmallNetwork network = bent(Bend::kRelu);
  EXPECT_GT(likeness(network, sent(network, 4, 1), {.iterations = 400}, 4), 22);
  const SmallNetwork smooth = bent(Bend::kSigmoid);
  EXPECT_GT(likeness(smooth, sent(smooth, 4, 1), {.method = Inversion::kDlg, .iterations = 150}, 4), 18);
}

// Clipping alone hides nothing from an attack that looks at directions; a sum over many hides the single one; noise of
// the size that epsilon needs leaves nothing.
TEST(Inversion, IsStoppedByNoiseAndNotByClipping) {
  const SmallNetwork network = bent(Bend::kRelu);
  const InversionOptions options{.iterations = 300};
  const double alone = likeness(network, sent(network, 4, 1), options, 4);
  ReplayRandom random = ReplayRandom::create(3).value();
  Update clipped = sent(network, 4, 1);
  make_private(clipped, ClipNorm::of(0.1), NoiseMultiplier::of(1e-9), random);
  EXPECT_GT(likeness(network, clipped, options, 4), alone - 5);
  Update noisy = sent(network, 4, 1);
  make_private(noisy, ClipNorm::of(1), NoiseMultiplier::of(1), random);
  Pixels mean(kShape.size());
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += disc(i)[k] / 9;
  }
  EXPECT_LT(likeness(network, noisy, options, 4), psnr(disc(4), mean)) << "worse than the mean of all pictures";
}

TEST(Inversion, OfADenseLayerIsStoppedByNoise) {
  const SmallNetwork network = dense();
  ReplayRandom random = ReplayRandom::create(5).value();
  double before = 200;
  for (const double noise : {1e-4, 1e-2, 1.0}) {
    Update update = sent(network, 3, 1);
    make_private(update, ClipNorm::of(1), NoiseMultiplier::make(noise).value(), random);
    const double now = likeness(network, update, {.method = Inversion::kAnalytic}, 3);
    EXPECT_LT(now, before - 5) << noise;
    before = now;
  }
  EXPECT_LT(before, 12);
}

TEST(Inversion, IsRepeatable) {
  const SmallNetwork network = bent(Bend::kRelu);
  const Update update = sent(network, 1, 2);
  const InversionOptions options{.iterations = 20};
  const auto once = invert(network, weights_of(network), update, kShape, options).value();
  const auto again = invert(network, weights_of(network), update, kShape, options).value();
  ASSERT_EQ(once.pictures.size(), 2U);
  EXPECT_EQ(once.pictures, again.pictures);
}

TEST(Inversion, RefusesWhatItCannotInvert) {
  const SmallNetwork network = bent(Bend::kRelu);
  const Update update = sent(network, 1, 1);
  const std::vector<double> weights = weights_of(network);
  EXPECT_FALSE(invert(network, weights, update, kShape, {.method = Inversion::kAnalytic}).has_value());
  EXPECT_FALSE(invert(network, weights, update, {1, 5, 5}, {}).has_value());
  EXPECT_FALSE(invert(network, weights, update, kShape, {.iterations = 0}).has_value());
  const std::vector<Pixels> pictures{Pixels(7)};
  EXPECT_FALSE(update_of(network, weights, pictures, std::vector<std::size_t>{1}).has_value());
  const std::vector<Pixels> good{disc(1)};
  EXPECT_FALSE(update_of(network, weights, good, std::vector<std::size_t>{4}).has_value());
  EXPECT_FALSE(update_of(network, weights, good, std::vector<std::size_t>{}).has_value());
}

// Values of the usual formulas, computed apart.
TEST(Likeness, IsThatOfTheFormulas) {
  const Pixels black(kShape.size(), 0.0);
  const Pixels grey(kShape.size(), 0.1);
  EXPECT_NEAR(psnr(black, grey), 20, 1e-9);
  EXPECT_EQ(psnr(grey, grey), 150);
  EXPECT_NEAR(ssim(grey, grey, kShape), 1, 1e-12);
  // Constant pictures: (2 · 0 · 0.1 + c1) / (0.01 + c1), and the second factor is 1.
  EXPECT_NEAR(ssim(black, grey, kShape), 1e-4 / (0.01 + 1e-4), 1e-12);
  EXPECT_LT(ssim(disc(0), disc(8), kShape), 0.5);
  const std::vector<Pixels> truth{disc(0), disc(4), disc(8)};
  const std::vector<Pixels> found{disc(8), disc(0), disc(4)};
  EXPECT_EQ(matched(truth, found), (std::vector<std::size_t>{1, 2, 0}));
}

}  // namespace
}  // namespace noisefloor::audit
