#include "noisefloor/config/training.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "noisefloor/lanes/program.h"

namespace noisefloor {
namespace {

const std::string kTop = R"(name = "fashion"

[budget]
epsilon = 3.0
delta = 1e-5

)";
const std::string kImages = R"([data]
format = "idx"
train = "train-images.gz"
train_labels = "train-labels.gz"
test = "test-images.gz"
test_labels = "test-labels.gz"
validation_fraction = 0.0
split_seed = 1
classes = 10

)";
const std::string kTable = R"([data]
format = "csv"
train = "adult.csv"
test_fraction = 0.2
label = "income"
classes = ["<=50K", ">50K"]
separator = ";"
trim = true
missing = ["?", ""]

[[data.column]]
name = "age"
lower = 0
upper = 100
missing = 40
scaling = "unit"

[[data.column]]
name = "sex"
values = ["Female", "Male"]
unlisted = "other"

)";
const std::string kSparse = R"([data]
format = "libsvm"
train = "a9a.gz"
test = "a9a.t"
dimension = 123
lower = 0
upper = 1
classes = ["-1", "1"]
normalise = true

)";
const std::string kCnn = R"([model]
kind = "dp-cnn"

)";
const std::string kMlp = R"([model]
kind = "mlp"
hidden = [128, 64]

)";
const std::string kLayers = R"([model]
kind = "layers"

[[model.layer]]
type = "conv2d"
outputs = 8
kernel = [5, 3]
stride = 2
padding = 1
bias = false

[[model.layer]]
type = "group_norm"
groups = 4

[[model.layer]]
type = "relu"

[[model.layer]]
type = "max_pool"
kernel = 2

[[model.layer]]
type = "average_pool"
kernel = 3
stride = 1

[[model.layer]]
type = "flatten"

[[model.layer]]
type = "layer_norm"

[[model.layer]]
type = "dropout"
rate = 0.25

[[model.layer]]
type = "sigmoid"

[[model.layer]]
type = "tanh"

[[model.layer]]
type = "linear"
outputs = 10

)";
const std::string kTraining = R"([training]
target_epsilon = 2.0
batch_size = 2048
epochs = 40
clip_norm = 0.1
momentum = 0.9
learning_rate = 4.0
)";
const std::string kFashion = kTop + kImages + kCnn + kTraining;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string all_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) {
    text += f.code + " in line " + std::to_string(f.place.line) + ": " + f.message + " (" + f.remedy + ")\n";
  }
  return text;
}

std::uint32_t line_of(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return 1 + static_cast<std::uint32_t>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at == std::string::npos ? 0 : at), '\n'));
}

Training good(const std::string& text) {
  TrainingText read = read_training(text);
  EXPECT_TRUE(read.findings.empty()) << all_of(read.findings);
  EXPECT_TRUE(read.training.has_value());
  return std::move(read.training).value();
}

// Expects exactly this error and no other, in the first line that contains `where`.
void expect_error(const std::string& text, const std::string& code, const std::string& where, const std::string& named,
                  const std::string& remedy = "") {
  const TrainingText read = read_training(text);
  EXPECT_FALSE(read.training.has_value());
  ASSERT_EQ(read.findings.size(), 1U) << "for " << code << ":\n" << all_of(read.findings);
  const Finding& finding = read.findings[0];
  EXPECT_EQ(finding.code, code) << finding.message;
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_EQ(finding.place.line, line_of(text, where)) << finding.message;
  EXPECT_NE(finding.message.find(named), std::string::npos) << finding.message;
  EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << finding.remedy;
}

// A training file with one line replaced, or with one line more.
std::string training(const std::string& from, const std::string& to) { return replaced(kFashion, from, to); }
std::string and_training(const std::string& line) { return kFashion + line + "\n"; }

template <class Wanted>
const Wanted& layer(const Training& training, std::size_t number) {
  EXPECT_LT(number, training.model.layers.size());
  EXPECT_TRUE(std::holds_alternative<Wanted>(training.model.layers[number]))
      << number << " is alternative " << training.model.layers[number].index();
  return std::get<Wanted>(training.model.layers[number]);
}

// --- What good files hold --------------------------------------------------------------------------------------------

TEST(TrainingText, HoldsImagesAndDefaults) {
  const Training t = good(kFashion);
  EXPECT_EQ(t.name, "fashion");
  EXPECT_EQ(std::get<IdxFormat>(t.data.format).classes, 10);
  EXPECT_EQ(std::get<IdxFiles>(t.data.train).images, "train-images.gz");
  EXPECT_EQ(std::get<IdxFiles>(t.data.train).labels, "train-labels.gz");
  ASSERT_TRUE(t.data.test.has_value());
  EXPECT_EQ(std::get<IdxFiles>(*t.data.test).labels, "test-labels.gz");
  EXPECT_EQ(t.data.split_seed, 1U);
  EXPECT_EQ(t.privacy.budget, "fashion") << "by default the name of the file";
  EXPECT_EQ(t.privacy.epsilon, Epsilon::of(3));
  EXPECT_EQ(t.privacy.delta, Delta::of(1e-5));
  EXPECT_EQ(t.privacy.adjacency, Adjacency::kAddRemove);
  EXPECT_EQ(t.privacy.target_epsilon, Epsilon::of(2));
  EXPECT_FALSE(t.privacy.noise_multiplier.has_value());
  EXPECT_TRUE(t.privacy.private_training);
  EXPECT_EQ(t.descent.sampler, SamplerKind::kPoisson);
  EXPECT_EQ(t.descent.batch_size, Rows::of(2048));
  EXPECT_EQ(t.descent.epochs, 40);
  EXPECT_FALSE(t.descent.steps.has_value());
  EXPECT_EQ(std::get<FlatClip>(*t.descent.clip).norm, ClipNorm::of(0.1));
  EXPECT_FALSE(t.descent.adaptive.has_value());
  EXPECT_EQ(t.descent.optimizer.kind, OptimizerKind::kSgd);
  EXPECT_EQ(t.descent.optimizer.momentum, 0.9);
  EXPECT_EQ(t.descent.learning_rate.initial, 4);
  EXPECT_EQ(t.descent.learning_rate.decay, RateDecay::kConstant);
  EXPECT_EQ(t.descent.averaging, 0);
  EXPECT_FALSE(t.model.start_from.has_value());
}

TEST(TrainingText, HoldsATable) {
  const Training t = good(kTop + kTable + kMlp + kTraining);
  const auto& table = std::get<CsvTable>(t.data.format);
  EXPECT_EQ(table.format.separator, ';');
  EXPECT_TRUE(table.format.trim);
  EXPECT_EQ(table.schema.missing, (std::vector<std::string>{"?", ""}));
  ASSERT_EQ(table.schema.features.size(), 2U);
  const auto& age = std::get<NumericColumn>(table.schema.features[0]);
  EXPECT_EQ(age.name, "age");
  EXPECT_EQ(age.lower, 0);
  EXPECT_EQ(age.upper, 100);
  EXPECT_EQ(age.missing, 40);
  EXPECT_EQ(age.scaling, Scaling::kUnit);
  const auto& sex = std::get<CategoricalColumn>(table.schema.features[1]);
  EXPECT_EQ(sex.values, (std::vector<std::string>{"Female", "Male"}));
  EXPECT_EQ(sex.unlisted, Unlisted::kOther);
  const auto& label = std::get<LabelColumn>(table.schema.outcome);
  EXPECT_EQ(label.name, "income");
  EXPECT_EQ(label.classes, (std::vector<std::string>{"<=50K", ">50K"}));
  EXPECT_EQ(std::get<TextFile>(t.data.train).path, "adult.csv");
  EXPECT_FALSE(t.data.test.has_value());
  EXPECT_EQ(t.data.test_fraction, 0.2);
  EXPECT_EQ(layer<lanes::Linear>(t, 4).outputs, 2U) << "one for each class";
}

TEST(TrainingText, HoldsATableWithATarget) {
  const std::string data = replaced(replaced(kTable, "label = \"income\"", "target = \"price\"\ntarget_lower = -1"),
                                    "classes = [\"<=50K\", \">50K\"]", "target_upper = 5e5");
  const Training t = good(kTop + data + kMlp + kTraining);
  const auto& target = std::get<TargetColumn>(std::get<CsvTable>(t.data.format).schema.outcome);
  EXPECT_EQ(target.name, "price");
  EXPECT_EQ(target.lower, -1);
  EXPECT_EQ(target.upper, 5e5);
  EXPECT_EQ(layer<lanes::Linear>(t, 4).outputs, 1U);
}

