// Examples per second of DP-SGD beside training without privacy: the same networks, batches and machine in one run.
//
//   ours          DP-SGD of sgd/ on lanes/: per-example clipping, noise, step
//   ours, plain   the same without clipping and noise
//   torch         the idiomatic libtorch loop, no privacy
//   per-sample    libtorch with per-sample gradients kept (unfold and einsum, beside the ordinary backward pass), as
//                 Opacus does it
//
// Each runs in a process of its own, so that peak memory is its own too. The answer is checked first, on fixed weights
// and rows: the gradient of every example, ours and libtorch's, must agree with the oracle in double precision to its
// bound on rounding, unless a maximum or a ReLU of the example is decided by rounding alone; and the sum of a batch
// must be the sum of its examples. `training_bench --check` does only that.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "noisefloor/base/blas_core.h"
#include "noisefloor/model/weights.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/lanes_source.h"
#include "tests/support/gradient_oracle.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;
namespace nn = torch::nn;

constexpr std::size_t kBatch = 256;
constexpr std::size_t kRows = 1024;
constexpr int kThreads = 2;
constexpr double kClip = 1.0;
constexpr double kSeconds = 3.0;

struct Network {
  std::string name;
  lanes::Shape input;
  std::vector<lanes::Layer> layers;
};

std::vector<Network> networks() {
  const lanes::Activate relu{};
  const lanes::Activate tanh{lanes::Activation::kTanh};
  const lanes::Normalize norm{1, true};
  return {
      {"LeNet-5",
       {1, 28, 28},
       {lanes::Conv2d{6, 5, 5, 1, 2}, relu, lanes::Pool{}, lanes::Conv2d{16, 5, 5}, relu, lanes::Pool{},
        lanes::Flatten{}, lanes::Linear{120}, relu, lanes::Linear{84}, relu, lanes::Linear{10}}},
      {"StreamRec MLP",
       {40, 1, 1},
       {lanes::Linear{128}, norm, relu, lanes::Dropout{0.1F}, lanes::Linear{64}, norm, relu, lanes::Dropout{0.1F},
        lanes::Linear{32}, relu, lanes::Linear{2}}},
      {"DP CNN",
       {1, 28, 28},
       {lanes::Conv2d{16, 8, 8, 2, 2}, tanh, lanes::Pool{lanes::Pooling::kMax, 2, 1}, lanes::Conv2d{32, 4, 4, 2}, tanh,
        lanes::Pool{lanes::Pooling::kMax, 2, 1}, lanes::Flatten{}, lanes::Linear{32}, tanh, lanes::Linear{10}}}};
}

lanes::Program program_of(const Network& network) {
  return lanes::Program::create(network.input, network.layers, lanes::Loss::kCrossEntropy).value();
}

Dataset data_of(const Network& network, std::int32_t classes) {
  Dataset data;
  data.rows = kRows;
  data.shape = network.input.height == 1
                   ? std::vector<std::size_t>{network.input.channels}
                   : std::vector<std::size_t>{network.input.channels, network.input.height, network.input.width};
  data.classes = classes;
  data.features.resize(kRows * network.input.size());
  ReplayRandom random = ReplayRandom::create(1).value();
  fill_gaussian(random, data.features, 1.0F);
  for (std::size_t i = 0; i < kRows; ++i)
    data.labels.push_back(static_cast<std::int32_t>(random.next_u32() % static_cast<std::uint32_t>(classes)));
  return data;
}

// --- Ours ------------------------------------------------------------------------------------------------------------

DpSgd descent(const lanes::Program& program, LanesSource& source, bool with_privacy) {
  DpSgd::Options options;
  if (with_privacy) {
    options.noise = NoiseMultiplier::of(1.0);
    options.clip = ClipRule::create(FlatClip{ClipNorm::of(kClip)}).value();
  }
  options.learning_rate = {.initial = 0.01};
  ReplayRandom random = ReplayRandom::create(2).value();
  return DpSgd::create(options, BatchSampler::poisson(Rows::of(kRows), Rows::of(kBatch), Adjacency::kAddRemove).value(),
                       source, initial_weights(program, random))
      .value();
}

