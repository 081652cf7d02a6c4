#include "noisefloor/config/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/config/pipeline_check_run.h"
#include "noisefloor/config/training_sections.h"

namespace noisefloor {
namespace {

using internal::BudgetKeys;
using internal::BudgetOf;
using internal::DataSection;
using internal::kAboveZero;
using internal::kBelowOne;
using internal::kBetweenZeroAndOne;
using internal::kNotNegative;
using internal::ModelKind;
using internal::ModelSection;
using internal::Names;
using internal::names_of;
using internal::SectionReader;
using internal::selector;

enum class NoiseKind : std::uint8_t { kGaussian, kDiscrete, kNone };
enum class Clipping : std::uint8_t { kFlat, kPerLayer, kAutomatic, kAdaptive };

constexpr Names<bool, 2> kDevices{{{"cpu", false}, {"cuda", true}}};
constexpr std::size_t kMaxCopies = 64;
constexpr std::size_t kMaxMemory = std::size_t{1} << 24;  // 16 TB, in MB
constexpr std::size_t kMaxShift = 64;

constexpr Names<NoiseKind, 3> kNoiseKinds{
    {{"gaussian", NoiseKind::kGaussian}, {"discrete", NoiseKind::kDiscrete}, {"none", NoiseKind::kNone}}};
constexpr Names<Clipping, 4> kClippings{{{"flat", Clipping::kFlat},
                                         {"per-layer", Clipping::kPerLayer},
                                         {"automatic", Clipping::kAutomatic},
                                         {"adaptive", Clipping::kAdaptive}}};
constexpr auto kOptimizers = names_of<OptimizerKind>(OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                                     OptimizerKind::kAdagrad, OptimizerKind::kRmsProp);
constexpr auto kSchedules =
    names_of<RateDecay>(RateDecay::kConstant, RateDecay::kCosine, RateDecay::kInverse, RateDecay::kInverseRoot);

// --- [training] ------------------------------------------------------------------------------------------------------

class DescentReader {
 public:
  DescentReader(const toml::table& table, const BudgetKeys& budget, Findings& findings)
      : reader_(table, "[training]", findings), budget_(budget) {}

  void read() {
    read_noise();
    read_batches();
    read_clipping();
    read_optimizer();
    read_learning_rate();
    reader_.number("averaging", averaging_, kBelowOne);
    reader_.size("memory_limit", 1, kMaxMemory, memory_limit_);
    reader_.choice("device", kDevices, cuda_);
    read_augmentation();
    reader_.elsewhere("epsilon", "noise is calibrated to target_epsilon: did you mean that?");
    reader_.elsewhere("delta", "delta belongs in [budget]; the part of it that this training takes is target_delta");
    reader_.finish();
  }

  // Checks that the keys fit the model.
  void expect_fit(const ModelSection& model) {
    if (model.kind.value == ModelKind::kRidge && !weight_decay_.stated()) {
      reader_.missing("key_missing", "weight_decay",
                      R"(add weight_decay = …, which makes a linear model kind = "ridge")");
    }
    const bool augmented =
        copies_.value.value_or(1) > 1 || shift_.value.value_or(0) > 0 || mirror_.value.value_or(false);
    if (augmented && model.good && !model.images) {
      const Place place = copies_.stated() ? copies_.place : shift_.stated() ? shift_.place : mirror_.place;
      reader_.error("model_does_not_fit", place,
                    "copies, shift and mirror change images, and the model does not read images",
                    "leave them out, or choose a model of images");
    }
    if (model.good && !model.model.torch) {
      if (memory_limit_.stated()) {
        reader_.error("key_not_used", memory_limit_.place, "memory_limit is for models that need libtorch",
                      "leave it out: other models take a few MB, whatever the batch size");
      }
      if (cuda_.stated()) {
        reader_.error("key_not_used", cuda_.place, "device is for models that need libtorch",
                      "leave it out: other models run on the cores of the processor");
      }
    }
    // Which layers of a network for torch have parameters is only known after it is built.
    if (!model.good || !clip_norms_.has() || model.model.torch) return;
    const auto layers = static_cast<std::size_t>(
        std::count_if(model.model.layers.begin(), model.model.layers.end(), [](const lanes::Layer& layer) {
          const auto* normalize = std::get_if<lanes::Normalize>(&layer);
          return std::holds_alternative<lanes::Linear>(layer) || std::holds_alternative<lanes::Conv2d>(layer) ||
                 (normalize != nullptr && normalize->affine);
        }));
    std::vector<ClipNorm> norms = *clip_norms_;
    if (norms.size() == 1) norms.resize(layers, norms.front());
    if (norms.size() != layers) {
      reader_.error(
          "clip_norms_do_not_fit", clip_norms_.place,
          fmt::format("clip_norm lists {} norms, and the model has {} layers with parameters", norms.size(), layers),
          "list one norm for each of these layers, or give one number for all");
    } else if (const auto rule = ClipRule::create(GroupClip{norms}); layers > 0 && !rule.has_value()) {
      reader_.error("out_of_range", clip_norms_.place, rule.error().message, "give smaller norms");
    }
  }