TEST(TrainingText, HoldsSparseData) {
  const Training t = good(kTop + kSparse + "[model]\nkind = \"logistic\"\n" + kTraining);
  const auto& options = std::get<LibsvmOptions>(t.data.format);
  EXPECT_EQ(options.dimension, 123U);
  EXPECT_EQ(options.classes, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(options.lower, 0);
  EXPECT_EQ(options.upper, 1);
  EXPECT_EQ(options.scaling, Scaling::kNone);
  EXPECT_TRUE(options.normalise);
  ASSERT_TRUE(t.data.test.has_value());
  EXPECT_EQ(std::get<TextFile>(*t.data.test).path, "a9a.t");
  ASSERT_EQ(t.model.layers.size(), 1U) << "no flatten: examples are plain vectors";
  EXPECT_EQ(layer<lanes::Linear>(t, 0).outputs, 2U);
}

TEST(TrainingText, HoldsEveryKeyOfABudget) {
  const Training t = good(training("[budget]\n", "[budget]\nname = \"team\"\nadjacency = \"replace-one\"\n"));
  EXPECT_EQ(t.privacy.budget, "team");
  EXPECT_EQ(t.name, "fashion");
  EXPECT_EQ(t.privacy.adjacency, Adjacency::kReplaceOne);
}

// The network of a preset fits images of 28 x 28, or vectors, and has this many parameters.
void expect_network(const std::string& data, const std::string& model, const std::string& more, lanes::Shape input,
                    std::size_t outputs, std::size_t parameters) {
  const Training t = good(kTop + data + "[model]\nkind = " + model + "\n" + kTraining + more);
  const auto program = lanes::Program::create(input, t.model.layers, lanes::Loss::kCrossEntropy);
  ASSERT_TRUE(program.has_value()) << model << ": " << program.error().message;
  EXPECT_EQ(program.value().outputs(), outputs) << model;
  EXPECT_EQ(program.value().parameters(), parameters) << model;
}

TEST(TrainingText, SpellsOutEveryPreset) {
  const lanes::Shape image{1, 28, 28};
  const lanes::Shape vector{123, 1, 1};
  expect_network(kImages, "\"lenet5\"", "", image, 10, 61706);
  expect_network(kImages, "\"dp-cnn\"", "", image, 10, 26010);
  expect_network(kImages, "\"logistic\"", "", image, 10, 7850);
  expect_network(kImages, "\"ridge\"", "weight_decay = 0.01\n", image, 10, 7850);
  expect_network(kImages, "\"mlp\"\nhidden = [32]", "", image, 10, 784 * 32 + 32 + 330);
  expect_network(kSparse, "\"mlp\"\nhidden = [8, 4]", "", vector, 2, 124 * 8 + 9 * 4 + 5 * 2);
  const std::size_t streamrec = 124 * 128 + 256 + 129 * 64 + 128 + 65 * 32 + 64 + 33;
  expect_network(kSparse, "\"streamrec\"", "", vector, 1, streamrec);
  EXPECT_EQ(good(kFashion).model.name, "dp-cnn");
}

TEST(TrainingText, PutsScatteringBeforeItsNetwork) {
  const lanes::Shape scattered{81, 7, 7};
  expect_network(kImages, "\"scattering-linear\"", "", scattered, 10, 81 * 49 * 10 + 10);
  expect_network(kImages, "\"scattering-cnn\"", "", scattered, 10, 81 * 9 * 32 + 32 + 32 * 9 * 32 + 32 + 330);
  EXPECT_TRUE(good(kTop + kImages + "[model]\nkind = \"scattering-linear\"\n" + kTraining).model.scattering);
  EXPECT_FALSE(good(kFashion).model.scattering);
}

TEST(TrainingText, DropsATenthInStreamrec) {
  const Training t = good(kTop + kSparse + "[model]\nkind = \"streamrec\"\n" + kTraining);
  ASSERT_EQ(t.model.layers.size(), 13U);
  EXPECT_TRUE(layer<lanes::Normalize>(t, 1).per_feature);
  EXPECT_EQ(layer<lanes::Activate>(t, 2).function, lanes::Activation::kRelu);
  for (const std::size_t i : {3U, 7U, 11U}) EXPECT_EQ(layer<lanes::Dropout>(t, i).rate, 0.1F);
}

TEST(TrainingText, HoldsEveryLayer) {
  const Training t = good(kTop + kImages + kLayers + kTraining);
  EXPECT_EQ(t.model.name, "layers");
  ASSERT_EQ(t.model.layers.size(), 11U) << "and none is added";
  const auto& conv = layer<lanes::Conv2d>(t, 0);
  EXPECT_EQ(conv.outputs, 8U);
  EXPECT_EQ(conv.kernel_height, 5U);
  EXPECT_EQ(conv.kernel_width, 3U);
  EXPECT_EQ(conv.stride, 2U);
  EXPECT_EQ(conv.padding, 1U);
  EXPECT_FALSE(conv.bias);
  EXPECT_EQ(layer<lanes::Normalize>(t, 1).groups, 4U);
  EXPECT_FALSE(layer<lanes::Normalize>(t, 1).per_feature);
  EXPECT_EQ(layer<lanes::Activate>(t, 2).function, lanes::Activation::kRelu);
  EXPECT_EQ(layer<lanes::Pool>(t, 3).kind, lanes::Pooling::kMax);
  EXPECT_EQ(layer<lanes::Pool>(t, 3).stride, 2U) << "as its kernel";
  EXPECT_EQ(layer<lanes::Pool>(t, 4).kind, lanes::Pooling::kAverage);
  EXPECT_EQ(layer<lanes::Pool>(t, 4).stride, 1U);
  static_cast<void>(layer<lanes::Flatten>(t, 5));
  EXPECT_TRUE(layer<lanes::Normalize>(t, 6).per_feature);
  EXPECT_EQ(layer<lanes::Dropout>(t, 7).rate, 0.25F);
  EXPECT_EQ(layer<lanes::Activate>(t, 8).function, lanes::Activation::kSigmoid);
  EXPECT_EQ(layer<lanes::Activate>(t, 9).function, lanes::Activation::kTanh);
  EXPECT_EQ(layer<lanes::Linear>(t, 10).outputs, 10U);
  EXPECT_TRUE(layer<lanes::Linear>(t, 10).bias);
}

TEST(TrainingText, AllowsOneOutputForTwoClasses) {
  const std::string model = "[model]\nkind = \"layers\"\n[[model.layer]]\ntype = \"linear\"\noutputs = 1\n";
  EXPECT_EQ(layer<lanes::Linear>(good(kTop + kSparse + model + kTraining), 0).outputs, 1U);
}

const std::string kSentences = R"([data]
format = "text"
train = "text.txt.gz"
length = 64
alphabet = "alphabet.txt"
replacement = "?"

)";

TEST(TrainingText, HoldsATextAndItsModels) {
  const Training lstm = good(kTop + kSentences + "[model]\nkind = \"lstm\"\nwidth = 32\nlayers = 2\n" + kTraining);
  const auto& format = std::get<TextFormat>(lstm.data.format);
  EXPECT_EQ(format.length, 64U);
  EXPECT_EQ(format.alphabet, "alphabet.txt");
  EXPECT_EQ(format.replacement, "?");
  EXPECT_TRUE(lstm.model.layers.empty());
  ASSERT_TRUE(lstm.model.torch.has_value());
  ASSERT_EQ(lstm.model.torch->layers.size(), 4U) << "embedding, two layers, logits";
  EXPECT_EQ(std::get<EmbeddingLayer>(lstm.model.torch->layers[0].kind).width, 32U);
  EXPECT_FALSE(std::get<LogitsLayer>(lstm.model.torch->layers[3].kind).tied);
  const Training transformer =
      good(kTop + replaced(kSentences, "alphabet = \"alphabet.txt\"\nreplacement = \"?\"\n", "") +
           "[model]\nkind = \"transformer\"\nwidth = 32\nheads = 4\nlayers = 3\ntied = true\n"
           "dropout = 0.1\n" +
           kTraining);
  EXPECT_FALSE(std::get<TextFormat>(transformer.data.format).alphabet.has_value());
  ASSERT_EQ(transformer.model.torch->layers.size(), 2 + 2 * 3 + 2U);
  const auto& block = std::get<ResidualLayer>(transformer.model.torch->layers[2].kind);
  ASSERT_EQ(block.layers.size(), 3U);
  EXPECT_EQ(std::get<AttentionLayer>(block.layers[1].kind).heads, 4U);
  EXPECT_TRUE(std::get<AttentionLayer>(block.layers[1].kind).causal) << "or it would look at what it predicts";
  EXPECT_TRUE(std::get<LogitsLayer>(transformer.model.torch->layers.back().kind).tied);
}