double ours(const Network& network, bool with_privacy) {
  const lanes::Program program = program_of(network);
  const Dataset data = data_of(network, static_cast<std::int32_t>(program.outputs()));
  const auto source = LanesSource::create(program, data, kThreads).value();
  DpSgd sgd = descent(program, *source, with_privacy);
  SecureRandom random = SecureRandom::create().value();
  for (int i = 0; i < 3; ++i) (void)sgd.step(random);
  const Clock::time_point start = Clock::now();
  double steps = 0;
  double seconds = 0;
  for (; seconds < kSeconds; ++steps) {
    (void)sgd.step(random);
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return steps * static_cast<double>(kBatch) / seconds;
}

// --- libtorch --------------------------------------------------------------------------------------------------------

// The same layers; the tensors that each parameter layer reads and writes are kept where per-sample gradients need
// them.
class TorchNetwork : public nn::Module {
 public:
  explicit TorchNetwork(const Network& network) {
    lanes::Shape shape = network.input;
    for (const lanes::Layer& layer : network.layers) {
      const std::string name = fmt::format("layer{}", modules_.size());
      if (const auto* linear = std::get_if<lanes::Linear>(&layer)) {
        modules_.emplace_back(register_module(name, nn::Linear(as_int(shape.size()), as_int(linear->outputs))));
        shape = {linear->outputs, 1, 1};
      } else if (const auto* conv = std::get_if<lanes::Conv2d>(&layer)) {
        modules_.emplace_back(register_module(
            name, nn::Conv2d(nn::Conv2dOptions(as_int(shape.channels), as_int(conv->outputs),
                                               {as_int(conv->kernel_height), as_int(conv->kernel_width)})
                                 .stride(as_int(conv->stride))
                                 .padding(as_int(conv->padding)))));
        shape = {conv->outputs, (shape.height + 2 * conv->padding - conv->kernel_height) / conv->stride + 1,
                 (shape.width + 2 * conv->padding - conv->kernel_width) / conv->stride + 1};
      } else if (std::holds_alternative<lanes::Normalize>(layer)) {
        modules_.emplace_back(register_module(name, nn::LayerNorm(nn::LayerNormOptions({as_int(shape.size())}))));
      } else {
        if (const auto* pool = std::get_if<lanes::Pool>(&layer)) {
          shape.height = (shape.height - pool->kernel) / pool->stride + 1;
          shape.width = (shape.width - pool->kernel) / pool->stride + 1;
        }
        modules_.emplace_back(layer);
      }
    }
  }

  torch::Tensor forward(torch::Tensor x, bool keep) {
    inputs.clear();
    outputs.clear();
    for (auto& module : modules_) {
      const torch::Tensor in = x;
      if (auto* linear = std::get_if<nn::Linear>(&module)) {
        x = (*linear)->forward(x);
      } else if (auto* conv = std::get_if<nn::Conv2d>(&module)) {
        x = (*conv)->forward(x);
      } else if (auto* norm = std::get_if<nn::LayerNorm>(&module)) {
        x = (*norm)->forward(x);
      } else {
        x = plain(std::get<lanes::Layer>(module), x);
        continue;
      }
      if (keep) {
        x.retain_grad();
        inputs.push_back(in.detach());
        outputs.push_back(x);
      }
    }
    return x;
  }

  // After backward of the mean loss: gradients of every sample, one tensor [n, …] for each parameter, in order.
  std::vector<torch::Tensor> per_sample_gradients() {
    std::vector<torch::Tensor> result;
    std::size_t i = 0;
    for (auto& module : modules_) {
      if (std::holds_alternative<lanes::Layer>(module)) continue;
      const torch::Tensor in = inputs[i];
      const torch::Tensor slope = outputs[i].grad() * static_cast<double>(outputs[i].size(0));
      ++i;
      if (auto* conv = std::get_if<nn::Conv2d>(&module)) {
        const auto& o = (*conv)->options;
        const torch::Tensor columns =
            torch::nn::functional::unfold(in, nn::functional::UnfoldFuncOptions(o.kernel_size())
                                                  .padding(c10::get<torch::ExpandingArray<2>>(o.padding()))
                                                  .stride(o.stride()));
        const torch::Tensor flat = slope.flatten(2);
        result.push_back(torch::einsum("noq,npq->nop", {flat, columns}));
        result.push_back(flat.sum(2));
      } else if (std::holds_alternative<nn::Linear>(module)) {
        result.push_back(torch::einsum("ni,nj->nij", {slope, in}));
        result.push_back(slope);
      } else {
        auto& norm = std::get<nn::LayerNorm>(module);
        result.push_back(slope * torch::layer_norm(in, norm->options.normalized_shape()));
        result.push_back(slope);
      }
    }
    return result;
  }

 private:
  static std::int64_t as_int(std::size_t value) { return static_cast<std::int64_t>(value); }

  torch::Tensor plain(const lanes::Layer& layer, const torch::Tensor& x) const {
    if (const auto* activate = std::get_if<lanes::Activate>(&layer)) {
      return activate->function == lanes::Activation::kRelu ? torch::relu(x) : torch::tanh(x);
    }
    if (const auto* pool = std::get_if<lanes::Pool>(&layer)) {
      const auto kernel = as_int(pool->kernel);
      const auto stride = as_int(pool->stride);
      return torch::max_pool2d(x, {kernel, kernel}, {stride, stride});
    }
    if (const auto* dropout = std::get_if<lanes::Dropout>(&layer)) {
      return torch::dropout(x, static_cast<double>(dropout->rate), is_training());
    }
    return x.flatten(1);
  }

  std::vector<std::variant<nn::Linear, nn::Conv2d, nn::LayerNorm, lanes::Layer>> modules_;
  std::vector<torch::Tensor> inputs;
  std::vector<torch::Tensor> outputs;
};

struct Batches {
  torch::Tensor features;
  torch::Tensor labels;
};

Batches batches_of(const Dataset& data) {
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(data.rows)};
  for (const std::size_t size : data.shape) shape.push_back(static_cast<std::int64_t>(size));
  return {torch::from_blob(const_cast<float*>(data.features.data()), shape).clone(),
          torch::from_blob(const_cast<std::int32_t*>(data.labels.data()), {static_cast<std::int64_t>(data.rows)},
                           torch::kInt32)
              .to(torch::kInt64)};
}

