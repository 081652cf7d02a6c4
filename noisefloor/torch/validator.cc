#include "noisefloor/torch/validator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <exception>
#include <optional>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor {
namespace {

template <class... Types>
bool is_one_of(const torch::nn::Module& module) {
  return ((dynamic_cast<const Types*>(&module) != nullptr) || ...);
}

bool is_batch_norm(const torch::nn::Module& module) {
  return is_one_of<torch::nn::BatchNorm1dImpl, torch::nn::BatchNorm2dImpl, torch::nn::BatchNorm3dImpl>(module);
}

template <class Norm>
bool tracks(const torch::nn::Module& module) {
  const auto* norm = dynamic_cast<const Norm*>(&module);
  return norm != nullptr && norm->options.track_running_stats();
}

// torch's layers that have a private one of the same name.
bool has_private_twin(const torch::nn::Module& module) {
  return is_one_of<torch::nn::LinearImpl, torch::nn::Conv1dImpl, torch::nn::Conv2dImpl, torch::nn::EmbeddingImpl,
                   torch::nn::LayerNormImpl, torch::nn::GroupNormImpl, torch::nn::InstanceNorm1dImpl,
                   torch::nn::InstanceNorm2dImpl, torch::nn::LSTMImpl, torch::nn::GRUImpl,
                   torch::nn::MultiheadAttentionImpl>(module);
}

std::vector<std::string> own_trainable(const torch::nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& item : module.named_parameters(false))
    if (item.value().requires_grad()) names.push_back(item.key());
  return names;
}

// "torch::nn::LinearImpl" is known to its users as torch::nn::Linear.
std::string type_of(const torch::nn::Module& module) {
  std::string name = module.name();
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

std::string last_part(const std::string& type) { return type.substr(type.rfind(':') + 1); }

std::optional<Obstacle> obstacle_of(const torch::nn::Module& module, const std::string& path) {
  const std::string type = type_of(module);
  if (is_batch_norm(module))
    return Obstacle{path, type, "mixes the examples of a batch",
                    "use noisefloor::nn::GroupNorm (make_private does, in a Sequential)"};
  if (tracks<torch::nn::InstanceNorm1dImpl>(module) || tracks<torch::nn::InstanceNorm2dImpl>(module) ||
      tracks<torch::nn::InstanceNorm3dImpl>(module))
    return Obstacle{path, type, "keeps running statistics over examples", "set track_running_stats(false)"};
  if (const auto* layer = dynamic_cast<const PrivateLayer*>(&module)) {
    if (const std::optional<std::string> why = layer->objection())
      return Obstacle{path, type, "has an option that breaks privacy", *why};
    return std::nullopt;
  }
  const std::vector<std::string> names = own_trainable(module);
  if (names.empty()) return std::nullopt;
  const std::string reason = fmt::format("trains {} without a gradient for each example", fmt::join(names, ", "));
  if (has_private_twin(module))
    return Obstacle{path, type, reason, fmt::format("use noisefloor::nn::{}, or freeze it", last_part(type))};
  return Obstacle{path, type, reason, "freeze them, or give them to private layers and derive from PrivateLayer"};
}

}  // namespace

std::vector<Obstacle> find_obstacles(const torch::nn::Module& module) {
  std::vector<Obstacle> found;
  const auto look_at = [&](const torch::nn::Module& part, const std::string& path) {
    if (std::optional<Obstacle> obstacle = obstacle_of(part, path)) found.push_back(*std::move(obstacle));
  };
  look_at(module, "");
  for (const auto& item : module.named_modules("", false)) look_at(*item.value(), item.key());
  return found;
}

Result<void> validate(const torch::nn::Module& module) {
  std::string all;
  for (const Obstacle& obstacle : find_obstacles(module)) all += (all.empty() ? "" : "; ") + describe(obstacle);
  if (all.empty()) return success();
  return invalid_argument("this module cannot be trained privately: " + all);
}

Result<void> expect_rows_apart(const torch::nn::Module& module,
                               const std::function<torch::Tensor(const torch::Tensor&)>& forward,
                               const torch::Tensor& rows) {
  const auto buffers = module.named_buffers();
  std::vector<std::int64_t> versions;
  for (const auto& item : buffers) versions.push_back(item.value()._version());
  torch::Tensor gradient;
  try {
    const torch::AutoGradMode enabled(true);
    const torch::Tensor input = rows.detach().clone().set_requires_grad(true);
    const torch::Tensor outputs = forward(input);
    if (outputs.dim() == 0 || outputs.size(0) != rows.size(0)) {
      return invalid_argument(fmt::format("{} examples came out as [{}]: the first dimension must be the examples",
                                          rows.size(0), fmt::join(outputs.sizes(), ", ")));
    }
    if (outputs.requires_grad())
      gradient = torch::autograd::grad({outputs[0].sum()}, {input}, {}, c10::nullopt, false, true)[0];
  } catch (const std::exception&) {
    return success();  // a module that fails says so in training
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (buffers[i].value()._version() == versions[i]) continue;
    return invalid_argument(
        fmt::format("the buffer {} changes when the module runs, and would keep what examples leave there: take a "
                    "layer without running statistics",
                    buffers[i].key()));
  }
  if (gradient.defined() && torch::nan_to_num(gradient.slice(0, 1)).abs().sum().item<double>() > 0) {
    return invalid_argument(
        "the output of one example depends on the others of its batch: nothing bounds the effect of one. Look for "
        "sums, "
        "means or norms over the first dimension in forward()");
  }
  return success();
}

std::string describe(const Obstacle& obstacle) {
  return fmt::format("{} ({}) {}: {}", obstacle.path.empty() ? "the module itself" : obstacle.path, obstacle.type,
                     obstacle.reason, obstacle.remedy);
}

}  // namespace noisefloor