  // Checks that the number of rows is stated once.
  void expect_one_count(const TrainingData& data) {
    if (!rows_by_rate_) return;
    const bool person = data.people.has_value();
    if (person || data.rows) {
      reader_.error(
          "conflicting_keys", sample_rate_place_,
          fmt::format("sample_rate stands for {} {} to learn from, and the data state {} = {}", rows_by_rate_->value(),
                      person ? "people" : "rows", person ? "people" : "rows", person ? *data.people : *data.rows),
          "keep one of them: each follows from the other and batch_size");
    }
    if (sampler_.value == SamplerKind::kFixedSize) {
      reader_.error("conflicting_keys", sample_rate_place_, "sample_rate is for sampler = \"poisson\"",
                    "remove it: batches of a fixed size follow from the number of rows");
    }
  }

  // Checks that canaries can take part. What they need is said at the section that asks for them.
  void expect_auditable(SectionReader audit) const {
    const auto refuse = [&](const char* what, const char* remedy) {
      audit.error("audit_does_not_fit", audit.place(), what, remedy);
    };
    if (!is_private())
      refuse("an audit compares a training with its epsilon, and this one has no noise", "remove [audit]");
    if (noise_.value == NoiseKind::kDiscrete) {
      refuse("canaries do not take part in a training with discrete noise",
             "take noise = \"gaussian\", or remove [audit]");
    }
    if (clipping() == Clipping::kAdaptive) {
      refuse("canaries would move a clip norm that adapts to the gradients",
             "take another clipping, or remove [audit]");
    }
    if (sampler_.value == SamplerKind::kFixedSize) {
      refuse("canaries join batches by coins of their own, and batches of a fixed size have no room for them",
             "take sampler = \"poisson\", or remove [audit]");
    }
  }

  // The norms that a plan tries by default: half of clip_norm, clip_norm, and twice clip_norm.
  [[nodiscard]] std::vector<ClipNorm> usual_clip_norms() const {
    std::vector<ClipNorm> norms;
    for (const double factor : {0.5, 1.0, 2.0}) {
      const auto norm = ClipNorm::make(factor * (clip_norm_.has() ? clip_norm_.value->value() : 1.0));
      if (norm.has_value()) norms.push_back(norm.value());
    }
    return norms;
  }

  // privacy() and descent() require that there is no error.
  [[nodiscard]] TrainingPrivacy privacy(const std::string& name, PrivacyUnit unit) const {
    TrainingPrivacy privacy{.budget = budget_.name.value.value_or(name),
                            .epsilon = *budget_.epsilon,
                            .delta = *budget_.delta,
                            .adjacency = *budget_.neighbours(),
                            .unit = unit,
                            .target_epsilon = target_epsilon_.value,
                            .target_delta = target_delta_.value.value_or(*budget_.delta),
                            .noise_multiplier = noise_multiplier_.value,
                            .private_training = is_private()};
    if (is_private() && !privacy.noise_multiplier && !privacy.target_epsilon) privacy.target_epsilon = privacy.epsilon;
    return privacy;
  }