// The gradients of all samples, one tensor [n, …] for each parameter.
std::vector<torch::Tensor> sample_gradients(TorchNetwork& net, const torch::Tensor& x, const torch::Tensor& y) {
  net.zero_grad();
  torch::nn::functional::cross_entropy(net.forward(x, true), y).backward();
  return net.per_sample_gradients();
}

// Σ over samples of their clipped gradients, one tensor a parameter.
std::vector<torch::Tensor> clipped_sums(TorchNetwork& net, const torch::Tensor& x, const torch::Tensor& y) {
  const std::vector<torch::Tensor> samples = sample_gradients(net, x, y);
  torch::Tensor squared = torch::zeros({x.size(0)});
  for (const torch::Tensor& g : samples) squared += g.flatten(1).pow(2).sum(1);
  const torch::Tensor factors = (kClip / (squared.sqrt() + 1e-6)).clamp_max(1.0);
  std::vector<torch::Tensor> sums;
  for (const torch::Tensor& g : samples) sums.push_back(torch::einsum("n,n...->...", {factors, g}));
  return sums;
}

double torch_loop(const Network& network, bool per_sample) {
  at::set_num_threads(kThreads);
  const lanes::Program program = program_of(network);
  const Dataset data = data_of(network, static_cast<std::int32_t>(program.outputs()));
  const Batches all = batches_of(data);
  TorchNetwork net(network);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.01));
  const auto step = [&](std::int64_t first) {
    const torch::Tensor x = all.features.narrow(0, first, kBatch);
    const torch::Tensor y = all.labels.narrow(0, first, kBatch);
    if (!per_sample) {
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net.forward(x, false), y).backward();
      optimizer.step();
      return;
    }
    const std::vector<torch::Tensor> sums = clipped_sums(net, x, y);
    std::vector<torch::Tensor> parameters = net.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() =
          (sums[i].view_as(parameters[i]) + torch::randn_like(parameters[i]) * kClip) / static_cast<double>(kBatch);
    }
    optimizer.step();
  };
  for (int i = 0; i < 3; ++i) step(0);
  const Clock::time_point start = Clock::now();
  double steps = 0;
  double seconds = 0;
  for (std::int64_t first = 0; seconds < kSeconds; ++steps) {
    step(first);
    first = (first + static_cast<std::int64_t>(kBatch)) % static_cast<std::int64_t>(kRows);
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return steps * static_cast<double>(kBatch) / seconds;
}

