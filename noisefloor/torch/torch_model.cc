#include "noisefloor/torch/torch_model.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/torch/build_network.h"
#include "noisefloor/torch/tape_source.h"

namespace noisefloor {
namespace {

constexpr std::size_t kPredictedAtOnce = 64;

Form form_of(const Dataset& data, const TorchModelOptions& options) {
  std::vector<std::int64_t> sizes(data.shape.begin(), data.shape.end());
  // The last token is only predicted.
  if (options.tokens > 0) return {Form::Kind::kTokens, {sizes[0] - 1}, options.tokens};
  if (sizes.size() == 3) return {Form::Kind::kImage, std::move(sizes), 0};
  return {Form::Kind::kVector, {static_cast<std::int64_t>(data.width())}, 0};
}

Result<void> check_outputs(const Form& output, const Dataset& data) {
  if (output.tokens > 0) {
    if (output.kind == Form::Kind::kSequence && output.sizes[1] == output.tokens) return success();
    return invalid_argument("a model of texts ends with a logit for each character: add a layer \"logits\"");
  }
  const std::int64_t outputs = output.sizes.back();
  const std::int64_t wanted = std::max(data.classes, 1);
  if (output.kind == Form::Kind::kVector && (outputs == wanted || (outputs == 1 && data.classes == 2))) {
    return success();
  }
  return invalid_argument(fmt::format("the network ends with {} outputs; {} are needed, as a plain vector",
                                      fmt::join(output.sizes, " x "), wanted));
}

// (rows, time + 1) tokens: those to predict, and the logits for them.
torch::Tensor next_tokens(const torch::Tensor& rows) { return rows.slice(1, 1).to(torch::kInt64); }
torch::Tensor logits(torch::nn::Sequential& module, const torch::Tensor& rows) {
  return module->forward(rows.slice(1, 0, rows.size(1) - 1));
}

torch::Tensor sequence_losses(const torch::Tensor& outputs, const torch::Tensor& next) {
  return torch::nn::functional::cross_entropy(outputs.flatten(0, 1), next.flatten(),
                                              torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone))
      .view_as(next)
      .mean(1);
}

torch::Tensor binary_losses(const torch::Tensor& outputs, const torch::Tensor& labels) {
  return torch::nn::functional::binary_cross_entropy_with_logits(
      outputs.flatten(), labels.to(outputs.scalar_type()),
      torch::nn::functional::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
}

// OpenBLAS has threads of its own beside those of OpenMP; another BLAS has no such function.
void set_threads(int threads) {
  torch::set_num_threads(threads);
  if (void* found = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(found)(threads);  // NOLINT: that is what it is
  }
}

class TorchModel final : public TrainableModel {
 public:
  TorchModel(BuiltNetwork built, TorchNetwork network, Form input, TorchModelOptions options)
      : module_(std::move(built.module)), network_(std::move(network)), input_(std::move(input)), options_(options) {
    module_->to(device_);
  }

  Result<void> bind(const Dataset& data, std::int64_t outputs) {
    TapeSource::Options options;
    options.memory_limit = options_.memory_limit;
    options.augmentation = options_.augmentation;
    options.device = device_;
    TapeSource::Forward forward = [this](const torch::Tensor& rows) { return module_->forward(rows); };
    if (options_.tokens > 0) {
      forward = [this](const torch::Tensor& rows) { return sequence_losses(logits(module_, rows), next_tokens(rows)); };
      options.losses = [](const torch::Tensor& losses, const torch::Tensor& /*none*/) { return losses; };
    } else if (data.classes == 2 && outputs == 1) {
      options.losses = binary_losses;
    }
    NF_TRY(source_, TapeSource::create(*module_, std::move(forward), data, std::move(options)));
    return source_->rehearse();
  }

  [[nodiscard]] std::size_t examples() const override { return source_->examples(); }
  [[nodiscard]] const People* people() const override { return source_->people(); }
  [[nodiscard]] std::size_t parameters() const override { return source_->parameters(); }
  [[nodiscard]] std::size_t groups() const override { return source_->groups(); }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override {
    module_->train();
    return source_->add(at, examples, rule, stream, sum);
  }

  [[nodiscard]] std::vector<float> initial_weights(BitStream& stream) const override {
    torch::manual_seed(stream.next_u64());
    auto fresh = build_network(network_, input_);
    NF_CHECK(fresh.has_value(), "what was built once can be built again");
    return trained(*fresh.value().module);
  }

  [[nodiscard]] std::vector<NamedTensor> name_weights(std::span<const float> weights) const override {
    NF_CHECK(weights.size() == parameters(), "one number for each parameter");
    std::vector<NamedTensor> tensors;
    const float* next = weights.data();
    for (const auto& item : module_->named_parameters()) {
      const torch::Tensor values = item.value().detach().to(torch::kCPU).contiguous();
      const float* first = values.data_ptr<float>();
      if (item.value().requires_grad()) {
        first = next;
        next += values.numel();
      }
      tensors.push_back({item.key(), {values.sizes().begin(), values.sizes().end()}, {first, first + values.numel()}});
    }
    return tensors;
  }

  // Weights that are frozen go into the module at once.
  [[nodiscard]] Result<std::vector<float>> take_weights(const TensorFile& file) const override {
    const torch::NoGradGuard guard;
    const auto parameters = module_->named_parameters();
    NF_TRY_VOID(expect_fit(file));
    std::vector<float> weights;
    for (const auto& item : parameters) {
      const NamedTensor* tensor = file.find(item.key());
      torch::Tensor target = item.value();
      const torch::Tensor from = tensor == nullptr
                                     ? target.detach()
                                     : torch::from_blob(const_cast<float*>(tensor->values.data()),  // NOLINT: read only
                                                        target.sizes(), torch::kFloat32);
      if (target.requires_grad()) {
        const torch::Tensor flat = from.to(torch::kCPU).contiguous();
        weights.insert(weights.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
      } else {
        target.copy_(from);
      }
    }
    return weights;
  }

  [[nodiscard]] std::vector<float> predict(std::span<const float> at, const Dataset& data) override {
    std::vector<float> outputs;
    for_batches(at, data, [&](const torch::Tensor& rows) {
      const torch::Tensor made =
          (options_.tokens > 0 ? logits(module_, rows) : module_->forward(rows)).to(torch::kCPU).contiguous();
      outputs.insert(outputs.end(), made.data_ptr<float>(), made.data_ptr<float>() + made.numel());
    });
    return outputs;
  }

  [[nodiscard]] Quality quality(std::span<const float> at, const Dataset& data) override {
    if (options_.tokens == 0) return TrainableModel::quality(at, data);
    Quality quality{.examples = data.rows, .positions = data.rows * (data.width() - 1)};
    double right = 0;
    for_batches(at, data, [&](const torch::Tensor& rows) {
      const torch::Tensor made = logits(module_, rows);
      const torch::Tensor next = next_tokens(rows);
      quality.loss += sequence_losses(made, next).to(torch::kFloat64).sum().item<double>();
      right += static_cast<double>(made.argmax(2).eq(next).sum().item<std::int64_t>());
    });
    if (data.rows > 0) {
      quality.loss /= static_cast<double>(data.rows);
      quality.accuracy = right / static_cast<double>(quality.positions);
    }
    return quality;
  }

 private:
  static std::vector<float> trained(const torch::nn::Module& module) {
    std::vector<float> weights;
    for (const torch::Tensor& parameter : module.parameters()) {
      if (!parameter.requires_grad()) continue;
      const torch::Tensor flat = parameter.detach().contiguous();
      weights.insert(weights.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
    }
    return weights;
  }

  // Adapters may be missing from a file all together: it is of the model before it was adapted.
  [[nodiscard]] Result<void> expect_fit(const TensorFile& file) const {
    const auto is_adapter = [](const std::string& name) { return name.find(".lora_") != std::string::npos; };
    const bool adapted = std::any_of(file.tensors.begin(), file.tensors.end(),
                                     [&](const NamedTensor& tensor) { return is_adapter(tensor.name); });
    std::vector<WantedTensor> wanted;
    for (const auto& item : module_->named_parameters()) {
      const auto sizes = item.value().sizes();
      wanted.push_back({item.key(), {sizes.begin(), sizes.end()}, is_adapter(item.key()) && !adapted});
    }
    return expect_tensors(file, wanted);
  }

  template <class Use>
  void for_batches(std::span<const float> at, const Dataset& data, const Use& use) {
    const torch::NoGradGuard guard;
    module_->eval();
    source_->set_weights(at);
    std::vector<std::int64_t> shape{0};
    shape.insert(shape.end(), data.shape.begin(), data.shape.end());
    for (std::size_t first = 0; first < data.rows; first += kPredictedAtOnce) {
      shape[0] = static_cast<std::int64_t>(std::min(kPredictedAtOnce, data.rows - first));
      float* values = const_cast<float*>(data.features.data()) + first * data.width();  // NOLINT: read only
      use(torch::from_blob(values, shape, torch::kFloat32).to(device_));
    }
  }

  mutable torch::nn::Sequential module_;
  TorchNetwork network_;
  Form input_;
  TorchModelOptions options_;
  torch::Device device_ = options_.cuda ? torch::kCUDA : torch::kCPU;
  std::unique_ptr<TapeSource> source_;
};

}  // namespace

Result<std::unique_ptr<TrainableModel>> make_torch_model(const TorchNetwork& network, const Dataset& data,
                                                         const TorchModelOptions& options) {
  if (options.tokens > 0 && (data.shape.size() != 1 || data.shape[0] < 2)) {
    return invalid_argument("a text is read as sequences of at least 2 characters");
  }
  if (options.cuda && !torch::cuda::is_available()) {
    return invalid_argument("device = \"cuda\" needs a GPU, and a libtorch that can use it: leave device out");
  }
  try {
    set_threads(static_cast<int>(options.threads));
    torch::manual_seed(0);  // the weights that it is built with are replaced
    const Form input = form_of(data, options);
    NF_TRY(BuiltNetwork built, build_network(network, input));
    NF_TRY_VOID(check_outputs(built.output, data));
    const std::int64_t outputs = built.output.sizes.back();
    auto model = std::make_unique<TorchModel>(std::move(built), network, input, options);
    NF_TRY_VOID(model->bind(data, outputs));
    return std::unique_ptr<TrainableModel>(std::move(model));
  } catch (const std::exception&) {
    return invalid_argument("torch refuses this model: check the sizes of its layers");
  }
}

}  // namespace noisefloor