  [[nodiscard]] TrainingDescent descent() const {
    return {.sampler = sampler_.value.value_or(SamplerKind::kPoisson),
            .batch_size = *batch_size_,
            .batch_line = batch_size_.place.line,
            .rows_by_rate = rows_by_rate_,
            .steps = steps_.value,
            .epochs = epochs_.value.value_or(0),
            .clip = clip(),
            .adaptive = clipping() == Clipping::kAdaptive ? std::optional(adaptive_) : std::nullopt,
            .discrete_noise = noise_.value == NoiseKind::kDiscrete,
            .optimizer = optimizer_,
            .learning_rate = learning_rate_,
            .averaging = averaging_.value.value_or(0),
            .augmentation = {copies_.value.value_or(1), shift_.value.value_or(0), mirror_.value.value_or(false)},
            .cuda = cuda_.value.value_or(false),
            .memory_limit_mb = memory_limit_.value.value_or(kUsualMemoryMb)};
  }

 private:
  // A kind of noise that could not be read counts as not private, so that it leads to no further findings.
  [[nodiscard]] bool is_private() const {
    return !noise_.stated() || noise_.value == NoiseKind::kGaussian || noise_.value == NoiseKind::kDiscrete;
  }
  [[nodiscard]] std::optional<Clipping> clipping() const {
    return clipping_.stated() ? clipping_.value : Clipping::kFlat;
  }

  void read_noise() {
    reader_.quantity("target_epsilon", target_epsilon_);
    reader_.quantity("target_delta", target_delta_);
    reader_.quantity("noise_multiplier", noise_multiplier_);
    reader_.choice("noise", kNoiseKinds, noise_);
    reader_.exclude("target_epsilon", target_epsilon_, "noise_multiplier", noise_multiplier_,
                    "keep one of them: each follows from the other");
    if (noise_.value == NoiseKind::kNone) {
      const char* no_noise =
          "noise = \"none\" is for a comparison without privacy: remove it, or the key that it contradicts";
      reader_.exclude("noise", noise_, "target_epsilon", target_epsilon_, no_noise);
      reader_.exclude("noise", noise_, "noise_multiplier", noise_multiplier_, no_noise);
    }
    if (target_epsilon_.has() && budget_.epsilon.has() && *target_epsilon_ > *budget_.epsilon) {
      reader_.error("target_above_total", target_epsilon_.place,
                    fmt::format("target_epsilon = {:g} is above the total of {:g}", target_epsilon_.value->value(),
                                budget_.epsilon.value->value()),
                    fmt::format("at most {:g} fits; or raise epsilon in [budget]", budget_.epsilon.value->value()));
    }
    if (target_delta_.has() && budget_.delta.has() && *target_delta_ > *budget_.delta) {
      reader_.error("target_above_total", target_delta_.place,
                    fmt::format("target_delta = {:g} is above the total of {:g}", target_delta_.value->value(),
                                budget_.delta.value->value()),
                    fmt::format("at most {:g} fits; or raise delta in [budget]", budget_.delta.value->value()));
    }
    if (target_delta_.has() && target_delta_.value->value() == 0 && is_private()) {
      reader_.error("gaussian_needs_delta", target_delta_.place,
                    "target_delta is 0, and training adds Gaussian noise: no epsilon is large enough",
                    "leave it out, or give a part of the total that is above 0");
    }
    if (is_private() && budget_.delta.has() && budget_.delta.value->value() == 0) {
      reader_.error("gaussian_needs_delta", budget_.delta.place,
                    "the total delta is 0, and training adds Gaussian noise: no epsilon is large enough",
                    "set delta in [budget] to well below 1/rows");
    }
  }

  void read_batches() {
    reader_.quantity("batch_size", batch_size_);
    reader_.require("batch_size", batch_size_, "add batch_size = …, the (expected) number of examples in a step");
    read_sample_rate();
    reader_.quantity("steps", steps_);
    reader_.number("epochs", epochs_, kAboveZero);
    reader_.exclude("epochs", epochs_, "steps", steps_, "keep one of them: each follows from the other");
    if (!epochs_.stated() && !steps_.stated()) {
      reader_.missing("schedule_missing", "epochs and no steps", "add epochs = … or steps = …, how long it trains");
    }
    reader_.choice("sampler", internal::kSamplers, sampler_);
    if (sampler_.value == SamplerKind::kShuffle) {
      reader_.error(
          "shuffle_not_poisson", sampler_.place,
          "batches of a shuffled list are not offered: no valid bound is known for them, and their epsilon can "
          "be far higher than that of Poisson samples",
          R"(sampler = "poisson"; or "fixed-size" with adjacency = "replace-one" in [budget])");
    }
    if (sampler_.value == SamplerKind::kFixedSize && budget_.neighbours() == Adjacency::kAddRemove) {
      reader_.error("fixed_size_add_remove", sampler_.place, internal::kFixedSizeAddRemove, internal::kNotFixedSize);
    }
  }

