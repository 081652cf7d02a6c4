// A network for torch with its private examples, as training wants it (sgd/trainable_model.h).
//
// Guarantee:     as TrainableModel; the module passed find_obstacles. Of a text, the loss of a row is the mean over the
//                characters that it predicts, and the gradient of a row is that of this loss: a row is what is
//                protected, unless the data say whose rows are whose (sgd/people.h). Weights that are not trained are
//                written with the others, and come from the file that weights are taken from.
// Thread safety: none; torch uses threads inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "noisefloor/base/result.h"
#include "noisefloor/config/torch_network.h"
#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

struct TorchModelOptions {
  std::int32_t tokens = 0;  // of a text: how many there are; an example is then a sequence of them
  std::size_t threads = 1;  // of torch, in this process
  std::int64_t memory_limit = std::int64_t{1} << 30;  // bytes, for the examples that are at work at once
  Augmentation augmentation = {};
  bool cuda = false;  // on a GPU
};

// `data` must outlive the model. Fails, naming the layer, if the network does not fit them or cannot be trained
// privately.
[[nodiscard]] Result<std::unique_ptr<TrainableModel>> make_torch_model(const TorchNetwork& network, const Dataset& data,
                                                                       const TorchModelOptions& options);

}  // namespace noisefloor
