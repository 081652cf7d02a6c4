// Gradient inversion on the test images of a training file: what an honest but curious server sees in one client's
// update, in a secure sum, and in private updates.
//
//   NF_TRY(const InversionOutcome found, invert_updates(file, {.clients = 8}, machine, nullptr, control));
//
// Guarantee:     only test images are looked at. If they were kept from private rows, the ledger records it first
//                (exposing.h), and without a ledger they are refused. The same arguments give the same pictures.
// Privacy:       what comes out shows these images.
// Thread safety: pure function except for reading files and for the ledger.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/audit/inversion.h"
#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

enum class AttackedNetwork : std::uint8_t {
  kDense,        // 64 hidden units: read analytically
  kConvolution,  // three convolutions of 12 channels
};

struct InversionWish {
  AttackedNetwork network = AttackedNetwork::kConvolution;
  std::optional<audit::Inversion> method = {};  // analytic for a dense network, cosine for the other one
  std::size_t pictures = 4;                     // of one client each
  std::size_t clients = 8;                      // in the secure sum; 0 for none
  ClipNorm clip = ClipNorm::of(1);              // of private updates
  std::vector<NoiseMultiplier> noise = {NoiseMultiplier::of(0.001), NoiseMultiplier::of(0.01), NoiseMultiplier::of(1)};
  int iterations = 600;
  double total_variation = 0.001;  // how smooth pictures are taken to be
  std::uint64_t seed = 1;
};

struct InvertedUpdate {
  std::string against;  // "one client's update", "a secure sum of 8 clients", …
  std::vector<audit::Pixels> truth;
  std::vector<audit::Pixels> found;  // those that are most alike
  double psnr = 0;                   // medians
  double ssim = 0;
  double seconds = 0;
};

struct InversionOutcome {
  std::string name;
  audit::Picture shape;
  audit::Inversion method = audit::Inversion::kCosine;
  std::size_t parameters = 0;
  std::size_t labels_found = 0;  // classes that the updates of one client give away, of so many pictures
  double baseline_psnr = 0;      // of the mean of all images: what needs no update
  double baseline_ssim = 0;
  bool public_rows = true;
  std::vector<InvertedUpdate> updates;
};

using InversionProgress = std::function<void(const std::string& against)>;
[[nodiscard]] Result<InversionOutcome> invert_updates(const TrainingFile& file, const InversionWish& wish,
                                                      const Machine& machine, Ledger* ledger,
                                                      const InversionProgress& progress = {});

}  // namespace noisefloor
