#include "noisefloor/training/inversion_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "noisefloor/training/examples.h"
#include "noisefloor/training/exposing.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMostPictures = 64;

Result<audit::SmallNetwork> network_of(const InversionWish& wish, const audit::Picture& shape, std::size_t classes) {
  using audit::Bend;
  if (wish.network == AttackedNetwork::kDense) {
    return audit::SmallNetwork::create(shape, {audit::Dense{64}, Bend::kRelu, audit::Dense{classes}});
  }
  // DLG needs activations with second derivatives.
  const Bend bend = wish.method == audit::Inversion::kDlg ? Bend::kSigmoid : Bend::kRelu;
  return audit::SmallNetwork::create(shape, {audit::Convolution{12, 5, 2}, bend, audit::Convolution{12, 5, 2}, bend,
                                             audit::Convolution{12, 5, 1}, bend, audit::Dense{classes}});
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Images {
  audit::Picture shape;
  std::vector<audit::Pixels> pixels;
  std::vector<std::size_t> labels;
  std::size_t classes = 0;
  audit::Pixels mean;
};

Result<Images> images_of(const TrainingFile& file, const InversionWish& wish, const Machine& machine) {
  if (!std::holds_alternative<IdxFormat>(file.training.data.format) || file.training.model.scattering) {
    return invalid_argument(
        "gradient inversion shows pictures: name a training on images (format = \"idx\") without scattering");
  }
  NF_TRY(const Dataset test, read_test_examples(file, machine.threads));
  const std::size_t wanted = std::max(wish.pictures, wish.clients);
  if (wish.pictures == 0 || wanted > kMostPictures || wanted > test.rows || test.shape.size() != 3) {
    return invalid_argument(fmt::format("so many pictures are not there: ask for 1 to {}",
                                        std::min<std::size_t>(kMostPictures, test.rows)));
  }
  Images images;
  images.shape = {test.shape[0], test.shape[1], test.shape[2]};
  images.classes = static_cast<std::size_t>(test.classes);
  const auto [least, most] = std::minmax_element(test.features.begin(), test.features.end());
  const double low = static_cast<double>(*least);
  const double span = std::max(1e-9, static_cast<double>(*most) - low);
  const auto pixel = [&](float x) { return (static_cast<double>(x) - low) / span; };
  images.mean.assign(images.shape.size(), 0);
  for (std::size_t i = 0; i < test.rows; ++i) {
    const auto example = test.example(i);
    for (std::size_t k = 0; k < example.size(); ++k) {
      images.mean[k] += pixel(example[k]) / static_cast<double>(test.rows);
    }
    if (i >= wanted) continue;
    audit::Pixels one;
    for (const float x : example) one.push_back(pixel(x));
    images.pixels.push_back(std::move(one));
    images.labels.push_back(static_cast<std::size_t>(test.labels[i]));
  }
  return images;
}

class Inverter {
 public:
  Inverter(const audit::SmallNetwork& network, std::vector<double> weights, const Images& images,
           const audit::InversionOptions& options)
      : network_(network), weights_(std::move(weights)), images_(images), options_(options) {}

  [[nodiscard]] Result<audit::Update> update(std::size_t first, std::size_t count) const {
    return audit::update_of(network_, weights_, std::span(images_.pixels).subspan(first, count),
                            std::span(images_.labels).subspan(first, count));
  }

  // Inverts updates that are about so many pictures each, from the first on.
  [[nodiscard]] Result<InvertedUpdate> invert(std::string against, const std::vector<audit::Update>& updates,
                                              std::size_t shown) const {
    const auto start = std::chrono::steady_clock::now();
    InvertedUpdate done{std::move(against), {}, {}, 0, 0, 0};
    std::vector<audit::Pixels> truth;
    std::vector<audit::Pixels> back;
    for (const audit::Update& update : updates) {
      NF_TRY(audit::Reconstruction found, audit::invert(network_, weights_, update, images_.shape, options_));
      const std::size_t first = truth.size();
      for (std::size_t i = 0; i < update.labels.size(); ++i) truth.push_back(images_.pixels[first + i]);
      const auto own = std::span<const audit::Pixels>(truth).subspan(first);
      for (const std::size_t place : audit::matched(own, found.pictures)) back.push_back(found.pictures[place]);
    }
    std::vector<double> psnr;
    std::vector<double> ssim;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      psnr.push_back(audit::psnr(truth[i], back[i]));
      ssim.push_back(audit::ssim(truth[i], back[i], images_.shape));
    }
    done.psnr = median(psnr);
    done.ssim = median(ssim);
    truth.resize(std::min(truth.size(), shown));
    back.resize(truth.size());
    done.truth = std::move(truth);
    done.found = std::move(back);
    done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return done;
  }

 private:
  const audit::SmallNetwork& network_;
  std::vector<double> weights_;
  const Images& images_;
  audit::InversionOptions options_;
};

}  // namespace