TEST(TrainingText, MakesANetworkForTorchOfTorchLayers) {
  EXPECT_FALSE(good(kTop + kImages + kLayers + kTraining).model.torch.has_value());
  const Training t = good(
      kTop + kImages + replaced(kLayers, "type = \"group_norm\"\ngroups = 4", "type = \"instance_norm\"") + kTraining);
  ASSERT_TRUE(t.model.torch.has_value());
  EXPECT_TRUE(t.model.layers.empty());
  EXPECT_EQ(t.model.torch->layers.size(), 11U);
  EXPECT_TRUE(std::holds_alternative<InstanceNormLayer>(t.model.torch->layers[1].kind));
  const Training tuned = good(training("kind = \"dp-cnn\"", "kind = \"dp-cnn\"\nstart_from = \"w\"\nfrozen = [\"0\"]"));
  EXPECT_EQ(tuned.model.torch.value().frozen, std::vector<std::string>{"0"});
  EXPECT_EQ(good(training("kind = \"dp-cnn\"", "kind = \"alexnet\"")).model.torch.value().layers.size(), 19U);
}

TEST(TrainingErrors, RefuseBatchNormAndNameItsReplacement) {
  const std::string text =
      kTop + kImages + replaced(kLayers, "type = \"group_norm\"\ngroups = 4", "type = \"batch_norm\"") + kTraining;
  expect_error(text, "mixes_examples", "batch_norm", "mixes the examples");
}

TEST(TrainingErrors, CoverTextsAndNetworksForTorch) {
  const std::string model = "[model]\nkind = \"transformer\"\nwidth = 32\n";
  const auto wrong = [&](const std::string& from, const std::string& to) {
    return replaced(kTop + kSentences + model + kTraining, from, to);
  };
  expect_error(wrong("length = 64\n", ""), "key_missing", "[data]", "length");
  expect_error(wrong("replacement = \"?\"\n", ""), "key_missing", "[data]", "replacement");
  expect_error(wrong("alphabet = \"alphabet.txt\"\n", ""), "key_not_used", "replacement", "alphabet");
  expect_error(wrong("length = 64", "length = 64\nclasses = 2"), "key_not_used", "classes", "labels");
  expect_error(wrong("kind = \"transformer\"\nwidth = 32", "kind = \"logistic\""), "model_does_not_fit",
               "kind =", "next character");
  expect_error(training("kind = \"dp-cnn\"", "kind = \"lstm\"\nwidth = 4"), "model_does_not_fit",
               "kind =", "next character");
  expect_error(wrong("width = 32\n", "width = 32\nheads = 5\n"), "out_of_range", "heads", "evenly");
  expect_error(wrong("width = 32\n", ""), "key_missing", "[model]", "width");
  expect_error(wrong("width = 32\n", "width = 32\ntuning = \"bias\"\n"), "key_missing", "[model]", "start_from");
  expect_error(wrong("width = 32\n", "width = 32\nlora_rank = 2\n"), "key_not_used", "lora_rank", "lora");
  expect_error(training("kind = \"dp-cnn\"", "kind = \"dp-cnn\"\nwidth = 4"), "key_not_used", "width", "lstm");
  expect_error(wrong("kind = \"transformer\"\nwidth = 32", "kind = \"layers\"\n[[model.layer]]\ntype = \"residual\""),
               "key_missing", "[[model.layer]]", "[[model.layer.layer]]");
}

TEST(TrainingText, StartsFromWeights) {
  EXPECT_EQ(good(training("\"dp-cnn\"\n", "\"dp-cnn\"\nstart_from = \"public.safetensors\"\n")).model.start_from,
            "public.safetensors");
}

TEST(TrainingText, HoldsNoiseThatIsStatedOrCalibrated) {
  const TrainingPrivacy stated = good(training("target_epsilon = 2.0", "noise_multiplier = 1.1")).privacy;
  EXPECT_EQ(stated.noise_multiplier, NoiseMultiplier::of(1.1));
  EXPECT_FALSE(stated.target_epsilon.has_value());
  const TrainingPrivacy neither = good(training("target_epsilon = 2.0\n", "")).privacy;
  EXPECT_EQ(neither.target_epsilon, Epsilon::of(3)) << "the budget's";
  EXPECT_TRUE(neither.private_training);
  const Training none = good(training("target_epsilon = 2.0", "noise = \"none\""));
  EXPECT_FALSE(none.privacy.private_training);
  EXPECT_FALSE(none.privacy.target_epsilon.has_value());
  EXPECT_TRUE(none.descent.clip.has_value()) << "clipped all the same, if that is stated";
  const Training plain = good(replaced(training("target_epsilon = 2.0", "noise = \"none\""), "clip_norm = 0.1\n", ""));
  EXPECT_FALSE(plain.descent.clip.has_value());
}

TEST(TrainingText, HoldsDiscreteNoise) {
  const Training discrete = good(training("target_epsilon = 2.0", "noise = \"discrete\"\ntarget_epsilon = 2.0"));
  EXPECT_TRUE(discrete.descent.discrete_noise);
  EXPECT_TRUE(discrete.privacy.private_training);
  EXPECT_EQ(discrete.privacy.target_epsilon, Epsilon::of(2));
  EXPECT_FALSE(good(training("target_epsilon = 2.0", "noise = \"gaussian\"")).descent.discrete_noise);
  expect_error(training("clip_norm = 0.1", "noise = \"discrete\"\nclipping = \"adaptive\"\nclip_norm = 0.1"),
               "conflicting_keys", "noise =", "adaptive");
}

TEST(TrainingText, HoldsCopiesOfImages) {
  const Augmentation how = good(and_training("copies = 4\nshift = 2\nmirror = true")).descent.augmentation;
  EXPECT_EQ(how.copies, 4U);
  EXPECT_EQ(how.shift, 2U);
  EXPECT_TRUE(how.mirror);
  EXPECT_TRUE(good(kFashion).descent.augmentation.is_none());
  expect_error(and_training("copies = 65"), "out_of_range", "copies", "65");
  expect_error(kTop + kSparse + kMlp + kTraining + "shift = 1\n", "model_does_not_fit", "shift", "images");
  expect_error(replaced(and_training("copies = 2"), "\"dp-cnn\"", "\"scattering-linear\""), "model_does_not_fit",
               "copies", "images");
  EXPECT_EQ(good(and_training("noise = \"discrete\"\ncopies = 2")).descent.augmentation.copies, 2U);
  EXPECT_EQ(good(replaced(and_training("copies = 2"), "\"dp-cnn\"", "\"alexnet\"")).descent.augmentation.copies, 2U);
}

TEST(TrainingText, HoldsALimitOfMemoryForTorch) {
  const std::string alexnet = replaced(kFashion, "\"dp-cnn\"", "\"alexnet\"");
  EXPECT_EQ(good(alexnet).descent.memory_limit_mb, 1024U);
  EXPECT_EQ(good(alexnet + "memory_limit = 300\n").descent.memory_limit_mb, 300U);
  expect_error(alexnet + "memory_limit = 0\n", "out_of_range", "memory_limit", "0");
  expect_error(and_training("memory_limit = 300"), "key_not_used", "memory_limit", "libtorch");
  EXPECT_FALSE(good(alexnet).descent.cuda);
  EXPECT_TRUE(good(alexnet + "device = \"cuda\"\n").descent.cuda);
  expect_error(alexnet + "device = \"gpu\"\n", "unknown_value", "device", "gpu");
  expect_error(and_training("device = \"cpu\""), "key_not_used", "device", "libtorch");
}

