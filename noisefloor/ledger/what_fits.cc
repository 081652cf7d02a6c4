#include "noisefloor/ledger/what_fits.h"
#include "noisefloor/numerics/bisect.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <utility>

namespace noisefloor {
namespace {

constexpr double kMostNoise = 1e300;
// Nobody wants a use that is changed by more than this factor.
constexpr double kUseful = 20;
// The smallest fraction of a sampling rate that is tried.
constexpr double kLeastRate = 1e-6;
// Six digits are shown. This factor keeps a value on the safe side when it is rounded to them.
constexpr double kForDigits = 1 + 2e-6;

// Returns the quantity times `factor`, or nothing if that is outside of its range.
template <class T>
std::optional<T> scaled(T quantity, double factor) {
  const Result<T> made = T::make(quantity.value() * factor);
  if (!made.has_value()) return std::nullopt;
  return made.value();
}

class MoreNoise {
 public:
  explicit MoreNoise(double factor) : factor_(factor) {}

  std::optional<DpEvent> operator()(const DpEvent& event) const {
    return std::visit([&](const auto& kind) { return of(kind); }, event.kind());
  }

 private:
  // Returns the event with one member scaled.
  template <class Kind, class T>
  std::optional<DpEvent> changed(Kind kind, T Kind::*member, double factor) const {
    const std::optional<T> value = scaled(kind.*member, factor);
    if (!value) return std::nullopt;
    kind.*member = *value;
    return DpEvent(std::move(kind));
  }
  template <class Kind>
  std::optional<DpEvent> of(const Kind& kind) const {
    if constexpr (requires { kind.event; }) {
      std::optional<DpEvent> inner = (*this)(kind.event);
      if (!inner) return std::nullopt;
      Kind outer = kind;
      outer.event = *std::move(inner);
      return DpEvent(std::move(outer));
    } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
      ComposedEvent all;
      for (const DpEvent& part : kind.events) {
        std::optional<DpEvent> more = (*this)(part);
        if (!more) return std::nullopt;
        all.events.push_back(*std::move(more));
      }
      return DpEvent(std::move(all));
    } else if constexpr (requires { kind.noise_multiplier; }) {
      return changed(kind, &Kind::noise_multiplier, factor_);
    } else if constexpr (requires { kind.sigma; }) {
      return changed(kind, &Kind::sigma, factor_);
    } else if constexpr (requires { kind.scale; }) {
      return changed(kind, &Kind::scale, factor_);
    } else if constexpr (requires { kind.variance; }) {
      return changed(kind, &Kind::variance, factor_ * factor_);
    } else if constexpr (requires { kind.rho; }) {
      return changed(kind, &Kind::rho, 1 / factor_ / factor_);
    } else if constexpr (requires { kind.epsilon; }) {
      return changed(kind, &Kind::epsilon, 1 / factor_);
    } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
      return DpEvent(kind);
    } else {
      return std::nullopt;
    }
  }

  double factor_;
};

// The one mechanism that an event consists of, without its repetitions and its sampling.
const DpEvent& innermost(const DpEvent& event) {
  if (const auto* repeated = std::get_if<SelfComposedEvent>(&event.kind())) return innermost(repeated->event);
  if (const auto* sampled = std::get_if<PoissonSampledEvent>(&event.kind())) return innermost(sampled->event);
  return event;
}

std::string describe_noise(const DpEvent& event, double factor) {
  return std::visit(
      [&](const auto& kind) {
        if constexpr (requires { kind.noise_multiplier; }) {
          return fmt::format("noise multiplier {:.6g}", kind.noise_multiplier.value());
        } else if constexpr (requires { kind.sigma; }) {
          return fmt::format("sigma {:.6g}", kind.sigma.value());
        } else if constexpr (requires { kind.scale; }) {
          return fmt::format("scale {:.6g}", kind.scale.value());
        } else if constexpr (requires { kind.rho; }) {
          return fmt::format("rho {:.6g}", kind.rho.value());
        } else if constexpr (requires { kind.epsilon; }) {
          return fmt::format("epsilon {:.6g}", kind.epsilon.value());
        } else {
          return fmt::format("{:.6g} times the noise", factor);
        }
      },
      innermost(event).kind());
}

// Whether an event may be charged to an account with these terms.
using Fits = std::function<bool(const std::optional<DpEvent>&)>;

