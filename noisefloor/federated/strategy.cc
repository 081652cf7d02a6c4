#include "noisefloor/federated/strategy.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/base/check.h"

namespace noisefloor::federated {
namespace {

bool is_adaptive(StrategyKind kind) {
  return kind == StrategyKind::kFedAdagrad || kind == StrategyKind::kFedYogi || kind == StrategyKind::kFedAdam;
}

Result<void> expect(bool holds, std::string_view what, double value, std::string_view requirement) {
  if (holds) return success();
  return invalid_argument(fmt::format("{} must be {}, and is {}", what, requirement, value));
}

bool is_positive(double value) { return value > 0 && std::isfinite(value); }
bool is_decay(double value) { return value >= 0 && value < 1; }

double next_second(StrategyKind kind, double beta2, double v, double square) {
  if (kind == StrategyKind::kFedAdagrad) return v + square;
  if (kind == StrategyKind::kFedAdam) return beta2 * v + (1 - beta2) * square;
  const double sign = v > square ? 1 : v < square ? -1 : 0;
  return v - (1 - beta2) * square * sign;
}

}  // namespace

std::string_view name_of(StrategyKind kind) {
  for (const auto& [name, value] : kStrategies) {
    if (value == kind) return name;
  }
  return "unknown";
}

Result<Strategy> Strategy::create(const StrategyOptions& options, std::size_t parameters) {
  NF_TRY_VOID(expect(is_positive(options.server_rate), "the server's rate", options.server_rate, "above 0"));
  NF_TRY_VOID(expect(is_decay(options.momentum), "the server's momentum", options.momentum, "0 or above and below 1"));
  NF_TRY_VOID(expect(is_decay(options.beta1), "beta1", options.beta1, "0 or above and below 1"));
  NF_TRY_VOID(expect(is_decay(options.beta2), "beta2", options.beta2, "0 or above and below 1"));
  NF_TRY_VOID(expect(is_positive(options.tau), "tau", options.tau, "above 0"));
  NF_TRY_VOID(expect(options.proximal >= 0 && std::isfinite(options.proximal), "the proximal weight", options.proximal,
                     "0 or above"));
  NF_TRY_VOID(expect(is_positive(options.local_rate), "the local rate", options.local_rate, "above 0"));
  if (options.local_steps == 0) return invalid_argument("sites must make at least one local step");
  if (parameters == 0) return invalid_argument("a model needs at least one parameter");
  return Strategy(options, parameters);
}

StrategyState Strategy::initial() const {
  StrategyState state;
  if (options_.kind == StrategyKind::kFedAvgM || is_adaptive(options_.kind)) state.first.assign(parameters_, 0);
  if (is_adaptive(options_.kind)) state.second.assign(parameters_, options_.tau * options_.tau);
  if (options_.kind == StrategyKind::kScaffold) state.control.assign(parameters_, 0);
  return state;
}

Result<Strategy::Moved> Strategy::move(std::span<const float> model, const RoundMean& mean,
                                       const StrategyState& state) const {
  const StrategyState like = initial();
  if (model.size() != parameters_ || mean.update.size() != parameters_) {
    return invalid_argument(fmt::format("the model has {} parameters, the mean {}, and the strategy is for {}",
                                        model.size(), mean.update.size(), parameters_));
  }
  if (state.first.size() != like.first.size() || state.second.size() != like.second.size() ||
      state.control.size() != like.control.size()) {
    return invalid_argument("this state belongs to another strategy or model: begin with initial()");
  }
  if (!(mean.share >= 0 && mean.share <= 1)) {
    return invalid_argument(fmt::format("the sites' share of the weight must be in [0, 1], and is {}", mean.share));
  }
  if (!is_positive(mean.steps)) return invalid_argument("the mean number of local steps must be finite and above 0");
  Moved moved{{model.begin(), model.end()}, state};
  ++moved.state.rounds;
  const double controlled = mean.share / (static_cast<double>(options_.local_steps) * options_.local_rate);
  for (std::size_t k = 0; k < parameters_; ++k) {
    const double update = mean.update[k];
    double step = update;
    switch (options_.kind) {
      case StrategyKind::kFedAvg:
      case StrategyKind::kFedProx:
        break;
      case StrategyKind::kFedAvgM:
        step = moved.state.first[k] = options_.momentum * state.first[k] + update;
        break;
      case StrategyKind::kScaffold:
        moved.state.control[k] = (1 - mean.share) * state.control[k] - controlled * update;
        break;
      case StrategyKind::kFedNova:
        step = mean.steps * update;
        break;
      default: {
        const double m = moved.state.first[k] = options_.beta1 * state.first[k] + (1 - options_.beta1) * update;
        const double v = moved.state.second[k] =
            next_second(options_.kind, options_.beta2, state.second[k], update * update);
        step = m / (std::sqrt(v) + options_.tau);
      }
    }
    moved.model[k] = static_cast<float>(static_cast<double>(model[k]) + options_.server_rate * step);
    if (!std::isfinite(update) || !std::isfinite(moved.model[k])) {
      return Error{ErrorCode::kProtocol,
                   "this round would move the model to numbers that are not finite: lower the "
                   "server's rate, or clip updates"};
    }
  }
  return moved;
}

void Strategy::correct(std::span<float> gradient, std::span<const float> y, std::span<const float> x,
                       std::span<const double> control, std::span<const double> own) const {
  NF_CHECK(gradient.size() == y.size() && y.size() == x.size(), "spans of one size");
  if (options_.kind == StrategyKind::kFedProx) {
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      gradient[k] += static_cast<float>(options_.proximal * (static_cast<double>(y[k]) - static_cast<double>(x[k])));
    }
  }
  if (options_.kind != StrategyKind::kScaffold) return;
  NF_CHECK((control.empty() || control.size() == y.size()) && (own.empty() || own.size() == y.size()),
           "controls have the model's size");
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    const double difference = (control.empty() ? 0 : control[k]) - (own.empty() ? 0 : own[k]);
    gradient[k] = static_cast<float>(static_cast<double>(gradient[k]) + difference);
  }
}

std::vector<double> Strategy::next_own_control(std::span<const double> own, std::span<const double> control,
                                               std::span<const float> sent) const {
  std::vector<double> next(sent.size());
  const double scale = static_cast<double>(options_.local_steps) * options_.local_rate;
  for (std::size_t k = 0; k < sent.size(); ++k) {
    next[k] = (own.empty() ? 0 : own[k]) - (control.empty() ? 0 : control[k]) - static_cast<double>(sent[k]) / scale;
  }
  return next;
}

}  // namespace noisefloor::federated