TEST(TrainingText, AllowsATrainingToTakeAPartOfDelta) {
  EXPECT_EQ(good(kFashion).privacy.target_delta, good(kFashion).privacy.delta);
  EXPECT_EQ(good(training("target_epsilon = 2.0", "target_epsilon = 2.0\ntarget_delta = 1e-6")).privacy.target_delta,
            Delta::of(1e-6));
  expect_error(and_training("target_delta = 1e-3"), "target_above_total", "target_delta", "0.001");
  expect_error(and_training("target_delta = 0"), "gaussian_needs_delta", "target_delta", "0");
}

TEST(TrainingText, AllowsColumnsThatAreAlikeInOneSection) {
  const Training t = good(kTop +
                          replaced(kTable, "[[data.column]]",
                                   "[[data.column]]\nname = [\"p\", \"q\"]\nlower = 0\nupper = 2\n[[data.column]]") +
                          kMlp + kTraining);
  const Schema& schema = std::get<CsvTable>(t.data.format).schema;
  EXPECT_EQ(std::get<NumericColumn>(schema.features[0]).name, "p");
  EXPECT_EQ(std::get<NumericColumn>(schema.features[1]).name, "q");
  EXPECT_EQ(std::get<NumericColumn>(schema.features[1]).upper, 2);
  expect_error(kTop +
                   replaced(kTable, "[[data.column]]",
                            "[[data.column]]\nname = [\"p\", \"age\"]\nlower = 0\nupper = 2\n[[data.column]]") +
                   kMlp + kTraining,
               "duplicate_name", "name = \"age\"", "twice");
}