// --- The answer ------------------------------------------------------------------------------------------------------

// Shares are the largest differences divided by what rounding explains: at most 1 if all is well.
struct Checked {
  std::size_t compared = 0;    // examples without near-ties
  double share_of_ours = 0;    // of them
  double share_of_torch = 0;   // of them
  double share_of_batch = 0;   // the sum of the whole batch, beside its examples
  double share_with_ties = 0;  // ours for the other examples: above 1 if rounding decided a tie otherwise
};

// The same network without dropout, with the weights and the batch that the check uses on every machine and in every
// run.
class Answer {
 public:
  explicit Answer(Network network)
      : network_(without_dropout(std::move(network))),
        program_(program_of(network_)),
        data_(data_of(network_, static_cast<std::int32_t>(program_.outputs()))) {
    ReplayRandom random = ReplayRandom::create(3).value();
    weights_ = initial_weights(program_, random);
    const testing::GradientOracle oracle(network_.input, network_.layers);
    for (std::size_t row = 0; row < kBatch; ++row) {
      oracle_.push_back(oracle.at(weights_, data_.features.data() + row * network_.input.size(), data_.labels[row]));
    }
  }

  [[nodiscard]] Checked check() const {
    Checked checked;
    for (const auto& gradient : oracle_) checked.compared += gradient.near_ties == 0 ? 1 : 0;
    check_ours(checked);
    checked.share_of_torch = torch_share();
    return checked;
  }

 private:
  static Network without_dropout(Network network) {
    std::erase_if(network.layers,
                  [](const lanes::Layer& layer) { return std::holds_alternative<lanes::Dropout>(layer); });
    return network;
  }