Result<InversionOutcome> invert_updates(const TrainingFile& file, const InversionWish& wish, const Machine& machine,
                                        Ledger* ledger, const InversionProgress& progress) {
  const bool kept_from_private = measures_private_rows(file.training) && !file.training.data.test;
  if (kept_from_private && ledger == nullptr) {
    return invalid_argument(
        "the test images are private: they were kept from rows that are not declared public. Give the ledger of the "
        "dataset, which records it; or, if the rows are public, say public = true");
  }
  if (ledger != nullptr) NF_TRY_VOID(claim_test_rows(*ledger, file));
  NF_TRY(const Images images, images_of(file, wish, machine));
  NF_TRY(const audit::SmallNetwork network, network_of(wish, images.shape, images.classes));
  NF_TRY(ReplayRandom random, ReplayRandom::create(wish.seed));
  std::vector<double> weights = network.initial_weights(random);
  InversionOutcome outcome;
  outcome.name = file.training.name;
  outcome.shape = images.shape;
  outcome.public_rows = !kept_from_private;
  outcome.parameters = network.parameters();
  outcome.method = wish.method.value_or(wish.network == AttackedNetwork::kDense ? audit::Inversion::kAnalytic
                                                                                : audit::Inversion::kCosine);
  const Inverter inverter(network, std::move(weights), images,
                          {.method = outcome.method,
                           .iterations = wish.iterations,
                           .total_variation = wish.total_variation,
                           .seed = wish.seed});
  const auto add = [&](const std::string& against, const std::vector<audit::Update>& updates) -> Result<void> {
    if (progress) progress(against);
    NF_TRY(InvertedUpdate done, inverter.invert(against, updates, wish.pictures));
    outcome.updates.push_back(std::move(done));
    return success();
  };
  std::vector<audit::Update> alone;
  for (std::size_t i = 0; i < wish.pictures; ++i) {
    NF_TRY(audit::Update update, inverter.update(i, 1));
    outcome.labels_found += audit::label_of(network, update) == images.labels[i] ? 1U : 0U;
    alone.push_back(std::move(update));
  }
  NF_TRY_VOID(add("one client's update", alone));
  if (wish.clients > 1) {
    NF_TRY(audit::Update sum, inverter.update(0, wish.clients));
    NF_TRY_VOID(add(fmt::format("a secure sum of {} clients", wish.clients), {std::move(sum)}));
  }
  for (const NoiseMultiplier noise : wish.noise) {
    std::vector<audit::Update> noisy = alone;
    for (audit::Update& update : noisy) audit::make_private(update, wish.clip, noise, random);
    NF_TRY_VOID(add(
        fmt::format("one client's update, clipped to {:g}, noise multiplier {:g}", wish.clip.value(), noise.value()),
        noisy));
  }
  std::vector<double> psnr;
  std::vector<double> ssim;
  for (std::size_t i = 0; i < wish.pictures; ++i) {
    psnr.push_back(audit::psnr(images.pixels[i], images.mean));
    ssim.push_back(audit::ssim(images.pixels[i], images.mean, images.shape));
  }
  outcome.baseline_psnr = median(psnr);
  outcome.baseline_ssim = median(ssim);
  return outcome;
}

}  // namespace noisefloor