TEST(TrainingText, HoldsAnAudit) {
  EXPECT_FALSE(good(kFashion).audit.has_value());
  EXPECT_EQ(good(and_training("[audit]")).audit->canaries, 10'000U);
  EXPECT_EQ(good(and_training("[audit]\ncanaries = 500")).audit->canaries, 500U);
  expect_error(and_training("[audit]\ncanaries = 50"), "out_of_range", "canaries = 50", "100");
  expect_error(and_training("noise = \"discrete\"\n[audit]"), "audit_does_not_fit", "[audit]", "discrete");
}

TEST(TrainingText, HoldsAGoal) {
  EXPECT_FALSE(good(kFashion).goal.has_value());
  const TrainingGoal usual = *good(and_training("[plan]\nutility = \"public\"")).goal;
  EXPECT_EQ(usual.utility, UtilityData::kPublic);
  EXPECT_EQ(usual.allowed_loss, 0.1);
  EXPECT_EQ(usual.phases, 1U);
  ASSERT_EQ(usual.clip_norms.size(), 3U);
  EXPECT_EQ(usual.clip_norms[0].value() * 2, usual.clip_norms[1].value());
  EXPECT_EQ(usual.noise.size(), 10U);
  const TrainingGoal goal = *good(and_training("[plan]\nutility = \"proxy\"\nproxy = \"p\"\nproxy_labels = \"l\"\n"
                                               "target_accuracy = 0.8\nclip_norms = 0.3\nnoise_multipliers = [4, 2]\n"
                                               "draws = 7\nphases = 3"))
                                 .goal;
  EXPECT_EQ(std::get<IdxFiles>(*goal.proxy).labels, "l");
  EXPECT_EQ(goal.target_accuracy, 0.8);
  EXPECT_EQ(goal.noise[0].value(), 2) << "growing";
  EXPECT_EQ(goal.draws, 7U);
  EXPECT_EQ(goal.phases, 3U);
}

TEST(TrainingErrors, CoverAGoal) {
  const auto plan = [](const std::string& lines) { return and_training("[plan]\n" + lines); };
  expect_error(plan("draws = 2"), "key_missing", "[plan]", "utility");
  expect_error(plan("utility = \"private\""), "unknown_value", "private", "private");
  expect_error(plan("utility = \"proxy\"\nproxy_labels = \"l\""), "key_missing", "[plan]", "proxy");
  expect_error(plan("utility = \"proxy\"\nproxy = \"p\""), "key_missing", "[plan]", "proxy_labels");
  expect_error(plan("utility = \"budgeted\""), "key_missing", "[plan]", "utility_epsilon");
  expect_error(plan("utility = \"public\"\nutility_epsilon = 1"), "key_not_used", "utility_epsilon", "utility_epsilon");
  expect_error(plan("utility = \"public\"\ntarget_accuracy = 0.9\nallowed_loss = 0.2"), "conflicting_keys",
               "allowed_loss", "target_accuracy");
  expect_error(plan("utility = \"public\"\ntarget_accuracy = 90"), "out_of_range", "target_accuracy", "90");
  expect_error(plan("utility = \"public\"\nphases = 17"), "out_of_range", "phases", "17");
}

TEST(TrainingText, HoldsEveryClipping) {
  const auto clipped = [](const std::string& lines) { return good(training("clip_norm = 0.1", lines)).descent; };
  EXPECT_EQ(std::get<GroupClip>(*clipped("clipping = \"per-layer\"\nclip_norm = 0.5").clip).norms,
            (std::vector<ClipNorm>{ClipNorm::of(0.5)}));
  EXPECT_EQ(std::get<GroupClip>(*clipped("clipping = \"per-layer\"\nclip_norm = [1, 2, 0.5, 3]").clip).norms,
            (std::vector<ClipNorm>{ClipNorm::of(1), ClipNorm::of(2), ClipNorm::of(0.5), ClipNorm::of(3)}));
  const auto automatic = std::get<AutomaticClip>(*clipped("clipping = \"automatic\"\nclip_norm = 1").clip);
  EXPECT_EQ(automatic.gamma, 0.01);
  EXPECT_EQ(std::get<AutomaticClip>(*clipped("clipping = \"automatic\"\nclip_norm = 1\ngamma = 0.1").clip).gamma, 0.1);
  const TrainingDescent adaptive =
      clipped("clipping = \"adaptive\"\nclip_norm = 1\nquantile = 0.6\nrate = 0.3\ncount_noise_share = 0.1");
  EXPECT_EQ(std::get<FlatClip>(*adaptive.clip).norm, ClipNorm::of(1));
  ASSERT_TRUE(adaptive.adaptive.has_value());
  EXPECT_EQ(adaptive.adaptive->quantile, 0.6);
  EXPECT_EQ(adaptive.adaptive->rate, 0.3);
  EXPECT_EQ(adaptive.adaptive->count_noise_share, 0.1);
}

TEST(TrainingText, HoldsEveryOptimizerAndSchedule) {
  const auto with = [](const std::string& lines) { return good(training("momentum = 0.9", lines)).descent; };
  EXPECT_EQ(with("optimizer = \"adam\"\nbeta1 = 0.8\nbeta2 = 0.99").optimizer.beta1, 0.8);
  EXPECT_EQ(with("optimizer = \"adamw\"\nbeta2 = 0.98\nweight_decay = 0.1").optimizer.beta2, 0.98);
  EXPECT_EQ(with("optimizer = \"adamw\"\nweight_decay = 0.1").optimizer.weight_decay, 0.1);
  EXPECT_EQ(with("optimizer = \"adagrad\"").optimizer.kind, OptimizerKind::kAdagrad);
  EXPECT_EQ(with("optimizer = \"rmsprop\"\nalpha = 0.9").optimizer.alpha, 0.9);
  EXPECT_EQ(with("optimizer = \"rmsprop\"").optimizer.alpha, 0.99) << "torch's";
  const TrainingDescent d = with("schedule = \"inverse-root\"\ndecay = 0.5\nwarm_up = 20\naveraging = 0.99");
  EXPECT_EQ(d.learning_rate.decay, RateDecay::kInverseRoot);
  EXPECT_EQ(d.learning_rate.beta, 0.5);
  EXPECT_EQ(d.learning_rate.warm_up, 20U);
  EXPECT_EQ(d.learning_rate.steps, 1U);
  EXPECT_EQ(d.averaging, 0.99);
  EXPECT_EQ(with("schedule = \"inverse\"\ndecay = 1").learning_rate.decay, RateDecay::kInverse);
  EXPECT_EQ(with("schedule = \"cosine\"").learning_rate.decay, RateDecay::kCosine);
}

TEST(TrainingText, HoldsFixedSizeBatchesAndSteps) {
  const TrainingDescent d = good(replaced(training("epochs = 40", "steps = 1e3\nsampler = \"fixed-size\""),
                                          "delta = 1e-5", "delta = 1e-5\nadjacency = \"replace-one\""))
                                .descent;
  EXPECT_EQ(d.sampler, SamplerKind::kFixedSize);
  EXPECT_EQ(d.steps, Steps::of(1000));
  EXPECT_EQ(d.epochs, 0);
}

TEST(TrainingText, IsReadDespiteWarnings) {
  const auto expect_warning = [](const std::string& text, const std::string& code, const std::string& where) {
    const TrainingText read = read_training(text);
    EXPECT_TRUE(read.training.has_value());
    ASSERT_EQ(read.findings.size(), 1U) << all_of(read.findings);
    EXPECT_EQ(read.findings[0].code, code);
    EXPECT_EQ(read.findings[0].severity, Severity::kWarning);
    EXPECT_EQ(read.findings[0].place.line, line_of(text, where));
  };
  expect_warning(training("epsilon = 3.0", "epsilon = 10.5"), "epsilon_large", "epsilon = 10.5");
  expect_warning(training("delta = 1e-5", "delta = 1e-3"), "delta_large", "delta = 1e-3");
}

// --- What is wrong with bad files ------------------------------------------------------------------------------------

TEST(TrainingErrors, ReportAMisspeltRequiredKeyAsUnknownAndMissing) {
  const TrainingText read = read_training(training("learning_rate", "lerning_rate"));
  ASSERT_EQ(read.findings.size(), 2U) << all_of(read.findings);
  EXPECT_EQ(read.findings[0].code, "key_missing");
  EXPECT_EQ(read.findings[1].code, "unknown_key");
  EXPECT_NE(read.findings[1].remedy.find("'learning_rate'"), std::string::npos);
}

TEST(TrainingErrors, PointAtValuesOrKeys) {
  const auto place = [](const std::string& text) { return read_training(text).findings.at(0).place; };
  const std::string csv = kTop + kTable + kMlp + kTraining;
  EXPECT_EQ(place(replaced(csv, "\"Male\"", "3")), (Place{26, 21})) << "of the item in a list";
  EXPECT_EQ(place(replaced(csv, "unlisted", "unlsited")), (Place{27, 1})) << "of an unknown key";
  EXPECT_EQ(place(replaced(csv, "upper = 100", "")), (Place{17, 1})) << "of the section in which a key is missing";
}

const std::string kByPerson = "unit = \"person\"\nperson = \"patient\"\nrows_per_person = 4\n";

std::string by_person(const std::string& keys) {
  return replaced(kTop + kTable + kMlp + kTraining, "label = \"income\"\n", keys + "label = \"income\"\n");
}

TEST(Training, ProtectsPeopleIfTheFileSaysSo) {
  const Training training = *read_training(by_person(kByPerson)).training;
  EXPECT_EQ(training.privacy.unit, PrivacyUnit::kPerson);
  const Schema& schema = std::get<CsvTable>(training.data.format).schema;
  ASSERT_TRUE(schema.person.has_value());
  EXPECT_EQ(schema.person->name, "patient");
  EXPECT_EQ(schema.person->rows_each, 4U);
  for (const char* rows : {"", "unit = \"row\"\n"}) {
    const Training by_row = *read_training(by_person(rows)).training;
    EXPECT_EQ(by_row.privacy.unit, PrivacyUnit::kRow);
    EXPECT_FALSE(std::get<CsvTable>(by_row.data.format).schema.person.has_value());
  }
}

TEST(TrainingErrors, CoverTheUnit) {
  expect_error(by_person("unit = \"person\"\nrows_per_person = 4\n"), "key_missing", "[data]", "person", "whose row");
  expect_error(by_person("unit = \"person\"\nperson = \"patient\"\n"), "key_missing", "[data]", "rows_per_person",
               "add rows_per_person");
  expect_error(by_person("person = \"patient\"\n"), "key_not_used", "person = ", "person", "");
  expect_error(by_person("unit = \"row\"\nrows_per_person = 4\n"), "key_not_used", "rows_per_person", "rows_per_person",
               "");
  expect_error(by_person("unit = \"people\"\n"), "unknown_value", "\"people\"", "unit", "");
  expect_error(replaced(by_person(kByPerson), "rows_per_person = 4", "rows_per_person = 0"), "out_of_range", "0\nlabel",
               "rows_per_person", "");
  expect_error(replaced(by_person(kByPerson), "\"patient\"", "\"age\""), "duplicate_name", "\"age\"", "whose row",
               "[[data.column]]");
  expect_error(training("classes = 10", "classes = 10\nunit = \"person\""), "key_not_used", "unit", "unit", "");
}

TEST(Training, HoldsTheNumbersThatAreTakenAsPublic) {
  const Training plain = good(kFashion);
  EXPECT_FALSE(plain.data.rows.has_value());
  EXPECT_FALSE(plain.descent.rows_by_rate.has_value());
  const Training rows = good(training("classes = 10", "classes = 10\nrows = 60_000"));
  EXPECT_EQ(rows.data.rows, 60'000U);
  EXPECT_EQ(description_of(rows).rows, 60'000U);
  const Training people = good(by_person(kByPerson + std::string("people = 900\n")));
  EXPECT_EQ(people.data.people, 900U);
  EXPECT_EQ(description_of(people).people, 900U);
  // A rate stands for a number, which is rounded so that the true rate is at most the stated one.
  EXPECT_EQ(good(and_training("sample_rate = 0.01")).descent.rows_by_rate, Rows::of(204'800));
  EXPECT_EQ(good(and_training("sample_rate = 0.3")).descent.rows_by_rate, Rows::of(6827));
  EXPECT_EQ(good(and_training("sample_rate = 1")).descent.rows_by_rate, Rows::of(2048));
}

TEST(TrainingErrors, CoverTheNumbersThatAreTakenAsPublic) {
  expect_error(and_training("sample_rate = 1.5"), "out_of_range", "sample_rate", "is a probability", "at most 1");
  expect_error(and_training("sample_rate = 0"), "out_of_range", "sample_rate", "sample_rate", "");
  expect_error(and_training("sample_rate = 1e-30"), "out_of_range", "sample_rate", "too small", "larger rate");
  expect_error(training("classes = 10", "classes = 10\nrows = 0"), "out_of_range", "rows = 0", "rows", "");
  expect_error(training("classes = 10", "classes = 10\npeople = 5"), "key_not_used", "people", "people", "");
  expect_error(by_person("people = 5\n"), "key_not_used", "people", "people", "");
  expect_error(training("classes = 10", "classes = 10\nrows = 60000") + "sample_rate = 0.1\n", "conflicting_keys",
               "sample_rate", "rows = 60000", "keep one of them");
  expect_error(replaced(and_training("sample_rate = 0.1\nsampler = \"fixed-size\""), "delta = 1e-5",
                        "delta = 1e-5\nadjacency = \"replace-one\""),
               "conflicting_keys", "sample_rate", "poisson", "fixed size");
}

TEST(TrainingErrors, NameUnknownKeys) {
  expect_error(and_training("leraning_rate = 1"), "unknown_key", "leraning_rate", "leraning_rate", "'learning_rate'");
  expect_error(training("[budget]\n", "[budget]\nunit = \"row\"\n"), "unknown_key", "unit", "[budget]", "there are");
  expect_error(training("split_seed = 1", "splitseed = 1"), "unknown_key", "splitseed", "splitseed", "'split_seed'");
  expect_error(training("\"dp-cnn\"\n", "\"dp-cnn\"\nstartfrom = \"x\"\n"), "unknown_key", "startfrom", "[model]",
               "'start_from'");
  expect_error(and_training("[trainig]\nx = 1"), "unknown_section", "[trainig]", "trainig", "'training'");
  expect_error("version = 2\n" + kFashion, "unknown_key", "version", "version");
  expect_error(replaced(kTop + kTable + kMlp + kTraining, "scaling =", "scalin ="), "unknown_key",
               "scalin =", "[[data.column]] number 1", "'scaling'");
  expect_error(replaced(kTop + kImages + kLayers + kTraining, "padding", "pading"), "unknown_key", "pading",
               "[[model.layer]] number 1", "'padding'");
  expect_error(and_training("epsilon = 2"), "unknown_key", "epsilon = 2\n", "epsilon", "target_epsilon");
  expect_error(and_training("delta = 1e-6"), "unknown_key", "delta = 1e-6", "delta", "[budget]");
}

TEST(TrainingErrors, NameUnknownValuesAndSuggestTheNearest) {
  expect_error(training("\"idx\"", "\"mnist\""), "unknown_value", "\"mnist\"", "mnist", "idx, csv, libsvm, text");
  expect_error(training("\"dp-cnn\"", "\"dp_cnn\""), "unknown_value", "\"dp_cnn\"", "dp_cnn", "'dp-cnn'");
  expect_error(replaced(kTop + kImages + kLayers + kTraining, "\"max_pool\"", "\"maxpool\""), "unknown_value",
               "\"maxpool\"", "type of [[model.layer]] number 4", "'max_pool'");
  expect_error(replaced(kTop + kImages + kLayers + kTraining, "\"linear\"", "\"lineal\""), "unknown_value",
               "\"lineal\"", "number 11", "'linear'");
  expect_error(and_training("optimizer = \"adamx\""), "unknown_value", "adamx", "adamx", "'adam'");
  expect_error(and_training("schedule = \"inverse root\""), "unknown_value", "schedule", "", "'inverse-root'");
  expect_error(and_training("sampler = \"poison\""), "unknown_value", "sampler", "poison", "'poisson'");
  expect_error(and_training("clipping = \"layer\""), "unknown_value", "clipping", "layer", "per-layer");
  expect_error(training("target_epsilon = 2.0", "noise = \"laplace\""), "unknown_value", "noise =", "laplace", "none");
  expect_error(training("delta = 1e-5", "delta = 1e-5\nadjacency = \"swap\""), "unknown_value", "adjacency", "swap");
  expect_error(replaced(kTop + kTable + kMlp + kTraining, "\"unit\"", "\"units\""), "unknown_value", "\"units\"",
               "scaling", "'unit'");
  expect_error(replaced(kTop + kTable + kMlp + kTraining, "\"other\"", "\"others\""), "unknown_value", "\"others\"",
               "unlisted", "'other'");
}

TEST(TrainingErrors, NameWrongTypes) {
  expect_error(training("epsilon = 3.0", "epsilon = \"3\""), "wrong_type", "epsilon = \"3\"", "epsilon");
  expect_error(training("classes = 10", "classes = [\"a\", \"b\"]"), "wrong_type", "classes", "a whole number");
  expect_error(replaced(kTop + kSparse + kMlp + kTraining, "[\"-1\", \"1\"]", "2"), "wrong_type", "classes", "a list",
               "brackets");
  expect_error(replaced(kTop + kSparse + kMlp + kTraining, "[\"-1\", \"1\"]", "[-1, \"1\"]"), "wrong_type", "classes",
               "among its texts", "quotes");
  expect_error(training("\"train-images.gz\"", "3"), "wrong_type", "train = 3", "train");
  expect_error(training("\"dp-cnn\"", "5"), "wrong_type", "kind = 5", "kind");
  expect_error(replaced(kTop + kImages + kMlp + kTraining, "[128, 64]", "128"), "wrong_type", "hidden", "a list");
  expect_error(replaced(kTop + kImages + kMlp + kTraining, "[128, 64]", "[128, \"64\"]"), "wrong_type", "hidden",
               "a text");
  expect_error(training("batch_size = 2048", "batch_size = true"), "wrong_type", "batch_size", "batch_size");
  expect_error(replaced(kTop + kTable + kMlp + kTraining, "trim = true", "trim = 1"), "wrong_type", "trim", "trim");
  expect_error(replaced(kTop + kTable + kMlp + kTraining, "lower = 0", "lower = \"0\""), "wrong_type", "lower = \"0\"",
               "lower of [[data.column]] number 1");
  expect_error(replaced(kTop + kImages + kLayers + kTraining, "bias = false", "bias = 0"), "wrong_type", "bias",
               "bias");
  // The kernel of a pool has one side.
  expect_error(replaced(kTop + kImages + kLayers + kTraining, "kernel = 2", "kernel = [2, 2]"), "wrong_type",
               "kernel = [2, 2]", "kernel of [[model.layer]] number 4");
  expect_error("model = 3\n" + kTop + kImages + kTraining, "wrong_type", "model = 3", "model", "[model]");
  expect_error(kTop +
                   replaced(kTable,
                            "[[data.column]]\nname = \"age\"\nlower = 0\nupper = 100\nmissing = 40\nscaling = "
                            "\"unit\"\n\n[[data.column]]",
                            "[data.column]") +
                   kMlp + kTraining,
               "wrong_type", "[data.column]", "column is a section", "[[data.column]]");
  expect_error(training("kind = \"dp-cnn\"", "kind = \"layers\"\nlayer = []"), "wrong_type", "layer = []",
               "an empty list", "[[model.layer]]");
  expect_error(training("kind = \"dp-cnn\"", "kind = \"layers\"\nlayer = [\"linear\"]"), "wrong_type", "layer = [",
               "a list of something else", "[[model.layer]]");
}

TEST(TrainingErrors, NameNumbersOutOfRange) {
  const auto in_training = [](const std::string& line) {
    const std::string key = line.substr(0, line.find(' '));
    const std::size_t begin = kFashion.find("\n" + key + " =");
    std::string text =
        begin == std::string::npos
            ? kFashion + line + "\n"
            : replaced(kFashion, kFashion.substr(begin + 1, kFashion.find('\n', begin + 1) - begin - 1), line);
    expect_error(text, "out_of_range", line, key);
  };
  in_training("batch_size = 0");
  in_training("epochs = 0");
  in_training("clip_norm = -1");
  in_training("momentum = 1");
  in_training("momentum = -0.1");
  in_training("learning_rate = 0");
  in_training("learning_rate = inf");
  in_training("weight_decay = -1");
  in_training("averaging = 1");
  in_training("warm_up = -1");
  in_training("warm_up = 1.5");
  in_training("target_epsilon = nan");
  in_training("classes = 1");
  in_training("classes = 257");
  in_training("split_seed = -1");
  in_training("validation_fraction = 1");
  in_training("validation_fraction = -0.1");
  const auto in_layers = [](const std::string& from, const std::string& to) {
    expect_error(kTop + kImages + replaced(kLayers, from, to) + kTraining, "out_of_range", to, "[[model.layer]]");
  };
  in_layers("outputs = 8", "outputs = 0");
  in_layers("outputs = 8", "outputs = 1e12");
  in_layers("stride = 2", "stride = 0");
  in_layers("padding = 1", "padding = 100000");
  in_layers("kernel = [5, 3]", "kernel = [5, 0]");
  in_layers("groups = 4", "groups = 0");
  in_layers("rate = 0.25", "rate = 1");
  expect_error(kTop + kImages + replaced(kLayers, "[5, 3]", "[5, 3, 1]") + kTraining, "out_of_range", "[5, 3, 1]",
               "kernel lists 3");
  expect_error(kTop + kImages + replaced(kLayers, "rate = 0.25", "rate = 0.9999999999") + kTraining, "out_of_range",
               "rate = 0.9999999999", "rate");
  expect_error(kTop + kImages + replaced(kMlp, "[128, 64]", "[128, 0]") + kTraining, "out_of_range", "hidden",
               "hidden");
  expect_error(kTop + kImages + replaced(kMlp, "[128, 64]", "[]") + kTraining, "out_of_range", "hidden", "hidden");
  expect_error(training("clip_norm = 0.1", "clip_norm = 1\nclipping = \"automatic\"\ngamma = 0"), "out_of_range",
               "gamma", "gamma");
  expect_error(training("clip_norm = 0.1", "clip_norm = 1\nclipping = \"adaptive\"\nquantile = 1"), "out_of_range",
               "quantile", "quantile");
  expect_error(training("clip_norm = 0.1", "clipping = \"per-layer\"\nclip_norm = [1, 0, 1, 1]"), "out_of_range",
               "clip_norm = [", "clip_norm");
  expect_error(training("clip_norm = 0.1", "clipping = \"per-layer\"\nclip_norm = 1e200"), "out_of_range",
               "clip_norm = 1e200", "sensitivity");
  expect_error(kTop + replaced(kSparse, "dimension = 123", "dimension = 0") + kMlp + kTraining, "out_of_range",
               "dimension", "dimension");
}

TEST(TrainingErrors, NameWhatIsMissing) {
  const auto without = [](const std::string& text, const std::string& line, const std::string& code,
                          const std::string& where, const std::string& named) {
    expect_error(replaced(text, line + "\n", ""), code, where, named);
  };
  without(kFashion, "name = \"fashion\"", "key_missing", "\n", "name");
  without(kFashion, "epsilon = 3.0", "epsilon_missing", "[budget]", "epsilon");
  without(kFashion, "delta = 1e-5", "delta_missing", "[budget]", "delta");
  without(kFashion, "format = \"idx\"", "key_missing", "[data]", "format");
  without(kFashion, "train = \"train-images.gz\"", "key_missing", "[data]", "train");
  without(kFashion, "train_labels = \"train-labels.gz\"", "key_missing", "[data]", "train_labels");
  without(kFashion, "test_labels = \"test-labels.gz\"", "key_missing", "[data]", "test_labels");
  without(kFashion, "classes = 10", "key_missing", "[data]", "classes");
  without(kFashion, "kind = \"dp-cnn\"", "key_missing", "[model]", "kind");
  without(kFashion, "batch_size = 2048", "key_missing", "[training]", "batch_size");
  without(kFashion, "epochs = 40", "schedule_missing", "[training]", "epochs");
  without(kFashion, "clip_norm = 0.1", "clip_missing", "[training]", "clip_norm");
  without(kFashion, "learning_rate = 4.0", "key_missing", "[training]", "learning_rate");
  const std::string csv = kTop + kTable + kMlp + kTraining;
  without(csv, "label = \"income\"", "key_missing", "[data]", "label");
  without(csv, "classes = [\"<=50K\", \">50K\"]", "key_missing", "[data]", "classes");
  without(csv, "name = \"age\"", "key_missing", "[[data.column]]", "name");
  without(csv, "lower = 0", "key_missing", "[[data.column]]", "lower");
  without(csv, "upper = 100", "key_missing", "[[data.column]]", "upper");
  without(csv, "lower = 0\nupper = 100", "key_missing", "[[data.column]]", "values");
  const std::string svm = kTop + kSparse + kMlp + kTraining;
  without(svm, "dimension = 123", "key_missing", "[data]", "dimension");
  without(svm, "lower = 0", "key_missing", "[data]", "lower");
  without(svm, "upper = 1", "key_missing", "[data]", "upper");
  without(svm, "hidden = [128, 64]", "key_missing", "[model]", "hidden");
  const std::string layers = kTop + kImages + kLayers + kTraining;
  without(layers, "type = \"conv2d\"", "key_missing", "[[model.layer]]", "type");
  without(layers, "outputs = 8", "key_missing", "[[model.layer]]", "outputs");
  without(layers, "kernel = [5, 3]", "key_missing", "[[model.layer]]", "kernel");
  for (const char* section : {"budget", "data", "model", "training"}) {
    const std::string header = "[" + std::string(section) + "]";
    std::string text = kFashion;
    const std::size_t begin = text.find(header);
    text.erase(begin, text.find("\n[", begin) - begin);
    expect_error(text, "section_missing", "name", header, header);
  }
  expect_error(training("\"dp-cnn\"", "\"layers\""), "key_missing", "[model]", "[[model.layer]]");
  expect_error(training("\"dp-cnn\"", "\"ridge\""), "key_missing", "[training]", "weight_decay");
  expect_error(and_training("schedule = \"inverse\""), "key_missing", "[training]", "decay");
  expect_error(
      kTop + "[data]\nformat = \"csv\"\ntrain = \"a\"\nlabel = \"b\"\nclasses = [\"0\", \"1\"]\n" + kMlp + kTraining,
      "key_missing", "[data]", "[[data.column]]");
  const std::string target = replaced(replaced(csv, "label = \"income\"", "target = \"price\""),
                                      "classes = [\"<=50K\", \">50K\"]", "target_upper = 5");
  expect_error(target, "key_missing", "[data]", "target_lower");
  expect_error(replaced(training("target_epsilon = 2.0", "noise = \"none\""), "clip_norm = 0.1", "clipping = \"flat\""),
               "clip_missing", "[training]", "clip_norm");
}

TEST(TrainingErrors, NameContradictions) {
  expect_error(and_training("noise_multiplier = 1.1"), "conflicting_keys", "noise_multiplier", "target_epsilon");
  expect_error(and_training("noise = \"none\""), "conflicting_keys", "noise =", "target_epsilon");
  expect_error(replaced(and_training("noise_multiplier = 1"), "target_epsilon = 2.0", "noise = \"none\""),
               "conflicting_keys", "noise_multiplier", "noise_multiplier");
  expect_error(and_training("steps = 100"), "conflicting_keys", "steps", "epochs and steps");
  expect_error(and_training("sampler = \"fixed-size\""), "fixed_size_add_remove", "sampler", "add-remove",
               "replace-one");
  expect_error(and_training("sampler = \"shuffle\""), "shuffle_not_poisson", "sampler", "no valid bound", "poisson");
  expect_error(training("split_seed = 1", "test_fraction = 0.1"), "conflicting_keys", "test_fraction", "test");
  expect_error(training("target_epsilon = 2.0", "target_epsilon = 3.5"), "target_above_total", "target_epsilon",
               "3.5 is above the total of 3");
  expect_error(training("delta = 1e-5", "delta = 0"), "gaussian_needs_delta", "delta = 0", "Gaussian");
  expect_error(kTop + replaced(kTable, "test_fraction = 0.2", "test_fraction = 0.5\nvalidation_fraction = 0.5") + kMlp +
                   kTraining,
               "out_of_range", "validation_fraction", "leave nothing", "below 1");
  expect_error(kTop + replaced(kTable, "upper = 100", "upper = 0") + kMlp + kTraining, "bounds_out_of_order",
               "upper = 0", "age");
  expect_error(kTop + replaced(kTable, "missing = 40", "missing = 140") + kMlp + kTraining, "out_of_range",
               "missing = 140", "age");
  expect_error(kTop + replaced(kSparse, "upper = 1", "upper = -1") + kMlp + kTraining, "bounds_out_of_order",
               "upper = -1", "bounds");
  expect_error(kTop + replaced(kTable, "name = \"sex\"", "name = \"age\"") + kMlp + kTraining, "duplicate_name",
               "name = \"age\"\nvalues", "age");
  expect_error(kTop + replaced(kTable, "name = \"sex\"", "name = \"income\"") + kMlp + kTraining, "duplicate_name",
               "label = ", "income");
  expect_error(kTop + replaced(kTable, "\"Male\"", "\"Female\"") + kMlp + kTraining, "out_of_range", "values",
               "'Female' twice");
  expect_error(kTop + replaced(kTable, "unlisted = \"other\"", "upper = 3") + kMlp + kTraining, "conflicting_keys",
               "upper = 3", "values and upper");
  expect_error(
      kTop + replaced(kTable, "label = \"income\"", "label = \"income\"\ntarget = \"price\"") + kMlp + kTraining,
      "conflicting_keys", "target =", "label and target");
  expect_error(kTop + replaced(kTable, "\";\"", "\"; \"") + kMlp + kTraining, "out_of_range", "separator", "separator");
  expect_error(kTop + replaced(kTable, "\";\"", "\"\\n\"") + kMlp + kTraining, "out_of_range", "separator",
               "separator");
  expect_error(kTop + replaced(kTable, ", \">50K\"", "") + kMlp + kTraining, "out_of_range", "classes", "at least 2");
  expect_error(kTop + replaced(kSparse, "[\"-1\", \"1\"]", "[\"1\", \"+1\"]") + kMlp + kTraining, "out_of_range",
               "classes", "as numbers");
}

TEST(TrainingErrors, NamePartsThatDoNotFit) {
  expect_error(kTop + kSparse + kCnn + kTraining, "model_does_not_fit", "dp-cnn", "images", "mlp");
  const std::string target = replaced(replaced(kTable, "label = \"income\"", "target = \"price\"\ntarget_lower = 0"),
                                      "classes = [\"<=50K\", \">50K\"]", "target_upper = 5");
  expect_error(kTop + target + "[model]\nkind = \"logistic\"\n" + kTraining, "model_does_not_fit", "logistic", "target",
               "ridge");
  expect_error(kTop + kImages + replaced(kLayers, "outputs = 10", "outputs = 11") + kTraining, "outputs_do_not_fit",
               "outputs = 11", "10 are needed", "outputs = 10");
  expect_error(training("clip_norm = 0.1", "clipping = \"per-layer\"\nclip_norm = [1, 1, 1]"), "clip_norms_do_not_fit",
               "clip_norm", "4 layers");
  expect_error(replaced(training("clip_norm = 0.1", "clip_norm = 1\nclipping = \"adaptive\"\ncount_noise_share = 1e-4"),
                        "target_epsilon = 2.0", "noise_multiplier = 1"),
               "out_of_range", "count_noise_share", "half of noise_multiplier");
}

TEST(TrainingErrors, NameKeysThatBelongToSomethingElse) {
  expect_error(and_training("beta1 = 0.9"), "key_not_used", "beta1", "optimizer = \"adam\" or \"adamw\"",
               "optimizer = \"adam\"");
  expect_error(and_training("alpha = 0.9"), "key_not_used", "alpha", "rmsprop");
  expect_error(and_training("optimizer = \"adam\""), "key_not_used", "momentum", "sgd");
  expect_error(and_training("decay = 0.1"), "key_not_used", "decay", "inverse");
  expect_error(and_training("gamma = 0.1"), "key_not_used", "gamma", "automatic");
  expect_error(and_training("quantile = 0.5"), "key_not_used", "quantile", "adaptive");
  expect_error(training("clip_norm = 0.1", "clip_norm = [0.1, 0.2]"), "key_not_used", "clip_norm", "per-layer");
  expect_error(training("\"dp-cnn\"\n", "\"dp-cnn\"\nhidden = [3]\n"), "key_not_used", "hidden", "mlp");
  expect_error(training("\"dp-cnn\"\n", "\"dp-cnn\"\n[[model.layer]]\ntype = \"relu\"\n"), "key_not_used",
               "[[model.layer]]", "kind = \"layers\"");
  const auto in_layers = [](const std::string& type, const std::string& line, const std::string& belongs) {
    const std::string text = kTop + kImages + replaced(kLayers, type, type + "\n" + line) + kTraining;
    expect_error(text, "key_not_used", line, belongs);
  };
  in_layers("type = \"relu\"", "outputs = 9", "conv2d");
  in_layers("type = \"linear\"", "kernel = 9", "average_pool");
  in_layers("type = \"max_pool\"", "padding = 9", "conv2d");
  in_layers("type = \"flatten\"", "bias = true", "linear");
  in_layers("type = \"layer_norm\"", "groups = 9", "group_norm");
  in_layers("type = \"tanh\"", "rate = 0.9", "dropout");
  const auto in_data = [](const std::string& data, const std::string& line, const std::string& belongs) {
    const std::size_t end = data.find('\n') + 1;
    expect_error(kTop + data.substr(0, end) + line + "\n" + data.substr(end) + kMlp + kTraining, "key_not_used", line,
                 belongs);
  };
  in_data(kImages, "separator = \",\"", "csv");
  in_data(kImages, "dimension = 784", "libsvm");
  in_data(kImages, "label = \"x\"", "csv");
  in_data(kTable, "train_labels = \"x\"", "idx");
  in_data(kTable, "normalise = true", "libsvm");
  in_data(kTable, "lower = 9", "libsvm");
  in_data(kTable, "target_lower = 9", "target");
  in_data(kSparse, "test_labels = \"x\"", "idx");
  in_data(kSparse, "target = \"x\"", "csv");
  expect_error(kTop + kSparse + "[[data.column]]\nname = \"x\"\n" + kMlp + kTraining, "key_not_used", "[[data.column]]",
               "csv");
  expect_error(training("test = \"test-images.gz\"\n", ""), "key_not_used", "test_labels", "without test");
  expect_error(kTop + replaced(kTable, "unlisted = \"other\"", "scaling = \"none\"") + kMlp + kTraining, "key_not_used",
               "scaling = \"none\"", "numbers");
  expect_error(kTop + replaced(kTable, "scaling = \"unit\"", "unlisted = \"zeros\"") + kMlp + kTraining, "key_not_used",
               "unlisted = \"zeros\"", "texts");
  const std::string target =
      replaced(kTable, "label = \"income\"", "target = \"p\"\ntarget_lower = 0\ntarget_upper = 1");
  expect_error(kTop + target + kMlp + kTraining, "key_not_used", "classes", "target");
}

TEST(TrainingErrors, AreAllCollected) {
  const TrainingText read = read_training(
      "name = 1\n[budget]\nepsilon = -1\ndelta = 2\n[data]\nformat = \"tar\"\ntrain = \"x\"\n[model]\nkind = "
      "\"mlp\"\nhidden = 3\n[training]\nbatch_size = 0\nepochs = 1\nsteps = 1\nclip_norm = 0\nlearning_rate = "
      "0\n[oops]\n");
  std::vector<std::uint32_t> lines;
  for (const Finding& finding : read.findings) lines.push_back(finding.place.line);
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{1, 3, 4, 6, 10, 12, 14, 15, 16, 17})) << all_of(read.findings);
}

TEST(TrainingErrors, StopAtSyntaxErrors) {
  expect_error(training("epochs = 40", "epochs ="), "syntax", "epochs", "TOML");
  expect_error(training("[model]", "[data]"), "syntax", "[data]\nkind", "redefine");
  expect_error(std::string(kMaxPipelineBytes + 1, '#'), "too_large", "#", "bytes");
  EXPECT_FALSE(read_training("").training.has_value());
  EXPECT_FALSE(read_training("\xff").training.has_value());
}

// --- Any text --------------------------------------------------------------------------------------------------------

void expect_well_formed(const std::string& text) {
  const TrainingText read = read_training(text);
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const Finding& finding : read.findings) {
    RC_ASSERT(!finding.code.empty());
    RC_ASSERT(!finding.message.empty());
    RC_ASSERT(!finding.remedy.empty());
    RC_ASSERT(finding.message.find('\n') == std::string::npos);
    RC_ASSERT(finding.remedy.find('\n') == std::string::npos);
    RC_ASSERT(finding.place.line >= 1U);
    RC_ASSERT(finding.place.line <= lines);
    RC_ASSERT(finding.place.column >= 1U);
  }
  RC_ASSERT(read.training.has_value() != has_errors(read.findings));
  if (!read.training) return;
  const Training& training = *read.training;
  RC_ASSERT(!training.model.layers.empty());
  RC_ASSERT(!training.privacy.private_training || training.descent.clip.has_value());
  RC_ASSERT(training.privacy.private_training ==
            (training.privacy.target_epsilon.has_value() != training.privacy.noise_multiplier.has_value()));
  RC_ASSERT(training.descent.steps.has_value() != (training.descent.epochs > 0));
  if (const auto* table = std::get_if<CsvTable>(&training.data.format)) {
    RC_ASSERT(check_schema(table->schema).has_value());
  }
}

RC_GTEST_PROP(TrainingProperty, RefusesGarbage, (const std::string& text)) {
  expect_well_formed(text);
  RC_ASSERT(!read_training(text).training.has_value());
}

RC_GTEST_PROP(TrainingProperty, SurvivesLinesGoneOrTwiceOrChanged, ()) {
  std::string text =
      kTop + *rc::gen::element(kImages, kTable, kSparse) + *rc::gen::element(kCnn, kMlp, kLayers) + kTraining;
  for (int edits = *rc::gen::inRange(0, 4); edits > 0; --edits) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
    const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        if (end > begin) text.erase(begin, end - begin);
        break;
      case 1:
        text.insert(begin, *rc::gen::element<std::string>("lower = 3\n", "values = [\"a\"]\n", "kernel = 3\n",
                                                          "clipping = \"per-layer\"\n", "noise = \"none\"\n",
                                                          "format = \"csv\"\n", "[[model.layer]]\n", "steps = 3\n"));
        break;
      case 2:
        text[at] = *rc::gen::arbitrary<char>();
        break;
      default:
        text.insert(at, *rc::gen::element<std::string>("0", "-", "9", "e3", ".", "=", "nan", "\"", "#", "[", "]"));
    }
    RC_PRE(!text.empty());
  }
  expect_well_formed(text);
}

TEST(TrainingData, MayBeDeclaredPublic) {
  const std::string file = kTop + kTable + kMlp + kTraining;
  EXPECT_FALSE(description_of(good(file)).is_public());
  EXPECT_FALSE(description_of(good(replaced(file, "[data]\n", "[data]\npublic = false\n"))).is_public());
  const Training training = good(replaced(file, "[data]\n", "[data]\npublic = true\n"));
  EXPECT_TRUE(description_of(training).is_public());
  EXPECT_EQ(description_of(training).name, training.privacy.budget);
  expect_error(replaced(file, "[data]\n", "[data]\npublic = \"yes\"\n"), "wrong_type", "public", "public");
}

}  // namespace
}  // namespace noisefloor
