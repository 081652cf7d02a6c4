#include "noisefloor/torch/tape.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

thread_local Tape* active_tape = nullptr;
thread_local std::int64_t active_multiplicity = 1;

bool is_trainable(const torch::Tensor& parameter) { return parameter.defined() && parameter.requires_grad(); }

std::string layer_of(const std::string& parameter_name) {
  const std::size_t dot = parameter_name.rfind('.');
  return dot == std::string::npos ? "" : parameter_name.substr(0, dot);
}

}  // namespace

// One output that was observed, shared by the tape and the graph.
struct Tape::Observation : torch::CustomClassHolder {
  Batch batch;
  std::vector<std::size_t> parameters;
  std::vector<Rule> rules;                 // of each parameter, until the gradient comes
  std::vector<std::unique_ptr<Use>> uses;  // of each parameter, from then on
  std::vector<torch::Tensor> to_save;
  int times_reached = 0;
  bool forgotten = false;

  void reach(const std::vector<torch::Tensor>& saved, const torch::Tensor& output_gradient) {
    ++times_reached;
    if (forgotten || times_reached > 1) return;
    if (batch.examples > 0)
      for (const Rule& rule : rules) uses.push_back(rule(batch, saved, output_gradient));
    rules.clear();
  }

  void forget() {
    forgotten = true;
    rules.clear();
    uses.clear();
  }
};

struct Tape::Observe : torch::autograd::Function<Tape::Observe> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& output,
                               const torch::Tensor& /*parameter*/, const c10::intrusive_ptr<Observation>& observation) {
    context->save_for_backward(std::move(observation->to_save));
    context->saved_data["observation"] = c10::IValue::make_capsule(observation);
    return output.detach();
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const torch::NoGradGuard no_grad;
    const auto observation =
        c10::static_intrusive_pointer_cast<Observation>(context->saved_data["observation"].toCapsule());
    observation->reach(context->get_saved_variables(), gradients[0].detach());
    return {gradients[0], torch::Tensor(), torch::Tensor()};
  }
};

Tape::Tape(const torch::nn::Module& module, NormOptions options) : options_(options) {
  for (const auto& item : module.named_parameters()) {
    if (!is_trainable(item.value()) || index_of(item.value())) continue;
    const std::string layer = layer_of(item.key());
    if (groups_.empty() || groups_.back() != layer) groups_.push_back(layer);
    parameters_.push_back({item.key(), item.value(), groups_.size() - 1});
  }
}

Tape::~Tape() { clear(); }

Tape::Recording::Recording(Tape& tape, std::int64_t multiplicity)
    : outer_(active_tape), outer_multiplicity_(active_multiplicity) {
  NF_CHECK(multiplicity >= 1, "an example has one row at least");
  active_tape = &tape;
  active_multiplicity = multiplicity;
}

Tape::Recording::~Recording() {
  active_tape = outer_;
  active_multiplicity = outer_multiplicity_;
}

Tape* Tape::recording(std::initializer_list<torch::Tensor> parameters) {
  if (active_tape == nullptr || !torch::GradMode::is_enabled()) return nullptr;
  return std::any_of(parameters.begin(), parameters.end(), is_trainable) ? active_tape : nullptr;
}

torch::Tensor Tape::observe(const torch::Tensor& output, std::vector<torch::Tensor> saved, std::vector<Term> terms) {
  auto observation = c10::make_intrusive<Observation>();
  const std::int64_t rows = output.dim() > 0 ? output.size(0) : 0;
  if (rows % active_multiplicity != 0)
    refuse(fmt::format("{} rows are not a multiple of {} rows an example", rows, active_multiplicity));
  observation->batch = {rows / active_multiplicity, active_multiplicity};
  torch::Tensor connection;
  for (Term& term : terms) {
    if (!is_trainable(term.parameter)) continue;
    connection = term.parameter;
    if (const std::optional<std::size_t> index = index_of(term.parameter)) {
      observation->parameters.push_back(*index);
      observation->rules.push_back(std::move(term.rule));
    } else {
      refuse(
          "a trainable parameter was used that the tape does not know: make the tape from the module that owns it, "
          "after choosing what to train");
    }
  }
  if (!connection.defined()) return output;
  if (refusal_) observation->rules.clear();  // they may not fit the shapes
  for (torch::Tensor& tensor : saved) tensor = tensor.detach();
  observation->to_save = std::move(saved);
  if (!observation->parameters.empty()) observations_.push_back(observation);
  return Observe::apply(output, connection, observation);
}

void Tape::refuse(std::string why) {
  if (!refusal_) refusal_ = std::move(why);
}

std::optional<std::size_t> Tape::index_of(const torch::Tensor& parameter) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const TapeParameter& known) { return known.tensor.is_same(parameter); });
  if (found == parameters_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - parameters_.begin());
}