  // The rate stands for a number of rows, which is as public as the rate.
  void read_sample_rate() {
    Located<double> rate;
    reader_.number("sample_rate", rate, kAboveZero);
    if (!rate.has()) return;
    if (*rate > 1) {
      reader_.error("out_of_range", rate.place, fmt::format("sample_rate is {:g}, and is a probability", *rate),
                    "give a number above 0 and at most 1");
      return;
    }
    if (!batch_size_.has()) return;
    const double batch = static_cast<double>(batch_size_.value->value());
    const double nearest = std::round(batch / *rate);
    // Rounded so that the true rate is at most what is stated.
    const double rows = std::fabs(nearest * *rate - batch) <= 1e-9 * batch ? nearest : std::ceil(batch / *rate);
    if (rows <= 0x1p53) {
      const auto made = Rows::make(static_cast<std::uint64_t>(rows));
      if (made.has_value()) rows_by_rate_ = made.value();
    }
    if (!rows_by_rate_) {
      reader_.error("out_of_range", rate.place, fmt::format("sample_rate = {:g} is too small", *rate),
                    "give a larger rate, or a smaller batch_size");
    }
    sample_rate_place_ = rate.place;
  }

  void read_clipping() {
    reader_.choice("clipping", kClippings, clipping_);
    const auto rule = selector("clipping", kClippings, clipping_, std::optional(Clipping::kFlat));
    if (!rule.value) {
      reader_.skip("clip_norm");
    } else if (*rule.value == Clipping::kPerLayer) {
      reader_.quantities("clip_norm", clip_norms_);
    } else if (reader_.holds_list("clip_norm")) {
      reader_.unused("clip_norm", "clipping = \"per-layer\" as a list");
    } else {
      reader_.quantity("clip_norm", clip_norm_);
    }
    if (!reader_.holds("clip_norm") && (is_private() || clipping_.stated())) {
      reader_.missing("clip_missing", "clip_norm: without one a single example can move the model by any amount",
                      "add clip_norm = 1.0, the largest L2 norm of what one example adds");
    }
    if (rule.value == Clipping::kAdaptive && noise_.value == NoiseKind::kDiscrete) {
      reader_.error("conflicting_keys", noise_.place,
                    "discrete noise has the grid of one fixed clip norm, and adaptive clipping changes the norm",
                    R"(clipping = "flat", "per-layer" or "automatic"; or noise = "gaussian")");
    }
    if (reader_.takes("gamma", rule, {Clipping::kAutomatic})) reader_.number("gamma", gamma_, kAboveZero);
    Located<double> quantile;
    Located<double> rate;
    Located<double> share;
    if (reader_.takes("quantile", rule, {Clipping::kAdaptive}))
      reader_.number("quantile", quantile, kBetweenZeroAndOne);
    if (reader_.takes("rate", rule, {Clipping::kAdaptive})) reader_.number("rate", rate, kAboveZero);
    if (reader_.takes("count_noise_share", rule, {Clipping::kAdaptive})) {
      reader_.number("count_noise_share", share, kAboveZero);
    }
    adaptive_.quantile = quantile.value.value_or(adaptive_.quantile);
    adaptive_.rate = rate.value.value_or(adaptive_.rate);
    adaptive_.count_noise_share = share.value.value_or(adaptive_.count_noise_share);
    if (rule.value != Clipping::kAdaptive || !noise_multiplier_.has() || !batch_size_.has()) return;
    const double noise = adaptive_.count_noise_share * static_cast<double>(batch_size_.value->value());
    if (2 * noise <= noise_multiplier_.value->value()) {
      reader_.error(
          "out_of_range", share.stated() ? share.place : clipping_.place,
          fmt::format("count_noise_share times batch_size is {:.6g}, and must be above half of noise_multiplier, "
                      "{:.6g}",
                      noise, noise_multiplier_.value->value() / 2),
          "give a larger count_noise_share or a larger batch_size");
    }
  }