Fits fits_in(const BudgetTerms& terms, const Account& account, std::optional<Delta> delta) {
  return [&terms, &account, delta](const std::optional<DpEvent>& candidate) {
    if (!candidate) return false;
    const Result<Charge> charge = charge_for(terms, *candidate, delta);
    return charge.has_value() && account.fits(charge.value(), {});
  };
}

// Nearly the smallest factor above 1 that makes the event fit when its noise is multiplied by it.
std::optional<double> noise_factor(const DpEvent& event, const Fits& fits) {
  double low = 1;
  double high = 2;
  while (high < kMostNoise && !fits(with_more_noise(event, high))) low = high, high *= high;
  if (high >= kMostNoise) return std::nullopt;
  const Bracket found =
      bisect_ratio({high, low}, 1.0005, 100, [&](double factor) { return fits(with_more_noise(event, factor)); });
  return found.holds * kForDigits;
}

// The largest number of steps that fit.
std::optional<std::uint64_t> most_steps(const SelfComposedEvent& repeated, const Fits& fits) {
  const auto fit = [&](std::uint64_t steps) {
    return fits(SelfComposedEvent{Steps::make(steps).value(), repeated.event});
  };
  const std::uint64_t all = repeated.count.value();
  if (all <= 1 || !fit(1)) return std::nullopt;
  if (fit(all)) return all;
  return bisect_counts({1, all}, fit).holds;
}

// Nearly the largest sampling rate that fits. `repeated` is the whole event, if its steps are repeated.
std::optional<double> largest_rate(const PoissonSampledEvent& sampled, const SelfComposedEvent* repeated,
                                   const Fits& fits) {
  const auto fit = [&](double rate) {
    const Result<SamplingRate> made = SamplingRate::make(rate);
    if (!made.has_value()) return false;
    DpEvent one = PoissonSampledEvent{made.value(), sampled.event};
    return fits(repeated == nullptr ? one : DpEvent(SelfComposedEvent{repeated->count, one}));
  };
  const double asked = sampled.sampling_rate.value();
  const double least = asked * kLeastRate;
  if (!fit(least)) return std::nullopt;
  if (fit(asked)) return asked;
  return bisect_ratio({least, asked}, 1.0005, 100, fit).holds / kForDigits;
}

}  // namespace

std::optional<DpEvent> with_more_noise(const DpEvent& event, double factor) { return MoreNoise(factor)(event); }

std::uint64_t how_many_fit(const Account& account, const Charge& charge, const std::string& item, std::uint64_t limit) {
  Account copy = account;
  std::uint64_t count = 0;
  while (count < limit && copy.spend(charge, item).has_value()) ++count;
  return count;
}

std::vector<std::string> what_fits(const BudgetTerms& terms, const Account& account, const DpEvent& event,
                                   std::optional<Delta> delta) {
  std::vector<std::string> phrases;
  if (terms.rule == Rule::kPlanned) return phrases;
  const Result<Account> unused = Account::open(terms);
  if (!unused.has_value()) return phrases;
  const Fits fits = fits_in(terms, account, delta);
  const Fits fits_unused = fits_in(terms, unused.value(), delta);
  if (const std::optional<double> factor = noise_factor(event, fits)) {
    const double least = *factor <= kUseful || fits_unused(event) ? 1 : noise_factor(event, fits_unused).value_or(1);
    const std::optional<DpEvent> candidate = with_more_noise(event, *factor);
    if (*factor <= kUseful * least && fits(candidate)) phrases.push_back(describe_noise(*candidate, *factor));
  }
  const auto* repeated = std::get_if<SelfComposedEvent>(&event.kind());
  if (repeated != nullptr) {
    const std::optional<std::uint64_t> steps = most_steps(*repeated, fits);
    if (steps && static_cast<double>(*steps) * kUseful >=
                     static_cast<double>(most_steps(*repeated, fits_unused).value_or(*steps))) {
      phrases.push_back(fmt::format("at most {} step{}", *steps, *steps == 1 ? "" : "s"));
    }
  }
  const DpEvent& step = repeated != nullptr ? repeated->event : event;
  if (const auto* sampled = std::get_if<PoissonSampledEvent>(&step.kind())) {
    const std::optional<double> rate = largest_rate(*sampled, repeated, fits);
    if (rate && *rate * kUseful >= largest_rate(*sampled, repeated, fits_unused).value_or(*rate)) {
      phrases.push_back(fmt::format("sampling rate {:.6g}", *rate));
    }
  }
  return phrases;
}

}  // namespace noisefloor