Result<std::int64_t> Tape::check() const {
  if (refusal_) return invalid_argument(*refusal_);
  std::vector<bool> covered(parameters_.size(), false);
  bool reached = parameters_.empty();
  for (const auto& observation : observations_) {
    for (std::size_t parameter : observation->parameters) covered[parameter] = true;
    if (observation->times_reached > 1)
      return invalid_argument("backward() ran more than once over one recording: clear the tape and record again");
    reached = reached || observation->times_reached == 1;
    if (observation->batch.examples != observations_.front()->batch.examples)
      return invalid_argument(fmt::format(
          "parameter {}: {} examples, where {} has {}: the batch must come first in every layer's input",
          parameters_[observation->parameters.front()].name, observation->batch.examples,
          parameters_[observations_.front()->parameters.front()].name, observations_.front()->batch.examples));
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].tensor.grad().defined())
      return invalid_argument(
          fmt::format("parameter {} has a .grad: it was used outside of a private layer, or an earlier "
                      ".grad was not set to undefined",
                      parameters_[i].name));
    if (!covered[i])
      return invalid_argument(
          fmt::format("parameter {} was not used by a private layer: replace its layer (validator.h), or "
                      "freeze it",
                      parameters_[i].name));
  }
  if (!reached)
    return invalid_argument("no gradient has reached a private layer: call backward() on the sum of the losses");
  return observations_.empty() ? 0 : observations_.front()->batch.examples;
}

std::vector<std::vector<Use*>> Tape::uses() const {
  std::vector<std::vector<Use*>> result(parameters_.size());
  for (const auto& observation : observations_)
    for (std::size_t i = 0; i < observation->uses.size(); ++i)
      result[observation->parameters[i]].push_back(observation->uses[i].get());
  return result;
}

torch::Tensor Tape::norms_of_sum(const std::vector<Use*>& uses, std::int64_t examples, std::int64_t numbers) const {
  std::vector<torch::Tensor> parts;
  const std::int64_t step = examples_at_once(numbers * std::int64_t{sizeof(double)} * 3, options_.buffer_bytes);
  for (std::int64_t begin = 0; begin < examples; begin += step) {
    const std::int64_t end = std::min(begin + step, examples);
    torch::Tensor sum = uses.front()->per_example_gradients(begin, end);
    for (std::size_t i = 1; i < uses.size(); ++i) sum = sum + uses[i]->per_example_gradients(begin, end);
    parts.push_back(sum.flatten(1).square().sum(1));
  }
  return torch::cat(parts);
}

Result<torch::Tensor> Tape::squared_norms() {
  const torch::NoGradGuard no_grad;
  NF_TRY(const std::int64_t examples, check());
  const torch::Device device = parameters_.empty() ? torch::Device(torch::kCPU) : parameters_.front().tensor.device();
  torch::Tensor norms = torch::zeros({static_cast<std::int64_t>(groups_.size()), examples},
                                     torch::TensorOptions(torch::kDouble).device(device));
  const std::vector<std::vector<Use*>> all = uses();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    const torch::Tensor squared = all[i].size() == 1 ? all[i].front()->squared_norms(options_)
                                                     : norms_of_sum(all[i], examples, parameters_[i].tensor.numel());
    norms[static_cast<std::int64_t>(parameters_[i].group)] += squared.to(device);
  }
  return norms;
}

Result<std::vector<torch::Tensor>> Tape::weighted_gradients(const torch::Tensor& factors) {
  std::vector<torch::Tensor> sums;
  for (const TapeParameter& parameter : parameters_) sums.push_back(torch::zeros_like(parameter.tensor.detach()));
  NF_TRY_VOID(add_weighted_gradients(factors, sums));
  return sums;
}

Result<void> Tape::add_weighted_gradients(const torch::Tensor& factors, std::span<const torch::Tensor> sums) {
  const torch::NoGradGuard no_grad;
  NF_TRY(const std::int64_t examples, check());
  const auto groups = static_cast<std::int64_t>(groups_.size());
  if (factors.dim() != 2 || factors.size(1) != examples || (factors.size(0) != groups && factors.size(0) != 1))
    return invalid_argument(fmt::format("factors must be [{}, {}] or [1, {}]", groups, examples, examples));
  NF_CHECK(sums.size() == parameters_.size(), "one sum a parameter");
  const torch::Tensor finite = torch::where(torch::isfinite(factors), factors, torch::zeros_like(factors));
  std::vector<ExampleWeights> weights;
  for (std::int64_t row = 0; row < finite.size(0); ++row) weights.emplace_back(finite[row]);
  const std::vector<std::vector<Use*>> all = uses();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ExampleWeights& of_group = weights[weights.size() == 1 ? 0 : parameters_[i].group];
    if (of_group.empty()) continue;
    torch::Tensor sum = sums[i];
    for (Use* use : all[i]) sum.add_(use->weighted_gradient(of_group));
  }
  return success();
}

Result<std::vector<torch::Tensor>> Tape::per_example_gradients() {
  const torch::NoGradGuard no_grad;
  NF_TRY(const std::int64_t examples, check());
  std::vector<torch::Tensor> result;
  const std::vector<std::vector<Use*>> all = uses();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::int64_t> shape = parameters_[i].tensor.sizes().vec();
    shape.insert(shape.begin(), examples);
    torch::Tensor sum = torch::zeros(shape, parameters_[i].tensor.options().dtype(torch::kDouble).requires_grad(false));
    for (Use* use : all[i]) sum += use->per_example_gradients(0, examples);
    result.push_back(sum);
  }
  return result;
}

void Tape::clear() {
  for (const auto& observation : observations_) observation->forget();
  observations_.clear();
  refusal_.reset();
}

}  // namespace noisefloor