  void read_optimizer() {
    Located<OptimizerKind> kind;
    reader_.choice("optimizer", kOptimizers, kind);
    optimizer_.kind = kind.value.value_or(OptimizerKind::kSgd);
    const auto chosen = selector("optimizer", kOptimizers, kind, std::optional(OptimizerKind::kSgd));
    const auto option = [&](std::string_view key, std::initializer_list<OptimizerKind> uses, double& value) {
      Located<double> field;
      if (reader_.takes(key, chosen, uses)) reader_.number(key, field, kBelowOne);
      value = field.value.value_or(value);
    };
    option("momentum", {OptimizerKind::kSgd}, optimizer_.momentum);
    option("beta1", {OptimizerKind::kAdam, OptimizerKind::kAdamW}, optimizer_.beta1);
    option("beta2", {OptimizerKind::kAdam, OptimizerKind::kAdamW}, optimizer_.beta2);
    option("alpha", {OptimizerKind::kRmsProp}, optimizer_.alpha);
    reader_.number("weight_decay", weight_decay_, kNotNegative);
    optimizer_.weight_decay = weight_decay_.value.value_or(0);
  }

  void read_learning_rate() {
    Located<double> initial;
    Located<RateDecay> schedule;
    Located<double> decay;
    Located<std::uint64_t> warm_up;
    reader_.number("learning_rate", initial, kAboveZero);
    reader_.require("learning_rate", initial, "add learning_rate = …, the length of the first steps");
    reader_.choice("schedule", kSchedules, schedule);
    const auto chosen = selector("schedule", kSchedules, schedule, std::optional(RateDecay::kConstant));
    if (reader_.takes("decay", chosen, {RateDecay::kInverse, RateDecay::kInverseRoot})) {
      reader_.number("decay", decay, kAboveZero);
      if (chosen.value) reader_.require("decay", decay, "add decay = …, how fast the rate falls");
    }
    reader_.count("warm_up", warm_up);
    learning_rate_.initial = initial.value.value_or(learning_rate_.initial);
    learning_rate_.decay = schedule.value.value_or(RateDecay::kConstant);
    learning_rate_.beta = decay.value.value_or(0);
    learning_rate_.warm_up = warm_up.value.value_or(0);
  }

  void read_augmentation() {
    reader_.size("copies", 1, kMaxCopies, copies_);
    reader_.size("shift", 0, kMaxShift, shift_);
    reader_.flag("mirror", mirror_);
  }

  [[nodiscard]] std::optional<ClipRule::Kind> clip() const {
    if (clip_norms_.has()) return GroupClip{*clip_norms_};
    if (!clip_norm_.has()) return std::nullopt;
    if (clipping() == Clipping::kAutomatic) {
      return AutomaticClip{*clip_norm_, gamma_.value.value_or(AutomaticClip{*clip_norm_}.gamma)};
    }
    return FlatClip{*clip_norm_};
  }

