// Networks of training files on torch: gradients against the oracle, weights by name, and that they learn.
#include "noisefloor/torch/torch_model.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <numeric>
#include <string>

#include "noisefloor/config/training.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/torch/build_network.h"
#include "noisefloor/torch/validator.h"
#include "tests/support/per_example_oracle.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

// The network of a file with this [model].
TorchNetwork network(const std::string& model, const std::string& data) {
  const TrainingText read = read_training("name = \"x\"\n[budget]\nepsilon = 1\ndelta = 1e-5\n[data]\n" + data +
                                          "\ntrain = \"x\"\n[model]\n" + model +
                                          "\n[training]\nbatch_size = 1\nsteps = 1\nclip_norm = 1\n"
                                          "learning_rate = 1\n");
  for (const Finding& finding : read.findings) ADD_FAILURE() << finding.place.line << ": " << finding.message;
  return read.training.value().model.torch.value();
}
const std::string kText = "format = \"text\"\nlength = 6";
const std::string kImages = "format = \"idx\"\ntrain_labels = \"y\"\nclasses = 10";
const std::string kVectors =
    "format = \"libsvm\"\ndimension = 12\nlower = 0\nupper = 1\nclasses = [\"0\", \"1\", \"2\"]";

Form tokens(std::int64_t length, std::int64_t count) { return {Form::Kind::kTokens, {length}, count}; }

void check_network(const TorchNetwork& described, const Form& form, const torch::Tensor& rows) {
  torch::manual_seed(7);
  auto built = build_network(described, form);
  ASSERT_TRUE(built) << built.error().message;
  torch::nn::Sequential module = built.value().module;
  ASSERT_TRUE(validate(*module));
  testing::check_layer(*module, rows, [&](const torch::Tensor& x) { return testing::wavy_loss(module->forward(x)); });
}

TEST(TorchModel, LanguageModelsHaveTheGradientOfEachRow) {
  const torch::Tensor rows = torch::arange(18).reshape({3, 6}).mul(7).remainder(5);
  check_network(network("kind = \"lstm\"\nwidth = 4\nlayers = 2", kText), tokens(6, 5), rows);
  check_network(network("kind = \"lstm\"\nwidth = 4\ntied = true", kText), tokens(6, 5), rows);
  check_network(network("kind = \"transformer\"\nwidth = 4\nheads = 2\nlayers = 1", kText), tokens(6, 5), rows);
  check_network(network("kind = \"transformer\"\nwidth = 4\nlayers = 1\ntied = true", kText), tokens(6, 5), rows);
}

TEST(TorchModel, LayersHaveTheGradientOfEachRow) {
  torch::manual_seed(1);
  check_network(network(R"(kind = "layers"
[[model.layer]]
type = "conv1d"
outputs = 4
kernel = 3
padding = 1
bias = false  # its gradient is 0 before a norm, and rounding all there is to compare
[[model.layer]]
type = "instance_norm"
[[model.layer]]
type = "average_pool"
kernel = 2
[[model.layer]]
type = "gru"
width = 6
[[model.layer]]
type = "residual"
[[model.layer.layer]]
type = "rms_norm"
[[model.layer.layer]]
type = "attention"
heads = 2
[[model.layer]]
type = "lstm"
width = 5
last = true
[[model.layer]]
type = "gelu"
[[model.layer]]
type = "linear"
outputs = 3)",
                        kVectors),
                {Form::Kind::kVector, {12}, 0}, torch::randn({3, 12}));
}

// All of it would take the check of layers minutes.
TEST(TorchModel, AlexNetHasTheGradientOfEachRow) {
  torch::manual_seed(3);
  for (const std::vector<std::int64_t>& image : {std::vector<std::int64_t>{1, 28, 28}, {3, 32, 32}}) {
    auto built = build_network(network("kind = \"alexnet\"", kImages), {Form::Kind::kImage, image, 0});
    ASSERT_TRUE(built) << built.error().message;
    torch::nn::Sequential module = built.value().module;
    EXPECT_EQ(built.value().output.sizes, (std::vector<std::int64_t>{10}));
    testing::check_recording(
        *module, torch::randn({2, image[0], image[1], image[2]}), 1,
        [&](const torch::Tensor& x) { return testing::wavy_loss(module->forward(x)); }, {}, 1e-4);
  }
}

