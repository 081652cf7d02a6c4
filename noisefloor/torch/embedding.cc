#include "noisefloor/torch/embedding.h"

#include <torch/torch.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "noisefloor/torch/tape.h"

namespace noisefloor {
namespace {

// An example's gradient has few rows that are not 0: those of its tokens. Norms come from them alone.
class EmbeddingUse final : public Use {
 public:
  // Tokens [examples, n] and gradients [examples, n, width], where those of the padding token are 0.
  EmbeddingUse(torch::Tensor tokens, torch::Tensor gradients, std::int64_t vocabulary)
      : tokens_(std::move(tokens)), gradients_(std::move(gradients)), vocabulary_(vocabulary) {}

  torch::Tensor squared_norms(const NormOptions& options) override {
    const std::int64_t examples = tokens_.size(0);
    torch::Tensor norms = torch::zeros({examples}, gradients_.options().dtype(torch::kDouble));
    const std::int64_t numbers = 3 * tokens_.size(1) * gradients_.size(2);
    const std::int64_t step = examples_at_once(numbers * std::int64_t{sizeof(double)}, options.buffer_bytes);
    for (std::int64_t begin = 0; begin < examples; begin += step)
      add_norms(norms, begin, std::min(begin + step, examples));
    return norms;
  }

  torch::Tensor weighted_gradient(const ExampleWeights& weights) override {
    torch::Tensor sum = torch::zeros({vocabulary_, gradients_.size(2)}, gradients_.options());
    return sum.index_add_(0, weights.select(tokens_).flatten(), weights.times(gradients_).flatten(0, 1));
  }

  torch::Tensor per_example_gradients(std::int64_t begin, std::int64_t end) override {
    torch::Tensor result =
        torch::zeros({(end - begin) * vocabulary_, gradients_.size(2)}, gradients_.options().dtype(torch::kDouble));
    result.index_add_(0, places(begin, end), gradients_.slice(0, begin, end).flatten(0, 1).to(torch::kDouble));
    return result.reshape({end - begin, vocabulary_, -1});
  }

 private:
  // One number for each pair of an example and a token.
  torch::Tensor places(std::int64_t begin, std::int64_t end) const {
    const torch::Tensor examples = torch::arange(end - begin, tokens_.options()).unsqueeze(1);
    return (examples * vocabulary_ + tokens_.slice(0, begin, end)).flatten();
  }

  void add_norms(torch::Tensor& norms, std::int64_t begin, std::int64_t end) const {
    const auto [pairs, which, counts] = torch::_unique2(places(begin, end), true, true);
    torch::Tensor sums = torch::zeros({pairs.size(0), gradients_.size(2)}, norms.options());
    sums.index_add_(0, which, gradients_.slice(0, begin, end).flatten(0, 1).to(torch::kDouble));
    const torch::Tensor examples = torch::div(pairs, vocabulary_, "floor") + begin;
    norms.index_add_(0, examples, sums.square().sum(1));
  }

  torch::Tensor tokens_;
  torch::Tensor gradients_;
  std::int64_t vocabulary_;
};

}  // namespace

torch::Tensor private_embedding(const torch::Tensor& indices, const torch::Tensor& weight,
                                std::optional<std::int64_t> padding_idx) {
  const std::int64_t padding = padding_idx.value_or(-1);
  Tape* tape = Tape::recording({weight});
  if (tape == nullptr) return torch::embedding(weight, indices, padding);
  const auto rule = [padding, vocabulary = weight.size(0)](const Batch& batch, const std::vector<torch::Tensor>& saved,
                                                           const torch::Tensor& gradient) {
    const torch::Tensor tokens = saved[0].to(torch::kLong).reshape({batch.examples, -1});
    const torch::Tensor by_token = gradient.reshape({batch.examples, tokens.size(1), gradient.size(-1)});
    return std::make_unique<EmbeddingUse>(tokens, by_token.masked_fill((tokens == padding).unsqueeze(2), 0),
                                          vocabulary);
  };
  return tape->observe(torch::embedding(weight.detach(), indices), {indices}, {{weight, rule}});
}

namespace nn {

EmbeddingImpl::EmbeddingImpl(const torch::nn::EmbeddingOptions& options_) : options(options_) {
  EmbeddingImpl::reset();
}

void EmbeddingImpl::reset() {
  const torch::nn::EmbeddingImpl initial(options);
  options = initial.options;  // a padding index from the end is now one from the start
  register_parameter("weight", initial.weight);
  EmbeddingImpl::bind();
}

void EmbeddingImpl::bind() { weight = parameters_["weight"]; }

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::Embedding(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim() << ")";
}

std::optional<std::string> EmbeddingImpl::objection() const {
  if (options.max_norm()) return "max_norm changes the weight by what a batch looks up: leave it unset";
  if (options.scale_grad_by_freq()) return "scale_grad_by_freq counts tokens over the batch: leave it unset";
  return std::nullopt;
}

torch::Tensor EmbeddingImpl::forward(const torch::Tensor& indices) {
  const std::optional<std::string> why = objection();
  if (Tape* tape = Tape::recording({weight}); tape != nullptr && why) tape->refuse("embedding: " + *why);
  std::optional<std::int64_t> padding;
  if (options.padding_idx()) padding = *options.padding_idx();
  return private_embedding(indices, weight, padding);
}

}  // namespace nn
}  // namespace noisefloor
