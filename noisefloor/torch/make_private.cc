#include "noisefloor/torch/make_private.h"

#include <torch/torch.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "noisefloor/torch/convolution.h"
#include "noisefloor/torch/embedding.h"
#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/normalization.h"
#include "noisefloor/torch/recurrent.h"
#include "noisefloor/torch/residual.h"

namespace noisefloor {
namespace {

using torch::nn::AnyModule;

// The private layer with these options that shares the parameters of `plain`.
template <class Layer, class Plain, class Options>
AnyModule sharing(const Plain& plain, const Options& options) {
  auto layer = std::make_shared<Layer>(options);
  layer->share_parameters(plain);
  layer->train(plain.is_training());
  return AnyModule(layer);
}

template <std::size_t D>
torch::nn::ConvOptions<D> options_of(const torch::nn::detail::ConvNdOptions<D>& plain) {
  return torch::nn::ConvOptions<D>(plain.in_channels(), plain.out_channels(), plain.kernel_size())
      .stride(plain.stride())
      .padding(plain.padding())
      .dilation(plain.dilation())
      .groups(plain.groups())
      .bias(plain.bias())
      .padding_mode(plain.padding_mode());
}

torch::nn::LSTMOptions lstm_options(const torch::nn::LSTMImpl& plain) { return plain.options; }
torch::nn::GRUOptions gru_options(const torch::nn::GRUImpl& plain) { return plain.options; }

torch::nn::InstanceNormOptions without_statistics(torch::nn::InstanceNormOptions options) {
  return options.track_running_stats(false);
}

// `as<Type>` of the module, or null.
template <class Type>
const Type* as(const torch::nn::Module& module) {
  return dynamic_cast<const Type*>(&module);
}

template <class Norm>
std::optional<AnyModule> group_norm_for(const torch::nn::Module& module) {
  const auto* norm = as<Norm>(module);
  if (norm == nullptr) return std::nullopt;
  const std::int64_t channels = norm->options.num_features();
  return sharing<nn::GroupNormImpl>(*norm, torch::nn::GroupNormOptions(groups_for(channels), channels)
                                               .eps(norm->options.eps())
                                               .affine(norm->options.affine()));
}

std::optional<AnyModule> private_twin(const torch::nn::Module& module) {
  if (const auto* plain = as<torch::nn::LinearImpl>(module)) return sharing<nn::LinearImpl>(*plain, plain->options);
  if (const auto* plain = as<torch::nn::Conv1dImpl>(module))
    return sharing<nn::Conv1dImpl>(*plain, options_of<1>(plain->options));
  if (const auto* plain = as<torch::nn::Conv2dImpl>(module))
    return sharing<nn::Conv2dImpl>(*plain, options_of<2>(plain->options));
  if (const auto* plain = as<torch::nn::EmbeddingImpl>(module))
    return sharing<nn::EmbeddingImpl>(*plain, plain->options);
  if (const auto* plain = as<torch::nn::LayerNormImpl>(module))
    return sharing<nn::LayerNormImpl>(*plain, plain->options);
  if (const auto* plain = as<torch::nn::GroupNormImpl>(module))
    return sharing<nn::GroupNormImpl>(*plain, plain->options);
  if (const auto* plain = as<torch::nn::InstanceNorm1dImpl>(module))
    return sharing<nn::InstanceNorm1dImpl>(*plain, without_statistics(plain->options));
  if (const auto* plain = as<torch::nn::InstanceNorm2dImpl>(module))
    return sharing<nn::InstanceNorm2dImpl>(*plain, without_statistics(plain->options));
  if (const auto* plain = as<torch::nn::LSTMImpl>(module)) return sharing<nn::LSTMImpl>(*plain, lstm_options(*plain));
  if (const auto* plain = as<torch::nn::GRUImpl>(module)) return sharing<nn::GRUImpl>(*plain, gru_options(*plain));
  if (auto norm = group_norm_for<torch::nn::BatchNorm1dImpl>(module)) return norm;
  if (auto norm = group_norm_for<torch::nn::BatchNorm2dImpl>(module)) return norm;
  return group_norm_for<torch::nn::BatchNorm3dImpl>(module);
}

torch::nn::Sequential rebuilt(const torch::nn::SequentialImpl& model, const std::string& path,
                              std::vector<Replacement>& replaced);

// What stands in the place of `module`: itself, if there is nothing to change about it.
AnyModule replacement(const AnyModule& module, const std::string& path, std::vector<Replacement>& replaced) {
  const std::shared_ptr<torch::nn::Module> inside = module.ptr();
  if (const auto block = std::dynamic_pointer_cast<nn::ResidualImpl>(inside))
    return AnyModule(std::make_shared<nn::ResidualImpl>(rebuilt(*block->inner, path + ".inner.", replaced)));
  const std::optional<AnyModule> twin = private_twin(*inside);
  if (!twin) return module;
  replaced.push_back({path, inside->name(), twin->ptr()->name()});
  return *twin;
}

torch::nn::Sequential rebuilt(const torch::nn::SequentialImpl& model, const std::string& path,
                              std::vector<Replacement>& replaced) {
  torch::nn::Sequential result;
  const std::vector<std::string> names = model.named_children().keys();
  std::size_t i = 0;
  for (const AnyModule& module : model) {
    result->push_back(names[i], replacement(module, path + names[i], replaced));
    ++i;
  }
  result->train(model.is_training());
  return result;
}

}  // namespace

std::int64_t groups_for(std::int64_t channels) {
  for (std::int64_t groups = std::min<std::int64_t>(32, channels / 2); groups > 1; --groups)
    if (channels % groups == 0) return groups;
  return 1;
}

PrivateModel make_private(const torch::nn::Sequential& model) {
  PrivateModel result;
  result.model = rebuilt(*model, "", result.replaced);
  result.left = find_obstacles(*result.model);
  return result;
}

}  // namespace noisefloor
