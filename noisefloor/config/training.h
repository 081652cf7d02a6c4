// One training as a TOML file describes it: data, model, privacy and descent. docs/formats/training.md has every key.
//
// Guarantee:     as in pipeline.h: reading never fails, all findings come back with their places, every value that is
//                read has the right type and is in its range, and nothing is ignored.
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
  double test_fraction = 0;        // part of the training file, if there is no test file
  double validation_fraction = 0;  // declared public
  std::uint64_t split_seed = 0;
  // How many rows and people the data have, as numbers that are taken as public, before parts are kept for tests.
  std::optional<std::uint64_t> rows = {};
  std::optional<std::uint64_t> people = {};
  bool is_public = false;  // declared by the file itself; a dataset that it names states it in its own file
  std::optional<DatasetDescription> dataset = {};  // named by the file instead of describing its data; paths as above
};

// The network as layers; a preset is spelled out.
struct TrainingModel {
  std::string name;         // the preset, or "layers"
  bool scattering = false;  // images become their scattering (model/scattering.h) before the first layer
  std::vector<lanes::Layer> layers;
  std::optional<TorchNetwork> torch;                // instead of `layers`: a network that needs libtorch
  std::optional<std::string> start_from;            // a safetensors file with its first weights
  std::optional<std::string> start_is_public = {};  // why those weights are public, for the certificate
};

struct TrainingPrivacy {
  std::string budget;  // its name in the ledger
  Epsilon epsilon;     // for making the budget, if there is none of this name
  Delta delta;
  Adjacency adjacency = Adjacency::kAddRemove;
  PrivacyUnit unit = PrivacyUnit::kRow;  // whose data are protected; with people, batches and delta count people
  // A private training has exactly one of target_epsilon and noise_multiplier; the budget's epsilon is the target if
  // neither is stated.
  std::optional<Epsilon> target_epsilon;            // the noise is calibrated to it; at most the budget's
  Delta target_delta;                               // the δ for target_epsilon; at most the budget's
  std::optional<NoiseMultiplier> noise_multiplier;  // σ divided by the clip norm (of all layers together)
  bool private_training = true;                     // false: noise = "none", for comparison only
};

inline constexpr std::size_t kUsualMemoryMb = 1024;

struct TrainingDescent {
  SamplerKind sampler = SamplerKind::kPoisson;  // or fixed-size, under replace-one
  Rows batch_size;
  std::uint32_t batch_line = 0;           // the line of batch_size
  std::optional<Rows> rows_by_rate = {};  // batch_size / sample_rate, if the file states a rate: the rows to learn from
  std::optional<Steps> steps;             // or
  double epochs = 0;
  // GroupClip holds one norm here, which applies to every layer, unless one was given for each layer with parameters.
  // Empty: no clipping, in a training that is not private.
  std::optional<ClipRule::Kind> clip;
  std::optional<AdaptiveClip> adaptive;
  bool discrete_noise = false;
  Optimizer::Options optimizer;
  LearningRate::Options learning_rate;  // its `steps` is left at 1: whoever knows the number of rows fills it in
  double averaging = 0;
  Augmentation augmentation;                     // for images
  bool cuda = false;                             // for torch: train on a GPU
  std::size_t memory_limit_mb = kUsualMemoryMb;  // for torch: examples that are at work at once
};

// The data that a utility graph may look at (plan/utility_graph.h). The owner of the data decides this.
enum class UtilityData : std::uint8_t {
  kPublic,    // the training data, which are public
  kProxy,     // other data of the same form, which are public
  kBudgeted,  // the training data, by private trainings that are charged
};

// [plan]: the goal of `noisefloor plan`.
struct TrainingGoal {
  UtilityData utility = UtilityData::kPublic;
  std::optional<ExampleFiles> proxy;
  std::optional<Epsilon> utility_epsilon;  // ε of all trainings for the graph together, if budgeted
  std::optional<double> target_accuracy;   // on the test data; or else allowed_loss
  double allowed_loss = 0.1;               // the share of the noiseless accuracy that may be lost
  std::vector<ClipNorm> clip_norms;        // to try
  std::vector<NoiseMultiplier> noise;      // to try, in increasing order
  std::size_t draws = 5;                   // draws of noise for each point
  std::size_t phases = 1;                  // at most so many phases, each with less noise than the one before
};

// [audit]: canaries take part in every private training by this file.
struct TrainingAudit {
  std::size_t canaries = 10'000;
};

struct Training {
  std::string name;
  TrainingData data;
  TrainingModel model;
  TrainingPrivacy privacy;
  TrainingDescent descent;
  std::optional<TrainingGoal> goal = {};
  std::optional<TrainingAudit> audit = {};
};

struct TrainingText {
  std::optional<Training> training;  // empty if there is an error among the findings
  std::vector<Finding> findings;
};

// Returns the text of a file that a training file names, by its path as the training file states it.
using ReadNamedFile = std::function<Result<std::string>(const std::string& path)>;

// Reads files by their paths relative to the training file at `path`.
[[nodiscard]] ReadNamedFile files_beside(const std::string& path);

// Without `named`, a file that names its dataset is refused.
[[nodiscard]] TrainingText read_training(std::string_view text, const ReadNamedFile& named = {});

// The dataset that a training learns from: the one that it names, or what it says itself in [data] and [budget].
[[nodiscard]] DatasetDescription description_of(const Training& training);

// Whether a text is meant as a training file and not as a pipeline: it has a [model].
[[nodiscard]] bool is_training(std::string_view text);

}  // namespace noisefloor