  // Clipped, each example by itself, and the batch beside the sum of its examples.
  void check_ours(Checked& checked) const {
    const auto source = LanesSource::create(program_, data_, kThreads).value();
    const ClipRule rule = ClipRule::create(FlatClip{ClipNorm::of(kClip)}).value();
    const auto sum_of = [&](const std::vector<std::uint64_t>& rows) {
      ReplayRandom random = ReplayRandom::create(4).value();
      std::vector<float> sum(weights_.size());
      (void)source->add(weights_, rows, &rule, random, sum);
      return sum;
    };
    std::vector<double> total(weights_.size());
    std::vector<double> size(weights_.size());
    std::vector<std::uint64_t> rows;
    for (std::size_t row = 0; row < kBatch; ++row) {
      rows.push_back(row);
      const std::vector<float> found = sum_of({row});
      const std::vector<double> squared{oracle_[row].squared_norm()};
      std::vector<double> factor(1);
      const bool clipped = rule.factors(squared, 1, 1, factor) == 0;
      const double share = oracle_[row].largest_share(found, factor.front(), clipped);
      double& worst = oracle_[row].near_ties == 0 ? checked.share_of_ours : checked.share_with_ties;
      worst = std::max(worst, share);
      for (std::size_t i = 0; i < found.size(); ++i) {
        total[i] += static_cast<double>(found[i]);
        size[i] += std::abs(static_cast<double>(found[i]));
      }
    }
    // Adding n floats in any order strays from their sum by at most n units of what is added; each product that is
    // weighted on the way rounds a few times more.
    const std::vector<float> batch = sum_of(rows);
    if (sum_of(rows) != batch) checked.share_of_batch = HUGE_VAL;  // threads that race would give other bits
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double allowed = (static_cast<double>(kBatch) + 8) * testing::kUnit * size[i] + 1e-30;
      checked.share_of_batch =
          std::max(checked.share_of_batch, std::abs(static_cast<double>(batch[i]) - total[i]) / allowed);
    }
  }

  // Not clipped: what libtorch computes is the same function.
  [[nodiscard]] double torch_share() const {
    at::set_num_threads(kThreads);
    TorchNetwork net(network_);
    std::size_t at = 0;
    {
      const torch::NoGradGuard guard;
      for (torch::Tensor& parameter : net.parameters()) {
        const torch::Tensor values =
            torch::from_blob(const_cast<float*>(weights_.data()) + at, {parameter.numel()}).view_as(parameter);
        parameter.copy_(values);
        at += static_cast<std::size_t>(parameter.numel());
      }
    }
    const Batches all = batches_of(data_);
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& tensor :
         sample_gradients(net, all.features.narrow(0, 0, kBatch), all.labels.narrow(0, 0, kBatch))) {
      flat.push_back(tensor.detach().flatten(1));
    }
    const torch::Tensor samples = torch::cat(flat, 1).contiguous();
    double worst = 0;
    for (std::size_t row = 0; row < kBatch; ++row) {
      if (oracle_[row].near_ties > 0) continue;
      const float* first = samples.data_ptr<float>() + row * weights_.size();
      worst = std::max(worst, oracle_[row].largest_share({first, weights_.size()}, 1, false));
    }
    return worst;
  }

  Network network_;
  lanes::Program program_;
  Dataset data_;
  std::vector<float> weights_;
  std::vector<testing::GradientOracle::Gradient> oracle_;
};

// What is wrong with the answer, if anything.
std::optional<std::string> fault_of(const Checked& checked) {
  if (checked.compared < kBatch / 2) {
    return fmt::format("only {} of {} examples have no near-tie; choose another seed", checked.compared, kBatch);
  }
  const auto fault = [](std::string_view what, double share) {
    return fmt::format("{} is {:.3g} times as far off as rounding can explain", what, share);
  };
  if (!(checked.share_of_ours <= 1)) return fault("a gradient of ours", checked.share_of_ours);
  if (!(checked.share_of_torch <= 1)) return fault("a gradient of libtorch", checked.share_of_torch);
  if (!(checked.share_of_batch <= 1)) return fault("the sum of a batch", checked.share_of_batch);
  return std::nullopt;
}

// --- Processes -------------------------------------------------------------------------------------------------------

struct Measured {
  double rate = 0;
  double megabytes = 0;
};

double run_variant(const Network& network, const std::string& variant) {
  if (variant == "ours") return ours(network, true);
  if (variant == "ours, plain") return ours(network, false);
  return torch_loop(network, variant == "per-sample");
}

// Calls work() in a process of its own: libtorch's threads do not survive a fork, and memory is measured from its
// beginning.
template <class Work>
auto in_child(const std::string& what, Work work) {
  using Made = decltype(work());
  static_assert(std::is_trivially_copyable_v<Made>);
  Made made{};
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) std::exit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    made = work();
    const bool told = ::write(pipe_ends[1], &made, sizeof made) == sizeof made;
    std::_Exit(told ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  const bool heard = ::read(pipe_ends[0], &made, sizeof made) == sizeof made;
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!heard || status != 0) {
    fmt::print(stderr, "{} failed\n", what);
    std::exit(1);
  }
  return made;
}

