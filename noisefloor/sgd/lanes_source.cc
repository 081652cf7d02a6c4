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
          fmt::format("the network has {} outputs; a regression needs 1 output and data with targets", outputs));
  }
  return success();
}

internal::ParameterGroups groups_of(const lanes::Program& program) {
  internal::ParameterGroups result{{}, program.groups()};
  for (const lanes::Operation& operation : program.operations()) {
    if (!operation.group) continue;
    result.stretches.push_back({operation.weights, operation.weight_count, *operation.group});
    result.stretches.push_back({operation.bias, operation.bias_count, *operation.group});
  }
  return result;
}

}  // namespace

LanesSource::Engine::Engine(lanes::Program of, std::size_t threads) : program(std::move(of)), packed(program) {
  for (std::size_t i = 0; i < threads; ++i) workers.push_back(std::make_unique<lanes::Worker>(program));
}

LanesSource::LanesSource(lanes::Program program, const Dataset& data, std::size_t threads, Augmentation augmentation,
                         std::optional<People> people)
    : training_(std::move(program), threads),
      data_(&data),
      augmentation_(augmentation),
      people_(std::move(people)),
      parameter_groups_(groups_of(training_.program)),
      team_(threads) {
  if (!people_) return;
  const std::vector<float> zeros(training_.program.parameters());
  totals_.assign(threads, std::vector<std::vector<float>>(training_.program.lanes(), zeros));
}

Result<std::unique_ptr<LanesSource>> LanesSource::create(lanes::Program program, const Dataset& data,
                                                         std::size_t threads, Augmentation augmentation) {
  NF_TRY_VOID(check_fit(program, data));
  if (program.copies() != augmentation.copies) {
    return invalid_argument(fmt::format("the network takes {} copies of an example; the augmentation makes {}",
                                        program.copies(), augmentation.copies));
  }
  if (!augmentation.is_none() && data.shape.size() != 3) {
    return invalid_argument("augmentation needs images, and the data are plain vectors: train without augmentation");
  }
  if (threads == 0) return invalid_argument("training needs at least 1 thread; 0 were given");
  NF_TRY(std::optional<People> people, People::of(data));
  std::unique_ptr<LanesSource> source(  // NOLINT: private constructor
      new LanesSource(std::move(program), data, threads, augmentation, std::move(people)));
  if (augmentation.copies > 1) {
    NF_TRY(lanes::Program single, source->training_.program.with_copies(1));
    source->single_ = std::make_unique<Engine>(std::move(single), threads);
  }
  return source;
}

std::size_t LanesSource::rows_at_once(std::size_t rows) const {
  const std::size_t lanes = training_.program.lanes();
  const std::size_t copies = augmentation_.is_none() ? 0 : augmentation_.copies;
  const std::size_t words_each = training_.program.words() + lanes * copies;
  return words_each == 0 ? rows : lanes * std::max(kBlocksAtOnce, kWordsAtOnce / words_each);
}

LanesSource::Piece LanesSource::piece_of(std::span<const std::uint64_t> rows, std::size_t blocks,
                                         BitStream& stream) const {
  Piece piece{rows, std::vector<std::uint32_t>(blocks * training_.program.words()), {}};
  stream.fill(std::as_writable_bytes(std::span(piece.words)));
  piece.changes.resize(augmentation_.is_none() ? 0 : rows.size() * augmentation_.copies);
  stream.fill(std::as_writable_bytes(std::span(piece.changes)));
  return piece;
}

