// What one training is to do, as a TOML file: data, model, privacy and descent. docs/formats/training.md has every key.
//
// Guarantee:     as pipeline.h: reading never fails, all findings come back with their places, a value that is held is of
//                the right type and in its range, and nothing is ignored.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/config/finding.h"
#include "noisefloor/config/pipeline.h"
#include "noisefloor/config/torch_network.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/lanes/layers.h"
#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor {

struct TrainingData {
  DataFormat format;
  ExampleFiles train;
  std::optional<ExampleFiles> test;
  double test_fraction = 0;        // of the training file, where there is no test file
  double validation_fraction = 0;  // declared public
  std::uint64_t split_seed = 0;
  std::optional<DatasetDescription> dataset = {};  // that the file names instead of describing its data; paths as above
};

// The network: layers, after a preset was spelled out.
struct TrainingModel {
  std::string name;         // of the preset, or "layers"
  bool scattering = false;  // images become their scattering (model/scattering.h) before the first layer
  std::vector<lanes::Layer> layers;
  std::optional<TorchNetwork> torch;      // instead of `layers`: a network that needs libtorch
  std::optional<std::string> start_from;  // a safetensors file with its first weights
};

struct TrainingPrivacy {
  std::string budget;  // its name in the ledger
  Epsilon epsilon;     // that the budget is made with if there is none of this name
  Delta delta;
  Adjacency adjacency = Adjacency::kAddRemove;
  PrivacyUnit unit = PrivacyUnit::kRow;  // whose data are protected; with people, batches and delta count people
  // Of a private training exactly one of these; the budget's epsilon if neither is stated.
  std::optional<Epsilon> target_epsilon;            // that noise is calibrated to; at most the budget's
  Delta target_delta;                               // at which that holds; at most the budget's
  std::optional<NoiseMultiplier> noise_multiplier;  // σ divided by the clip norm (of all layers together)
  bool private_training = true;                     // false: noise = "none", for comparison only
};

inline constexpr std::size_t kUsualMemoryMb = 1024;

struct TrainingDescent {
  SamplerKind sampler = SamplerKind::kPoisson;  // or fixed-size, under replace-one
  Rows batch_size;
  std::uint32_t batch_line = 0;  // where it stands
  std::optional<Steps> steps;    // or
  double epochs = 0;
  // GroupClip holds one norm here, which is every layer's, unless one was given for each layer with parameters. Nothing:
  // no clipping, in a training that is not private.
  std::optional<ClipRule::Kind> clip;
  std::optional<AdaptiveClip> adaptive;
  bool discrete_noise = false;
  Optimizer::Options optimizer;
  LearningRate::Options learning_rate;  // its `steps` is left at 1: whoever knows the number of rows fills it in
  double averaging = 0;
  Augmentation augmentation;                     // of images
  bool cuda = false;                             // of a network for torch: on a GPU
  std::size_t memory_limit_mb = kUsualMemoryMb;  // for the examples that are at work at once; of a network for torch
};

// What a utility graph may look at (plan/utility_graph.h), which is for the owner of the data to say.
enum class UtilityData : std::uint8_t {
  kPublic,    // the training data, which are public
  kProxy,     // other data of the same form, which are
  kBudgeted,  // the training data, by private trainings that are charged
};

// [plan]: what `noisefloor plan` is to reach.
struct TrainingGoal {
  UtilityData utility = UtilityData::kPublic;
  std::optional<ExampleFiles> proxy;
  std::optional<Epsilon> utility_epsilon;  // of all trainings for the graph together, if budgeted
  std::optional<double> target_accuracy;   // on the test data; or else
  double allowed_loss = 0.1;               // of the accuracy that training without noise reaches
  std::vector<ClipNorm> clip_norms;        // that are tried
  std::vector<NoiseMultiplier> noise;      // that are tried, growing
  std::size_t draws = 5;                   // of noise for each point
  std::size_t phases = 1;                  // that may follow each other, with less noise each
};

struct Training {
  std::string name;
  TrainingData data;
  TrainingModel model;
  TrainingPrivacy privacy;
  TrainingDescent descent;
  std::optional<TrainingGoal> goal = {};
};

struct TrainingText {
  std::optional<Training> training;  // nothing if there is an error among the findings
  std::vector<Finding> findings;
};

// The text of a file that a training file names, by its path as it stands there.
using ReadNamedFile = std::function<Result<std::string>(const std::string& path)>;

// Files beside the one at `path`, as a training file at this path names them.
[[nodiscard]] ReadNamedFile files_beside(const std::string& path);

// Without `named`, a file that names its dataset is refused.
[[nodiscard]] TrainingText read_training(std::string_view text, const ReadNamedFile& named = {});

// The dataset that a training learns from: the one that it names, or what it says itself in [data] and [budget].
[[nodiscard]] DatasetDescription description_of(const Training& training);

// Whether a text is meant as a training file and not as a pipeline: it has a [model].
[[nodiscard]] bool is_training(std::string_view text);

}  // namespace noisefloor
