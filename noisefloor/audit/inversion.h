// Gradient inversion: pictures that come back from an update that somebody sent.
//
//   const Update sent = update_of(network, weights, pictures, labels).value();
//   const Reconstruction found = invert(network, weights, sent, {.method = Inversion::kCosine}).value();
//
// Implements:    analytic for a first dense layer: any row of ∂L/∂W over its ∂L/∂b is the input; DLG (Zhu et al. 2019):
//                the squared distance of gradients, by L-BFGS; cosine distance and total variation (Geiping et al.
//                2020), by Adam on signs of gradients, in the box [0, 1].
// Observer:      an honest but curious server, who knows the weights, the sum that it receives, how many pictures are
//                in it and their labels. Without a secure sum that is one client's update.
// Not covered:   servers that choose weights to read updates from, and updates of several local steps.
// Determinism:   the same arguments give the same bits.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "noisefloor/audit/small_network.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor::audit {

using Pixels = std::vector<double>;  // from 0 to 1

// The sum of the gradients of some pictures, with what its observer knows beside it.
struct Update {
  std::vector<double> gradient;
  std::vector<std::size_t> labels;
};
// kInvalidArgument unless there are as many labels as pictures, each of the network's size.
[[nodiscard]] Result<Update> update_of(const SmallNetwork& network, std::span<const double> weights,
                                       std::span<const Pixels> pictures, std::span<const std::size_t> labels);

// What a private client sends instead: its gradient is clipped, and noise of noise · clip is added to each coordinate.
void make_private(Update& update, ClipNorm clip, NoiseMultiplier noise, BitStream& stream);

// The class of the one picture in an update: the one whose bias has a negative gradient (iDLG).
[[nodiscard]] std::size_t label_of(const SmallNetwork& network, const Update& update);

enum class Inversion : std::uint8_t { kAnalytic, kDlg, kCosine };
[[nodiscard]] std::string_view name_of(Inversion method);  // "analytic", "dlg", "cosine"

struct InversionOptions {
  Inversion method = Inversion::kCosine;
  int iterations = 600;
  int restarts = 2;                // of DLG
  double total_variation = 0.001;  // weight of the smoothness of pictures
  std::uint64_t seed = 1;
};
struct Reconstruction {
  std::vector<Pixels> pictures;
  double distance = 0;  // of their gradient from the update: what the attack makes small
};
// kInvalidArgument for the analytic method where the first layer is not dense.
[[nodiscard]] Result<Reconstruction> invert(const SmallNetwork& network, std::span<const double> weights,
                                            const Update& update, const Picture& shape,
                                            const InversionOptions& options);

// The likeness of two pictures: 10 log10(1 / mean squared error), at most 150 dB; and structural similarity over
// windows of 7 × 7 (Wang et al. 2004).
[[nodiscard]] double psnr(std::span<const double> a, std::span<const double> b);
[[nodiscard]] double ssim(std::span<const double> a, std::span<const double> b, const Picture& shape);

// For each true picture the place of the most alike one that came back, each used once: the best pairs first.
[[nodiscard]] std::vector<std::size_t> matched(std::span<const Pixels> truth, std::span<const Pixels> found);

}  // namespace noisefloor::audit
