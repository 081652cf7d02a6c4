#include "noisefloor/train/tape_source.h"

#include <torch/torch.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/train/factors.h"
#include "noisefloor/train/validator.h"

namespace noisefloor {
namespace {

torch::Tensor usual_losses(const torch::Tensor& outputs, const torch::Tensor& labels) {
  if (labels.scalar_type() == torch::kInt64) {
    return torch::nn::functional::cross_entropy(
        outputs, labels, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
  }
  return 0.5 * (outputs.flatten() - labels).pow(2);
}

}  // namespace

TapeSource::TapeSource(const torch::nn::Module& module, Forward forward, const Dataset& data, Options options)
    : tape_(module), forward_(std::move(forward)), data_(&data), options_(std::move(options)) {
  for (const TapeParameter& parameter : tape_.parameters()) {
    parameters_ += static_cast<std::size_t>(parameter.tensor.numel());
  }
  if (!options_.losses) options_.losses = usual_losses;
}

Result<std::unique_ptr<TapeSource>> TapeSource::create(torch::nn::Module& module, Forward forward, const Dataset& data,
                                                       Options options) {
  if (options.micro_batch == 0) return invalid_argument("a micro-batch has at least 1 example; 0 were given");
  NF_TRY_VOID(validate(module));
  std::unique_ptr<TapeSource> source(new TapeSource(module, std::move(forward), data, std::move(options)));  // NOLINT
  if (source->parameters_ == 0) return invalid_argument("the module has no trainable parameters");
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

Result<std::size_t> TapeSource::add(std::span<const float> at, std::span<const std::uint64_t> rows,
                                    const ClipRule* rule, BitStream& stream, std::span<float> sum) {
  NF_CHECK(sum.size() == parameters_, "one number for each parameter");
  set_weights(at);
  torch::manual_seed(stream.next_u64());  // of dropout
  std::size_t within = 0;
  try {
    for (std::size_t first = 0; first < rows.size(); first += options_.micro_batch) {
      const std::size_t count = std::min(options_.micro_batch, rows.size() - first);
      NF_TRY(const std::size_t more, add_micro_batch(rows.subspan(first, count), rule, sum));
      within += more;
    }
  } catch (const std::exception&) {
    // What torch says might quote data: it is not shown.
    return internal_error("the model failed on a batch; try it on one example outside of training");
  }
  return within;
}

Result<std::size_t> TapeSource::add_micro_batch(std::span<const std::uint64_t> rows, const ClipRule* rule,
                                                std::span<float> sum) {
  NF_TRY(const Dataset batch, data_->take(rows));
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(batch.rows)};
  for (const std::size_t size : batch.shape) shape.push_back(static_cast<std::int64_t>(size));
  const auto tensor = [](const auto& values, at::IntArrayRef sizes, torch::ScalarType type) {
    return torch::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), sizes, type).clone();  // NOLINT
  };
  const torch::Tensor features = tensor(batch.features, shape, torch::kFloat32).to(options_.device);
  const torch::Tensor labels = (batch.classes > 0 ? tensor(batch.labels, {shape[0]}, torch::kInt32).to(torch::kInt64)
                                                  : tensor(batch.targets, {shape[0]}, torch::kFloat32))
                                   .to(options_.device);
  for (const TapeParameter& parameter : tape_.parameters()) parameter.tensor.mutable_grad() = torch::Tensor();
  tape_.clear();
  {
    const Tape::Recording recording(tape_);
    options_.losses(forward_(features), labels).sum().backward();
  }
  TapeFactors factors{torch::ones({1, shape[0]}, torch::kFloat64), 0};
  if (rule != nullptr) {
    NF_TRY(const torch::Tensor norms, tape_.squared_norms());
    factors = factors_of(*rule, norms);
  }
  NF_TRY(const std::vector<torch::Tensor> gradients, tape_.weighted_gradients(factors.factors));
  tape_.clear();
  float* next = sum.data();
  for (const torch::Tensor& gradient : gradients) {
    const torch::Tensor flat = gradient.to(torch::kCPU, torch::kFloat32).contiguous();
    const float* values = flat.data_ptr<float>();
    for (std::int64_t i = 0; i < flat.numel(); ++i) *next++ += values[i];
  }
  return factors.within;
}

}  // namespace noisefloor