// A text of one sentence again and again, as rows of length 6 + 1 over 8 tokens.
Dataset sentences(std::size_t rows) {
  Dataset data;
  data.rows = rows;
  data.shape = {7};
  data.targets.resize(rows);
  const std::vector<float> sentence{0, 3, 1, 4, 1, 5, 2, 6, 5, 3, 7};
  for (std::size_t i = 0; i < rows * 7; ++i) data.features.push_back(sentence[i % sentence.size()]);
  return data;
}

std::unique_ptr<TrainableModel> bind(const TorchNetwork& described, const Dataset& data) {
  auto model = make_torch_model(described, data, {.tokens = 8});
  EXPECT_TRUE(model) << model.error().message;
  return std::move(model).value();
}

double loss_after_training(const std::string& model, double rate) {
  const Dataset data = sentences(300);
  const auto source = bind(network(model, kText), data);
  DpSgd::Options options;
  options.noise = NoiseMultiplier::of(1.0);
  options.clip = ClipRule::create(FlatClip{ClipNorm::of(1.0)}).value();
  options.optimizer.kind = OptimizerKind::kAdam;
  options.learning_rate.initial = rate;
  ReplayRandom random = ReplayRandom::create(3).value();
  DpSgd sgd = DpSgd::create(options, BatchSampler::poisson(Rows::of(300), Rows::of(100), Adjacency::kAddRemove).value(),
                            *source, source->initial_weights(random))
                  .value();
  const double before = source->quality(sgd.result(), data).loss;
  EXPECT_NEAR(before, std::log(8.0), 0.7) << "nothing is known yet";
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(sgd.step(random));
  const Quality quality = source->quality(sgd.result(), data);
  EXPECT_EQ(quality.positions, 1800U);
  EXPECT_GT(quality.accuracy.value(), 0.5);
  return quality.loss;
}

TEST(TorchModel, TinyLanguageModelsLearnUnderNoise) {
  EXPECT_LT(loss_after_training("kind = \"lstm\"\nwidth = 16", 0.03), 1.2);
  EXPECT_LT(loss_after_training("kind = \"transformer\"\nwidth = 16\nheads = 2\nlayers = 1", 0.02), 1.2);
}

// The loss of a row is the mean over its characters: written out with what the model predicts.
TEST(TorchModel, QualityIsThatOfItsPredictions) {
  const Dataset data = sentences(70);
  const auto model = bind(network("kind = \"lstm\"\nwidth = 5", kText), data);
  ReplayRandom random = ReplayRandom::create(1).value();
  const std::vector<float> at = model->initial_weights(random);
  const std::vector<float> outputs = model->predict(at, data);
  ASSERT_EQ(outputs.size(), 70U * 6 * 8);
  double loss = 0;
  for (std::size_t row = 0; row < 70; ++row) {
    for (std::size_t t = 0; t < 6; ++t) {
      const float* logits = outputs.data() + (row * 6 + t) * 8;
      double sum = 0;
      for (int k = 0; k < 8; ++k) sum += std::exp(static_cast<double>(logits[k]));
      const auto next = static_cast<std::size_t>(data.features[row * 7 + t + 1]);
      loss += std::log(sum) - static_cast<double>(logits[next]);
    }
  }
  EXPECT_NEAR(model->quality(at, data).loss, loss / 420, 1e-5);
}

TEST(TorchModel, WeightsAreMatchedByName) {
  const Dataset data = sentences(5);
  const auto model = bind(network("kind = \"lstm\"\nwidth = 3", kText), data);
  ReplayRandom random = ReplayRandom::create(1).value();
  const std::vector<float> at = model->initial_weights(random);
  EXPECT_NE(model->initial_weights(random), at) << "drawn, and not those of the construction";
  TensorFile file{model->name_weights(at), {}};
  ASSERT_EQ(file.tensors.size(), 7U);
  EXPECT_EQ(file.tensors[0].name, "0.weight");
  EXPECT_EQ(file.tensors[1].name, "1.inner.weight_ih_l0");
  EXPECT_EQ(model->take_weights(file).value(), at);
  TensorFile changed = file;
  changed.tensors.pop_back();
  EXPECT_EQ(model->take_weights(changed).error().code, ErrorCode::kInputData);
  changed = file;
  changed.tensors.push_back({"9.weight", {1}, {0}});
  EXPECT_EQ(model->take_weights(changed).error().code, ErrorCode::kInputData);
  changed = file;
  std::swap(changed.tensors[0].shape[0], changed.tensors[0].shape[1]);
  EXPECT_EQ(model->take_weights(changed).error().code, ErrorCode::kInputData);
}