Measured measure(const Network& network, const std::string& variant) {
  return in_child(fmt::format("{} of {}", variant, network.name), [&] {
    Measured measured;
    measured.rate = run_variant(network, variant);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    measured.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
    return measured;
  });
}

// Checks the answers of all networks. Ends the program if one is wrong.
nlohmann::ordered_json check_answers() {
  auto json = nlohmann::ordered_json::array();
  fmt::print("The answer, batch {}: largest errors as shares of what rounding explains\n\n", kBatch);
  fmt::print("{:<14} {:>10} {:>9} {:>9} {:>9}\n", "", "near-ties", "ours", "torch", "batch");
  for (const Network& network : networks()) {
    const Checked checked =
        in_child(fmt::format("the check of {}", network.name), [&] { return Answer(network).check(); });
    fmt::print("{:<14} {:>10} {:>9.3f} {:>9.3f} {:>9.3f}\n", network.name, kBatch - checked.compared,
               checked.share_of_ours, checked.share_of_torch, checked.share_of_batch);
    if (const auto fault = fault_of(checked)) {
      fmt::print(stderr, "{}: {}\n", network.name, *fault);
      std::exit(1);
    }
    json.push_back({{"network", network.name},
                    {"compared", checked.compared},
                    {"share_of_ours", checked.share_of_ours},
                    {"share_of_torch", checked.share_of_torch},
                    {"share_of_batch", checked.share_of_batch},
                    {"share_with_ties", checked.share_with_ties}});
  }
  fmt::print("\n");
  return json;
}

int run(const char* json_path) {
  const auto answers = check_answers();
  auto table = nlohmann::ordered_json::array();
  fmt::print("Training, batch {}, {} threads: examples/s (peak MB)\n\n", kBatch, kThreads);
  fmt::print("{:<14} {:>16} {:>16} {:>16} {:>16} {:>9} {:>12} {:>10}\n", "", "ours", "ours, plain", "torch",
             "per-sample", "/ torch", "/ per-sample", "plain/ours");
  for (const Network& network : networks()) {
    const Measured own = measure(network, "ours");
    const Measured plain = measure(network, "ours, plain");
    const Measured torch = measure(network, "torch");
    const Measured samples = measure(network, "per-sample");
    const auto cell = [](const Measured& m) { return fmt::format("{:.0f} ({:.0f})", m.rate, m.megabytes); };
    fmt::print("{:<14} {:>16} {:>16} {:>16} {:>16} {:>8.2f}x {:>11.2f}x {:>9.2f}x\n", network.name, cell(own),
               cell(plain), cell(torch), cell(samples), own.rate / torch.rate, own.rate / samples.rate,
               plain.rate / own.rate);
    const auto json = [](const Measured& m) {
      return nlohmann::ordered_json{{"examples_per_second", m.rate}, {"peak_mb", m.megabytes}};
    };
    table.push_back({{"network", network.name},
                     {"ours", json(own)},
                     {"ours_plain", json(plain)},
                     {"torch", json(torch)},
                     {"per_sample", json(samples)}});
  }
  std::ofstream(json_path) << nlohmann::ordered_json{{"answers", answers}, {"rates", table}}.dump(2) << '\n';
  return 0;
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: training_bench JSON | --check\n");
    return 2;
  }
  // torch should run at its best, whatever its BLAS knows about this processor.
  if (noisefloor::set_openblas_core()) (void)::execv("/proc/self/exe", argv);
  if (std::string_view(argv[1]) == "--check") return noisefloor::check_answers().empty() ? 1 : 0;
  return noisefloor::run(argv[1]);
}