  SectionReader reader_;
  const BudgetKeys& budget_;
  Located<Epsilon> target_epsilon_;
  Located<Delta> target_delta_;
  Located<NoiseMultiplier> noise_multiplier_;
  Located<NoiseKind> noise_;
  Located<Rows> batch_size_;
  std::optional<Rows> rows_by_rate_;
  Place sample_rate_place_ = {};
  Located<Steps> steps_;
  Located<double> epochs_;
  Located<SamplerKind> sampler_;
  Located<Clipping> clipping_;
  Located<ClipNorm> clip_norm_;
  Located<std::vector<ClipNorm>> clip_norms_;  // per layer
  Located<double> gamma_;
  AdaptiveClip adaptive_;
  Located<double> weight_decay_;
  Optimizer::Options optimizer_;
  LearningRate::Options learning_rate_;
  Located<double> averaging_;
  Located<std::size_t> copies_;
  Located<std::size_t> shift_;
  Located<bool> mirror_;
  Located<std::size_t> memory_limit_;
  Located<bool> cuda_;
};

std::optional<Training> read_document(const toml::table& document, const ReadNamedFile& named, Findings& findings) {
  SectionReader reader(document, "the training file", findings);
  const Located<std::string> name = internal::read_name(reader, "what people call the model");
  const bool names_dataset = static_cast<bool>(document["data"]["dataset"]);
  const toml::table* budget_table = names_dataset ? reader.section("budget") : reader.required_section("budget");
  const toml::table* data_table = reader.required_section("data");
  const toml::table* model_table = reader.required_section("model");
  const toml::table* training_table = reader.required_section("training");
  const toml::table* plan_table = reader.section("plan");
  const toml::table* audit_table = reader.section("audit");
  reader.finish();

  DataSection data;
  if (data_table != nullptr) data = internal::read_data_section(*data_table, named, findings);
  BudgetKeys budget;
  if (data.data.dataset && !data.data.dataset->is_public()) {
    budget = internal::budget_of(data);
    reader.elsewhere("budget", "the dataset that [data] names has the budget of all of its uses: remove [budget] here");
  } else if (budget_table != nullptr) {
    budget = internal::read_budget_section(*budget_table, BudgetOf::kTraining, findings);
  } else if (data.data.dataset) {
    reader.missing("section_missing", "[budget]", "add [budget]: the dataset is public and has none");
  }
  ModelSection model;
  if (model_table != nullptr) model = internal::read_model_section(*model_table, data, findings);
  if (training_table == nullptr) return std::nullopt;
  DescentReader descent(*training_table, budget, findings);
  descent.read();
  descent.expect_fit(model);
  descent.expect_one_count(data.data);
  std::optional<TrainingGoal> goal;
  if (plan_table != nullptr) goal = internal::read_plan_section(*plan_table, data.kind, findings);
  std::optional<TrainingAudit> audit;
  if (audit_table != nullptr) {
    audit = internal::read_audit_section(*audit_table, findings);
    descent.expect_auditable(SectionReader(*audit_table, "[audit]", findings));
  }
  if (has_errors(findings.list())) return std::nullopt;
  if (goal && goal->clip_norms.empty()) goal->clip_norms = descent.usual_clip_norms();
  const PrivacyUnit unit = data.unit;
  return Training{.name = *name,
                  .data = std::move(data.data),
                  .model = std::move(model.model),
                  .privacy = descent.privacy(*name, unit),
                  .descent = descent.descent(),
                  .goal = std::move(goal),
                  .audit = audit};
}

}  // namespace

TrainingText read_training(std::string_view text, const ReadNamedFile& named) {
  TrainingText result;
  Findings findings;
  const auto document =
      internal::parse_document(text, "leave out comments, or values that \"other\" can stand for", findings);
  if (document) result.training = read_document(*document, named, findings);
  result.findings = findings.sorted();
  return result;
}

ReadNamedFile files_beside(const std::string& path) {
  return [folder = std::filesystem::path(path).parent_path()](const std::string& name) {
    return read_file((folder / name).string(), kMaxPipelineBytes);
  };
}

DatasetDescription description_of(const Training& training) {
  if (training.data.dataset) return *training.data.dataset;
  const TrainingPrivacy& privacy = training.privacy;
  DatasetUnit unit;
  if (const auto* table = std::get_if<CsvTable>(&training.data.format); table != nullptr && table->schema.person) {
    unit = {PrivacyUnit::kPerson, table->schema.person->name, table->schema.person->rows_each};
  }
  DatasetDescription description{.name = privacy.budget,
                                 .format = training.data.format,
                                 .files = training.data.train,
                                 .unit = std::move(unit),
                                 .rows = training.data.rows,
                                 .people = training.data.people};
  if (!training.data.is_public) {
    description.budget = DatasetBudget{privacy.budget, privacy.epsilon, privacy.delta, privacy.adjacency};
  }
  return description;
}

bool is_training(std::string_view text) {
  Findings ignored;
  const auto document = internal::parse_document(text, "", ignored);
  return document && document->contains("model");
}

}  // namespace noisefloor