// What is frozen comes from the file, is not trained, and goes out with the rest.
TEST(TorchModel, FrozenAndAdaptedModelsStartFromAFile) {
  const Dataset data = sentences(5);
  const std::string base = "kind = \"transformer\"\nwidth = 4\nlayers = 1\n";
  const auto full = bind(network(base, kText), data);
  ReplayRandom random = ReplayRandom::create(1).value();
  const std::vector<float> weights = full->initial_weights(random);
  const TensorFile file{full->name_weights(weights), {}};
  const std::vector<float> outputs = full->predict(weights, data);
  for (const char* how : {"frozen = [\"0\", \"1\", \"2\"]", "tuning = \"bias\"", "tuning = \"lora\"\nlora_rank = 2"}) {
    SCOPED_TRACE(how);
    const auto tuned = bind(network(base + "start_from = \"y\"\n" + how, kText), data);
    EXPECT_LT(tuned->parameters(), full->parameters());
    std::vector<float> at = tuned->take_weights(file).value();
    ASSERT_EQ(at.size(), tuned->parameters());
    const std::vector<float> same = tuned->predict(at, data);
    for (std::size_t i = 0; i < outputs.size(); ++i) ASSERT_NEAR(same[i], outputs[i], 1e-5);
    for (float& x : at) x += 0.5F;
    const TensorFile trained{tuned->name_weights(at), {}};
    const bool is_frozen = std::string(how).starts_with("frozen");
    EXPECT_EQ(trained.find("0.weight")->values, file.find("0.weight")->values);
    if (is_frozen) {
      EXPECT_NE(trained.find("4.weight")->values, file.find("4.weight")->values);
    }
    EXPECT_EQ(tuned->take_weights(trained).value(), at);
    EXPECT_NE(tuned->predict(at, data), same);
  }
}

TEST(TorchModel, AGpuThatIsNotThereIsRefused) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "there is one";
  const Dataset data = sentences(5);
  testing::expect_invalid(
      make_torch_model(network("kind = \"lstm\"\nwidth = 3", kText), data, {.tokens = 8, .cuda = true}).error(), "GPU");
}

TEST(TorchModel, NetworksThatDoNotFitAreRefusedWithTheirLayer) {
  const Dataset data = sentences(5);
  const auto refused = [&](const std::string& layers, const std::string& named) {
    const auto made = make_torch_model(network("kind = \"layers\"\n" + layers, kText), data, {.tokens = 8});
    ASSERT_FALSE(made);
    testing::expect_invalid(made.error(), named);
  };
  const std::string embedding = "[[model.layer]]\ntype = \"embedding\"\nwidth = 4\n";
  refused("[[model.layer]]\ntype = \"lstm\"\nwidth = 4", "layer 0");
  refused(embedding, "logits");
  refused(embedding + "[[model.layer]]\ntype = \"attention\"\nheads = 3", "3 heads");
  refused(embedding + "[[model.layer]]\ntype = \"lstm\"\nwidth = 5\n[[model.layer]]\ntype = \"logits\"\ntied = true",
          "layer 2");
  refused(embedding + "[[model.layer]]\ntype = \"residual\"\n[[model.layer.layer]]\ntype = \"linear\"\noutputs = 5",
          "not of the shape");
  refused(embedding + "[[model.layer]]\ntype = \"conv1d\"\noutputs = 1\nkernel = 9", "larger");
  TorchNetwork nothing = network("kind = \"lstm\"\nwidth = 3", kText);
  nothing.frozen = {"0", "1", "2"};
  testing::expect_invalid(make_torch_model(nothing, data, {.tokens = 8}).error(), "nothing is left");
  nothing.frozen = {"7"};
  testing::expect_invalid(make_torch_model(nothing, data, {.tokens = 8}).error(), "frozen names 7");
}

}  // namespace
}  // namespace noisefloor
