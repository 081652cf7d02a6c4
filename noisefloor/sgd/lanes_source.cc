#include "noisefloor/sgd/lanes_source.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/model/weights.h"

namespace noisefloor {
namespace {

constexpr std::size_t kWordsAtOnce = std::size_t{1} << 20;
constexpr std::size_t kBlocksAtOnce = 64;  // at least, so that all threads have something to do

Result<void> check_fit(const lanes::Program& program, const Dataset& data) {
  if (program.groups() == 0) return invalid_argument("the network has no parameters to train");
  if (program.input().size() != data.width()) {
    return invalid_argument(
        fmt::format("the network reads {} features; examples have {}", program.input().size(), data.width()));
  }
  const std::size_t outputs = program.outputs();
  switch (program.loss()) {
    case lanes::Loss::kCrossEntropy:
      if (static_cast<std::size_t>(data.classes) == outputs && outputs > 1) return success();
      return invalid_argument(
          fmt::format("the network tells {} classes apart; the data have {}", outputs, data.classes));
    case lanes::Loss::kBinary:
      if (data.classes == 2) return success();
      return invalid_argument(fmt::format("a binary network needs 2 classes; the data have {}", data.classes));
    case lanes::Loss::kSquared:
      if (data.classes == 0 && outputs == 1) return success();
      return invalid_argument(
          fmt::format("the network has {} outputs; a regression needs data with targets and 1 output", outputs));
  }
  return success();
}

}  // namespace

LanesSource::Engine::Engine(lanes::Program of, std::size_t threads) : program(std::move(of)), packed(program) {
  for (std::size_t i = 0; i < threads; ++i) workers.push_back(std::make_unique<lanes::Worker>(program));
}

LanesSource::LanesSource(lanes::Program program, const Dataset& data, std::size_t threads, Augmentation augmentation)
    : training_(std::move(program), threads), data_(&data), augmentation_(augmentation), team_(threads) {}

Result<std::unique_ptr<LanesSource>> LanesSource::create(lanes::Program program, const Dataset& data,
                                                         std::size_t threads, Augmentation augmentation) {
  NF_TRY_VOID(check_fit(program, data));
  if (program.copies() != augmentation.copies) {
    return invalid_argument(
        fmt::format("the network takes {} copies of an example; {} are made", program.copies(), augmentation.copies));
  }
  if (!augmentation.is_none() && data.shape.size() != 3) {
    return invalid_argument("copies are made of images, and the data are plain vectors");
  }
  if (threads == 0) return invalid_argument("training needs at least 1 thread; 0 were given");
  std::unique_ptr<LanesSource> source(  // NOLINT: private constructor
      new LanesSource(std::move(program), data, threads, augmentation));
  if (augmentation.copies > 1) {
    NF_TRY(lanes::Program single, source->training_.program.with_copies(1));
    source->single_ = std::make_unique<Engine>(std::move(single), threads);
  }
  return source;
}

// Random bits are drawn beforehand, as threads share no stream: so many words for as many blocks as that is enough for.
template <class Add>
void LanesSource::each_block(std::span<const std::uint64_t> rows, BitStream& stream, Add add) {
  const std::size_t lanes = training_.program.lanes();
  const std::size_t copies = augmentation_.is_none() ? 0 : augmentation_.copies;
  const std::size_t words_each = training_.program.words() + lanes * copies;
  const std::size_t at_once =
      words_each == 0 ? rows.size() : lanes * std::max(kBlocksAtOnce, kWordsAtOnce / words_each);
  for (std::size_t first = 0; first < rows.size(); first += at_once) {
    some_blocks(rows.subspan(first, std::min(at_once, rows.size() - first)), stream, add);
  }
}

template <class Add>
void LanesSource::some_blocks(std::span<const std::uint64_t> rows, BitStream& stream, const Add& add) {
  const std::size_t lanes = training_.program.lanes();
  const std::size_t blocks = (rows.size() + lanes - 1) / lanes;
  const std::size_t words_each = training_.program.words();
  std::vector<std::uint32_t> words(blocks * words_each);
  stream.fill(std::as_writable_bytes(std::span(words)));
  const std::size_t copies = augmentation_.is_none() ? 0 : augmentation_.copies;
  std::vector<std::uint32_t> changes(rows.size() * copies);
  stream.fill(std::as_writable_bytes(std::span(changes)));
  const std::size_t width = data_->width();
  team_.run([&](std::size_t member) {
    std::vector<float> made(lanes * copies * width);
    std::vector<const float*> examples;
    std::vector<std::int32_t> labels;
    std::vector<const float*> targets;
    const std::size_t first = blocks * member / team_.size();
    const std::size_t last = blocks * (member + 1) / team_.size();
    for (std::size_t block = first; block < last; ++block) {
      const std::size_t count = std::min(lanes, rows.size() - block * lanes);
      examples.clear();
      labels.clear();
      targets.clear();
      for (std::size_t i = block * lanes; i < block * lanes + count; ++i) {
        const std::uint64_t row = rows[i];
        NF_CHECK(row < data_->rows, "a row of the data");
        const float* example = data_->features.data() + row * width;
        for (std::size_t copy = 0; copy < copies; ++copy) {
          const std::size_t place = (i - block * lanes) * copies + copy;
          augment({example, width}, training_.program.input(), augmentation_, changes[i * copies + copy],
                  std::span(made).subspan(place * width, width));
        }
        examples.push_back(copies == 0 ? example : made.data() + (i - block * lanes) * copies * width);
        if (data_->classes > 0) {
          labels.push_back(data_->labels[row]);
        } else {
          targets.push_back(data_->targets.data() + row);
        }
      }
      std::size_t used = block * words_each;
      const lanes::RandomWords draw = [&](std::span<std::uint32_t> out) {
        std::copy_n(words.data() + used, out.size(), out.data());
        used += out.size();
      };
      add(member, lanes::Block{examples, labels, targets}, draw);
    }
  });
}

Result<std::size_t> LanesSource::add(std::span<const float> at, std::span<const std::uint64_t> rows,
                                     const ClipRule* rule, BitStream& stream, std::span<float> sum) {
  training_.packed.pack(training_.program, at);
  std::vector<std::size_t> within(team_.size());
  each_block(rows, stream, [&](std::size_t member, const lanes::Block& block, const lanes::RandomWords& random) {
    lanes::Weigh weigh;
    if (rule != nullptr) {
      weigh = [&](std::span<const float> squared_norms, std::span<float> factors) {
        within[member] += rule->factors(squared_norms, training_.program.groups(), block.examples.size(), factors);
      };
    }
    training_.workers[member]->add(training_.packed, at, block, weigh, random, {});
  });
  for (const auto& worker : training_.workers) worker->drain(sum);
  return std::accumulate(within.begin(), within.end(), std::size_t{0});
}

Result<void> LanesSource::add_on_grid(std::span<const float> at, std::span<const std::uint64_t> rows,
                                      const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                      std::span<std::int64_t> sum) {
  training_.packed.pack(training_.program, at);
  std::vector<std::vector<std::int64_t>> sums(team_.size(), std::vector<std::int64_t>(sum.size()));
  each_block(rows, stream, [&](std::size_t member, const lanes::Block& block, const lanes::RandomWords& random) {
    const lanes::Weigh weigh = [&](std::span<const float> squared_norms, std::span<float> factors) {
      rule.factors(squared_norms, training_.program.groups(), block.examples.size(), factors);
    };
    training_.workers[member]->add_on_grid(training_.packed, at, block, weigh, random, {grid.step(), grid.bound()},
                                           sums[member]);
  });
  for (const std::vector<std::int64_t>& part : sums) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return success();
}

std::vector<float> LanesSource::initial_weights(BitStream& stream) const {
  return noisefloor::initial_weights(training_.program, stream);
}

std::vector<NamedTensor> LanesSource::name_weights(std::span<const float> weights) const {
  return noisefloor::name_weights(training_.program, weights);
}

Result<std::vector<float>> LanesSource::take_weights(const TensorFile& file) const {
  return noisefloor::take_weights(training_.program, file);
}

std::vector<float> LanesSource::predict(std::span<const float> at, const Dataset& data) {
  NF_CHECK(data.width() == data_->width(), "data of the same features");
  Engine& engine = single_ ? *single_ : training_;
  engine.packed.pack(engine.program, at);
  const std::size_t lanes = engine.program.lanes();
  const std::size_t outputs = engine.program.outputs();
  const std::size_t blocks = (data.rows + lanes - 1) / lanes;
  std::vector<float> result(data.rows * outputs);
  team_.run([&](std::size_t member) {
    std::vector<const float*> examples;
    for (std::size_t block = blocks * member / team_.size(); block < blocks * (member + 1) / team_.size(); ++block) {
      const std::size_t count = std::min(lanes, data.rows - block * lanes);
      examples.clear();
      for (std::size_t i = 0; i < count; ++i)
        examples.push_back(data.features.data() + (block * lanes + i) * data.width());
      engine.workers[member]->predict(engine.packed, at, examples,
                                      std::span(result).subspan(block * lanes * outputs, count * outputs));
    }
  });
  return result;
}

}  // namespace noisefloor
