// A torch module trained privately: the five lines of the README, with data and what they cost around them.
#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "example.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/torch/make_private.h"
#include "noisefloor/torch/tape_source.h"

namespace {

using namespace noisefloor;

// Points in the plane, inside or outside of a circle.
Dataset circle(std::size_t rows, std::uint64_t seed) {
  auto random = example::must(ReplayRandom::create(seed));
  Dataset data{.rows = rows, .shape = {2}, .features = {}, .labels = {}, .classes = 2, .targets = {}};
  for (std::size_t i = 0; i < 2 * rows; ++i) {
    data.features.push_back(static_cast<float>(std::ldexp(random.next_u32(), -31) - 1));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    data.labels.push_back(std::hypot(data.features[2 * i], data.features[2 * i + 1]) < 0.8F ? 1 : 0);
  }
  return data;
}

}  // namespace

int main() {
  example::heading("A torch module, trained privately", "README, Train a model");
  const Dataset data = circle(20'000, 1);
  const Dataset test = circle(5'000, 2);
  constexpr std::uint64_t kSteps = 400;
  const auto rows = Rows::of(20'000);
  const auto batch = Rows::of(500);
  const auto noise = NoiseMultiplier::of(1.0);
  const auto clip = example::must(ClipRule::create(FlatClip{ClipNorm::of(1.0)}));
  auto random = example::must(SecureRandom::create());

  auto net =
      make_private(torch::nn::Sequential(torch::nn::Linear(2, 32), torch::nn::Tanh(), torch::nn::Linear(32, 2))).model;
  auto source =
      example::must(TapeSource::create(*net, [&](const torch::Tensor& x) { return net->forward(x); }, data, {}));
  auto sampler = example::must(BatchSampler::poisson(rows, batch, Adjacency::kAddRemove));
  auto sgd = example::must(DpSgd::create({.noise = noise, .clip = clip, .learning_rate = {.initial = 1.0}}, sampler,
                                         *source, source->weights()));
  while (sgd.steps() < kSteps) example::must(sgd.step(random));

  source->set_weights(sgd.result());
  const torch::NoGradGuard guard;
  const torch::Tensor outputs =
      net->forward(torch::from_blob(const_cast<float*>(test.features.data()), {5'000, 2})).contiguous();
  const Quality quality = quality_of({outputs.data_ptr<float>(), static_cast<std::size_t>(outputs.numel())}, test);
  const Interval epsilon =
      example::must(pld_epsilon(sgd.event(Steps::of(kSteps)), Adjacency::kAddRemove, Delta::of(1e-5)));
  fmt::print("accuracy {:.2f} %, epsilon {:.4f} at delta 1e-5\n", 100 * *quality.accuracy, epsilon.upper);
  example::Expectations expected;
  expected.between("accuracy", *quality.accuracy, 0.9, 1);
  expected.between("epsilon", epsilon.upper, 1, 5);
  return expected.exit_code();
}
