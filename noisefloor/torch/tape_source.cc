#include "noisefloor/torch/tape_source.h"

#include <fmt/core.h>
#include <torch/torch.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/torch/factors.h"
#include "noisefloor/torch/tensor_memory.h"
#include "noisefloor/torch/validator.h"

namespace noisefloor {
namespace {

// More at once need more memory and are hardly faster.
constexpr std::int64_t kMostRows = 64;

torch::Tensor usual_losses(const torch::Tensor& outputs, const torch::Tensor& labels) {
  if (labels.scalar_type() == torch::kInt64) {
    return torch::nn::functional::cross_entropy(
        outputs, labels, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  }
  return 0.5 * (outputs.flatten() - labels).pow(2);
}

}  // namespace

TapeSource::TapeSource(const torch::nn::Module& module, Forward forward, const Dataset& data, Options options,
                       std::optional<People> people)
    : tape_(module, {.buffer_bytes = std::min(NormOptions{}.buffer_bytes, options.memory_limit / 4)}),
      forward_(std::move(forward)),
      data_(&data),
      options_(std::move(options)),
      people_(std::move(people)) {
  parameter_groups_.groups = tape_.groups().size();
  for (const TapeParameter& parameter : tape_.parameters()) {
    const auto count = static_cast<std::size_t>(parameter.tensor.numel());
    parameter_groups_.stretches.push_back({parameters_, count, parameter.group});
    parameters_ += count;
  }
  if (!options_.losses) options_.losses = usual_losses;
}

Result<std::unique_ptr<TapeSource>> TapeSource::create(torch::nn::Module& module, Forward forward, const Dataset& data,
                                                       Options options) {
  if (options.memory_limit <= 0) {
    return invalid_argument(fmt::format("the limit of memory must be above 0; got {}", options.memory_limit));
  }
  if (options.augmentation.copies == 0) return invalid_argument("an example has at least 1 copy; 0 were given");
  if (!options.augmentation.is_none() && data.shape.size() != 3) {
    return invalid_argument("copies are made of images, and the data are plain vectors");
  }
  NF_TRY_VOID(validate(module));
  NF_TRY(std::optional<People> people, People::of(data));
  std::unique_ptr<TapeSource> source(  // NOLINT: private constructor
      new TapeSource(module, std::move(forward), data, std::move(options), std::move(people)));
  if (source->parameters_ == 0) return invalid_argument("the module has no trainable parameters");
  torch::Tensor features = source->zeros(3).features;
  NF_TRY_VOID(expect_rows_apart(
      module, source->forward_,
      features + torch::arange(features.numel()).sin().to(source->options_.device).view_as(features)));
  return source;
}

std::vector<float> TapeSource::weights() const {
  std::vector<float> all;
  for (const TapeParameter& parameter : tape_.parameters()) {
    const torch::Tensor flat = parameter.tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
    all.insert(all.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return all;
}

void TapeSource::set_weights(std::span<const float> weights) {
  NF_CHECK(weights.size() == parameters_, "one number for each parameter");
  const torch::NoGradGuard guard;
  const float* next = weights.data();
  for (const TapeParameter& parameter : tape_.parameters()) {
    torch::Tensor tensor = parameter.tensor;
    tensor.copy_(torch::from_blob(const_cast<float*>(next), tensor.sizes(), torch::kFloat32));  // NOLINT: read only
    next += tensor.numel();
  }
}

Result<std::size_t> TapeSource::add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                    const ClipRule* rule, BitStream& stream, std::span<float> sum) {
  NF_CHECK(sum.size() == parameters_, "one number for each parameter");
  set_weights(at);
  try {
    const std::size_t most = examples.empty() ? 1 : micro_batch(rule);
    torch::manual_seed(stream.next_u64());  // of dropout
    if (!people_) return add_rows(data_->without_nulls(examples), 1, most, rule, stream, sum);
    const PeoplesRows taken = people_->take(examples, stream);
    NF_TRY(const std::size_t within, add_rows(taken.single, 1, most, rule, stream, sum));
    NF_TRY(const std::size_t more, add_people(taken, most, rule, stream, sum));
    return within + more;
  } catch (const std::exception&) {
    // What torch says might quote data: it is not shown.
    return internal_error("the model failed on a batch; try it on one example outside of training");
  }
}

Result<std::size_t> TapeSource::add_rows(std::span<const std::uint64_t> rows, std::size_t rows_each, std::size_t most,
                                         const ClipRule* rule, BitStream& stream, std::span<float> sum) {
  const std::size_t at_once = most / rows_each * rows_each;
  std::size_t within = 0;
  for (std::size_t first = 0; first < rows.size(); first += at_once) {
    const std::size_t count = std::min(at_once, rows.size() - first);
    NF_TRY(const std::size_t more, add_micro_batch(rows.subspan(first, count), rows_each, rule, stream, sum));
    within += more;
  }
  return within;
}

Result<std::size_t> TapeSource::add_people(const PeoplesRows& taken, std::size_t most, const ClipRule* rule,
                                           BitStream& stream, std::span<float> sum) {
  std::size_t within = 0;
  std::map<std::size_t, std::vector<std::uint64_t>> alike;  // rows of people, by how many each has
  std::size_t begin = 0;
  for (const std::size_t end : taken.ends) {
    const std::span<const std::uint64_t> rows = std::span(taken.shared).subspan(begin, end - begin);
    begin = end;
    if (rows.size() <= most) {
      std::vector<std::uint64_t>& others = alike[rows.size()];
      others.insert(others.end(), rows.begin(), rows.end());
      continue;
    }
    std::vector<float> total(parameters_);
    NF_TRY_VOID(add_rows(rows, 1, most, nullptr, stream, total));
    if (internal::add_clipped_mean(total, rows.size(), parameter_groups_, rule, sum)) ++within;
  }
  for (const auto& [rows_each, rows] : alike) {
    NF_TRY(const std::size_t more, add_rows(rows, rows_each, most, rule, stream, sum));
    within += more;
  }
  return within;
}

Result<void> TapeSource::rehearse() {
  try {
    NF_TRY(const ClipRule rule, ClipRule::create(AutomaticClip{ClipNorm::of(1.0)}));
    NF_TRY([[maybe_unused]] const Sums sums, sums_of(zeros(1), 1, &rule));
    return success();
  } catch (const std::exception&) {
    return invalid_argument(
        "the model fails on an example of zeros: check the sizes of its layers, and whether the memory suffices");
  }
}

std::size_t TapeSource::micro_batch(const ClipRule* rule) {
  if (options_.micro_batch > 0) return options_.micro_batch;
  if (found_micro_batch_ > 0) return found_micro_batch_;
  // Doubled while that is likely to fit, by what the last ones took each; sums are there for any number of examples.
  std::int64_t examples = 1;
  std::int64_t taken = memory_for(1, rule);
  std::int64_t each = taken - static_cast<std::int64_t>(parameters_ * sizeof(float));
  while (2 * examples * copies() <= kMostRows && taken + examples * each <= options_.memory_limit) {
    const std::int64_t doubled = memory_for(2 * examples, rule);
    if (doubled > options_.memory_limit) break;
    each = (doubled - taken) / examples;
    taken = doubled;
    examples *= 2;
  }
  found_micro_batch_ = static_cast<std::size_t>(examples);
  return found_micro_batch_;
}

std::int64_t TapeSource::memory_for(std::int64_t examples, const ClipRule* rule) {
  forget();
  const TensorMemory memory;
  (void)sums_of(zeros(examples), 1, rule);
  return memory.peak();
}

TapeSource::Examples TapeSource::zeros(std::int64_t examples) const {
  std::vector<std::int64_t> shape{examples * copies()};
  shape.insert(shape.end(), data_->shape.begin(), data_->shape.end());
  const torch::Tensor labels =
      torch::zeros({examples * copies()}, data_->classes > 0 ? torch::kInt64 : torch::kFloat32);
  return {torch::zeros(shape, torch::kFloat32).to(options_.device), labels.to(options_.device)};
}

Result<TapeSource::Examples> TapeSource::take(std::span<const std::uint64_t> rows, BitStream& stream) const {
  NF_TRY(Dataset batch, data_->take(rows));
  const auto count = static_cast<std::int64_t>(batch.rows);
  std::vector<std::int64_t> shape{count * copies()};
  for (const std::size_t size : batch.shape) shape.push_back(static_cast<std::int64_t>(size));
  if (!options_.augmentation.is_none()) batch.features = copies_of(batch, stream);
  const auto tensor = [](const auto& values, at::IntArrayRef sizes, torch::ScalarType type) {
    return torch::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), sizes, type).clone();  // NOLINT
  };
  const torch::Tensor labels = batch.classes > 0 ? tensor(batch.labels, {count}, torch::kInt32).to(torch::kInt64)
                                                 : tensor(batch.targets, {count}, torch::kFloat32);
  return Examples{tensor(batch.features, shape, torch::kFloat32).to(options_.device),
                  labels.repeat_interleave(copies()).to(options_.device)};
}

std::vector<float> TapeSource::copies_of(const Dataset& batch, BitStream& stream) const {
  const lanes::Shape shape{batch.shape[0], batch.shape[1], batch.shape[2]};
  const std::size_t width = batch.width();
  std::vector<float> made(batch.rows * options_.augmentation.copies * width);
  const std::span<const float> all(batch.features);
  for (std::size_t i = 0; i < made.size() / width; ++i) {
    augment(all.subspan(i / options_.augmentation.copies * width, width), shape, options_.augmentation,
            stream.next_u32(), std::span(made).subspan(i * width, width));
  }
  return made;
}

void TapeSource::forget() {
  for (const TapeParameter& parameter : tape_.parameters()) {
    torch::Tensor tensor = parameter.tensor;
    tensor.mutable_grad() = torch::Tensor();
  }
  tape_.clear();
}

Result<TapeSource::Sums> TapeSource::sums_of(const Examples& examples, std::int64_t rows_each, const ClipRule* rule) {
  const std::int64_t together = rows_each * copies();
  forget();
  {
    const Tape::Recording recording(tape_, together);
    torch::Tensor loss = options_.losses(forward_(examples.features), examples.labels).sum();
    if (together > 1) loss = loss / together;
    loss.backward();
  }
  TapeFactors factors{torch::ones({1, examples.features.size(0) / together}, torch::kFloat64).to(options_.device), 0};
  if (rule != nullptr) {
    NF_TRY(const torch::Tensor norms, tape_.squared_norms());
    factors = factors_of(*rule, norms);
  }
  NF_TRY(std::vector<torch::Tensor> gradients, tape_.weighted_gradients(factors.factors));
  tape_.clear();
  return Sums{std::move(gradients), factors.within};
}

Result<std::size_t> TapeSource::add_micro_batch(std::span<const std::uint64_t> rows, std::size_t rows_each,
                                                const ClipRule* rule, BitStream& stream, std::span<float> sum) {
  NF_TRY(const Examples examples, take(rows, stream));
  NF_TRY(const Sums sums, sums_of(examples, static_cast<std::int64_t>(rows_each), rule));
  float* next = sum.data();
  for (const torch::Tensor& gradient : sums.gradients) {
    const torch::Tensor flat = gradient.to(torch::kCPU, torch::kFloat32).contiguous();
    const float* values = flat.data_ptr<float>();
    for (std::int64_t i = 0; i < flat.numel(); ++i) *next++ += values[i];
  }
  return sums.within;
}

}  // namespace noisefloor