template <class Add>
void LanesSource::blocks_of(const Piece& piece, const Part& part, const Add& add) const {
  const std::size_t lanes = training_.program.lanes();
  const std::size_t words_each = training_.program.words();
  const std::size_t copies = augmentation_.is_none() ? 0 : augmentation_.copies;
  const std::size_t width = data_->width();
  std::vector<float> made(lanes * copies * width);
  std::vector<const float*> examples;
  std::vector<std::int32_t> labels;
  std::vector<const float*> targets;
  std::size_t block = part.first_block;
  for (std::size_t first = part.first_row; first < part.last_row; first += lanes, ++block) {
    const std::size_t last = std::min(first + lanes, part.last_row);
    examples.clear();
    labels.clear();
    targets.clear();
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t row = piece.rows[i];
      NF_CHECK(row < data_->rows, "a row of the data");
      const float* example = data_->features.data() + row * width;
      for (std::size_t copy = 0; copy < copies; ++copy) {
        const std::size_t place = (i - first) * copies + copy;
        augment({example, width}, training_.program.input(), augmentation_, piece.changes[i * copies + copy],
                std::span(made).subspan(place * width, width));
      }
      examples.push_back(copies == 0 ? example : made.data() + (i - first) * copies * width);
      if (data_->classes > 0) {
        labels.push_back(data_->labels[row]);
      } else {
        targets.push_back(data_->targets.data() + row);
      }
    }
    std::size_t used = block * words_each;
    const lanes::RandomWords draw = [&](std::span<std::uint32_t> out) {
      std::copy_n(piece.words.data() + used, out.size(), out.data());
      used += out.size();
    };
    add(lanes::Block{examples, labels, targets}, draw, first);
  }
}

template <class Add>
void LanesSource::each_block(std::span<const std::uint64_t> rows, BitStream& stream, const Add& add) {
  const std::size_t lanes = training_.program.lanes();
  const std::size_t at_once = rows_at_once(rows.size());
  for (std::size_t begin = 0; begin < rows.size(); begin += at_once) {
    const std::span<const std::uint64_t> some = rows.subspan(begin, std::min(at_once, rows.size() - begin));
    const std::size_t blocks = (some.size() + lanes - 1) / lanes;
    const Piece piece = piece_of(some, blocks, stream);
    team_.run([&](std::size_t member) {
      const std::size_t first = blocks * member / team_.size();
      const std::size_t last = blocks * (member + 1) / team_.size();
      blocks_of(piece, {first * lanes, std::min(last * lanes, some.size()), first},
                [&](const lanes::Block& block, const lanes::RandomWords& random, std::size_t) {
                  add(member, block, random);
                });
    });
  }
}

template <class Add>
void LanesSource::each_person(std::span<const float> at, const PeoplesRows& taken, BitStream& stream, const Add& add) {
  const std::span<const std::uint64_t> rows(taken.shared);
  const std::span<const std::size_t> ends(taken.ends);
  const std::size_t at_once = rows_at_once(rows.size());
  std::size_t before = 0;
  for (std::size_t person = 0; person < ends.size();) {
    std::size_t next = person + 1;
    while (next < ends.size() && ends[next] - before <= at_once) ++next;
    some_people(at, rows.subspan(before, ends[next - 1] - before), ends.subspan(person, next - person), before, stream,
                add);
    before = ends[next - 1];
    person = next;
  }
}

