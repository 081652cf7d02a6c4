#include "noisefloor/training/network.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {
namespace {

lanes::Shape shape_of(const Dataset& data) {
  if (data.shape.size() == 3) return {data.shape[0], data.shape[1], data.shape[2]};
  return {data.width(), 1, 1};
}

Result<lanes::Program> build_network(const Training& training, const Dataset& data) {
  const auto with = [&](lanes::Loss loss) {
    return lanes::Program::create(shape_of(data), training.model.layers, loss, training.descent.augmentation.copies);
  };
  if (data.classes == 0) return with(lanes::Loss::kSquared);
  NF_TRY(lanes::Program program, with(lanes::Loss::kCrossEntropy));
  if (program.outputs() == 1 && data.classes == 2) return with(lanes::Loss::kBinary);
  return program;
}

Result<std::unique_ptr<TrainableModel>> bind_torch_model(const Training& training, const Dataset& data,
                                                         const Machine& machine) {
  NF_TRY(const TorchBackend* backend, machine.torch("this model"));
  TorchWish wish{.threads = machine.threads,
                 .memory_limit = static_cast<std::int64_t>(training.descent.memory_limit_mb) << 20,
                 .augmentation = training.descent.augmentation,
                 .cuda = training.descent.cuda};
  if (const auto* text = std::get_if<TextFormat>(&training.data.format)) {
    NF_TRY(const Alphabet alphabet, alphabet_of(*text));
    wish.tokens = alphabet.size();
  }
  return backend->make_model(*training.model.torch, data, wish);
}

}  // namespace

Result<const TorchBackend*> no_torch(std::string_view why) {
  return invalid_argument(fmt::format("{} needs libtorch, which this program was built without", why));
}

Result<void> require_backend(const Training& training, const std::string& location, const TorchProvider& torch) {
  if (training.model.torch) NF_TRY_VOID(torch(fmt::format("the model of {}", shown(location))));
  return success();
}

Result<std::unique_ptr<TrainableModel>> bind_model(const Training& training, const Dataset& data,
                                                   const Machine& machine) {
  if (training.model.torch) return bind_torch_model(training, data, machine);
  NF_TRY(lanes::Program program, build_network(training, data));
  NF_TRY(std::unique_ptr<LanesSource> source,
         LanesSource::create(std::move(program), data, machine.threads, training.descent.augmentation));
  return std::unique_ptr<TrainableModel>(std::move(source));
}

Result<std::vector<float>> load_weights(const std::string& path, const TrainableModel& model) {
  NF_TRY(const std::string bytes, read_file(path, kMaxModelBytes));
  return weights_in(bytes, model);
}

Result<std::vector<float>> weights_in(std::string_view bytes, const TrainableModel& model) {
  NF_TRY(const TensorFile tensors, parse_safetensors(bytes));
  return model.take_weights(tensors);
}

}  // namespace noisefloor
