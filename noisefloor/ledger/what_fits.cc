#include "noisefloor/ledger/what_fits.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace noisefloor {
namespace {

constexpr double kMostNoise = 1e300;
// Six digits are shown. This much further on the safe side, rounding to them does no harm.
constexpr double kForDigits = 1 + 2e-6;

// A quantity scaled, or nothing where it leaves its range.
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
  // One member changed.
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

// The one mechanism that an event consists of, however often it is done and sampled for.
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
  const auto fits = [&](const std::optional<DpEvent>& candidate) {
    if (!candidate) return false;
    const Result<Charge> charge = charge_for(terms, *candidate, delta);
    return charge.has_value() && account.fits(charge.value(), {});
  };
  double low = 1;
  double high = 2;
  while (high < kMostNoise && !fits(with_more_noise(event, high))) low = high, high *= high;
  if (high < kMostNoise) {
    while (high > low * 1.0005) {
      const double middle = std::sqrt(low * high);
      (fits(with_more_noise(event, middle)) ? high : low) = middle;
    }
    high *= kForDigits;
    if (const std::optional<DpEvent> candidate = with_more_noise(event, high); fits(candidate)) {
      phrases.push_back(describe_noise(*candidate, high));
    }
  }
  const auto* repeated = std::get_if<SelfComposedEvent>(&event.kind());
  const auto with_steps = [&](std::uint64_t steps) {
    return std::optional<DpEvent>(SelfComposedEvent{Steps::make(steps).value(), repeated->event});
  };
  if (repeated != nullptr && repeated->count.value() > 1 && fits(with_steps(1))) {
    std::uint64_t some = 1;
    std::uint64_t too_many = repeated->count.value();
    while (too_many - some > 1) {
      const std::uint64_t middle = some + (too_many - some) / 2;
      (fits(with_steps(middle)) ? some : too_many) = middle;
    }
    phrases.push_back(fmt::format("at most {} step{}", some, some == 1 ? "" : "s"));
  }
  const DpEvent& step = repeated != nullptr ? repeated->event : event;
  if (const auto* sampled = std::get_if<PoissonSampledEvent>(&step.kind())) {
    const auto with_rate = [&](double rate) -> std::optional<DpEvent> {
      const Result<SamplingRate> made = SamplingRate::make(rate);
      if (!made.has_value()) return std::nullopt;
      DpEvent one = PoissonSampledEvent{made.value(), sampled->event};
      return repeated == nullptr ? one : DpEvent(SelfComposedEvent{repeated->count, one});
    };
    const double rate = sampled->sampling_rate.value();
    if (fits(with_rate(rate * 1e-6))) {
      double some = rate * 1e-6;
      double too_much = rate;
      while (too_much > some * 1.0005) {
        const double middle = std::sqrt(some * too_much);
        (fits(with_rate(middle)) ? some : too_much) = middle;
      }
      phrases.push_back(fmt::format("sampling rate {:.6g}", some / kForDigits));
    }
  }
  return phrases;
}

}  // namespace noisefloor