// The rows of all people stand side by side; `ends` counts them from `before` rows earlier.
template <class Add>
void LanesSource::some_people(std::span<const float> at, std::span<const std::uint64_t> rows,
                              std::span<const std::size_t> ends, std::size_t before, BitStream& stream,
                              const Add& add) {
  const std::size_t lanes = training_.program.lanes();
  const auto begin_of = [&](std::size_t person) { return person == 0 ? 0 : ends[person - 1] - before; };
  // Divides the people among the threads, so that all have about as many rows.
  std::vector<std::size_t> first_person(team_.size() + 1, ends.size());
  std::vector<Part> parts(team_.size());
  std::size_t blocks = 0;
  std::size_t person = 0;
  for (std::size_t member = 0; member < team_.size(); ++member) {
    first_person[member] = person;
    while (person < ends.size() && begin_of(person) < rows.size() * (member + 1) / team_.size()) ++person;
    const std::size_t last_row = begin_of(person);
    parts[member] = {begin_of(first_person[member]), last_row, blocks};
    blocks += (last_row - parts[member].first_row + lanes - 1) / lanes;
  }
  const Piece piece = piece_of(rows, blocks, stream);
  team_.run([&](std::size_t member) {
    std::vector<std::vector<float>>& totals = totals_[member];
    std::size_t now = first_person[member];
    std::vector<lanes::Stretch> stretches;
    blocks_of(piece, parts[member],
              [&](const lanes::Block& block, const lanes::RandomWords& random, std::size_t first) {
                const std::size_t last = first + block.examples.size();
                stretches.clear();
                for (std::size_t p = now; p < ends.size() && begin_of(p) < last; ++p) {
                  stretches.push_back({std::max(begin_of(p), first) - first, std::min(begin_of(p + 1), last) - first,
                                       totals[stretches.size()]});
                }
                training_.workers[member]->add_to(training_.packed, at, block, random, stretches);
                for (std::size_t s = 0; s < stretches.size(); ++s) {
                  // A person whose rows continue in the next block comes first there.
                  if (begin_of(now + 1) > last) {
                    std::swap(totals[0], totals[s]);
                    break;
                  }
                  add(member, std::span<float>(totals[s]), begin_of(now + 1) - begin_of(now));
                  std::fill(totals[s].begin(), totals[s].end(), 0.0F);
                  ++now;
                }
              });
  });
}

PeoplesRows LanesSource::rows_of(std::span<const std::uint64_t> examples, BitStream& stream) const {
  if (people_) return people_->take(examples, stream);
  return {data_->without_nulls(examples), {}, {}};
}

Result<std::size_t> LanesSource::add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                     const ClipRule* rule, BitStream& stream, std::span<float> sum) {
  training_.packed.pack(training_.program, at);
  const PeoplesRows taken = rows_of(examples, stream);
  std::vector<std::size_t> within(team_.size());
  each_block(
      taken.single, stream, [&](std::size_t member, const lanes::Block& block, const lanes::RandomWords& random) {
        lanes::Weigh weigh;
        if (rule != nullptr) {
          weigh = [&](std::span<const float> squared_norms, std::span<float> factors) {
            within[member] += rule->factors(squared_norms, training_.program.groups(), block.examples.size(), factors);
          };
        }
        training_.workers[member]->add(training_.packed, at, block, weigh, random, {});
      });
  for (const auto& worker : training_.workers) worker->drain(sum);
  if (!taken.ends.empty()) {
    std::vector<std::vector<float>> sums(team_.size(), std::vector<float>(sum.size()));
    each_person(at, taken, stream, [&](std::size_t member, std::span<float> total, std::size_t rows) {
      if (internal::add_clipped_mean(total, rows, parameter_groups_, rule, sums[member])) ++within[member];
    });
    for (const std::vector<float>& part : sums) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
  }
  return std::accumulate(within.begin(), within.end(), std::size_t{0});
}

Result<void> LanesSource::add_on_grid(std::span<const float> at, std::span<const std::uint64_t> examples,
                                      const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                      std::span<std::int64_t> sum) {
  training_.packed.pack(training_.program, at);
  const PeoplesRows taken = rows_of(examples, stream);
  std::vector<std::vector<std::int64_t>> sums(team_.size(), std::vector<std::int64_t>(sum.size()));
  each_block(taken.single, stream,
             [&](std::size_t member, const lanes::Block& block, const lanes::RandomWords& random) {
               const lanes::Weigh weigh = [&](std::span<const float> squared_norms, std::span<float> factors) {
                 rule.factors(squared_norms, training_.program.groups(), block.examples.size(), factors);
               };
               training_.workers[member]->add_on_grid(training_.packed, at, block, weigh, random,
                                                      {grid.step(), grid.bound()}, sums[member]);
             });
  each_person(at, taken, stream, [&](std::size_t member, std::span<float> total, std::size_t rows) {
    internal::add_clipped_mean(total, rows, parameter_groups_, rule, grid, sums[member]);
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
