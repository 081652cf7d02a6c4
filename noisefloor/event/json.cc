#include "noisefloor/event/json.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/event/event_fields.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// --- One description of each kind's fields, used for writing and for reading -----------------------------------------

// Calls visitor(name, field) for every field of an event kind, in the order of the format.
template <class Event, class Visitor>
void for_each_field(Event& e, Visitor&& visit) {
  using Kind = std::remove_const_t<Event>;
  if constexpr (std::is_same_v<Kind, GaussianEvent> || std::is_same_v<Kind, LaplaceEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
  } else if constexpr (std::is_same_v<Kind, DiscreteGaussianEvent>) {
    visit("sigma", e.sigma);
    visit("summands", e.summands);
    visit("l1_sensitivity", e.l1_sensitivity);
    visit("l2_sensitivity", e.l2_sensitivity);
    visit("dimension", e.dimension);
  } else if constexpr (std::is_same_v<Kind, DiscreteLaplaceEvent>) {
    visit("scale", e.scale);
    visit("l1_sensitivity", e.l1_sensitivity);
  } else if constexpr (std::is_same_v<Kind, SkellamEvent>) {
    visit("variance", e.variance);
    visit("l1_sensitivity", e.l1_sensitivity);
    visit("l2_sensitivity", e.l2_sensitivity);
    visit("dimension", e.dimension);
  } else if constexpr (std::is_same_v<Kind, RandomizedResponseEvent>) {
    visit("epsilon", e.epsilon);
    visit("categories", e.categories);
  } else if constexpr (std::is_same_v<Kind, ExponentialEvent> || std::is_same_v<Kind, PermuteAndFlipEvent>) {
    visit("epsilon", e.epsilon);
  } else if constexpr (std::is_same_v<Kind, EpsilonDeltaEvent>) {
    visit("epsilon", e.epsilon);
    visit("delta", e.delta);
  } else if constexpr (std::is_same_v<Kind, ZcdpEvent>) {
    visit("rho", e.rho);
    visit("delta", e.delta);
  } else if constexpr (std::is_same_v<Kind, NonPrivateEvent>) {
    visit("reason", e.reason);
  } else if constexpr (std::is_same_v<Kind, TreeAggregationEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
    visit("steps", e.steps);
  } else if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
    visit("sampling_rate", e.sampling_rate);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, FixedSizeSampledEvent>) {
    visit("sample_size", e.sample_size);
    visit("population", e.population);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, ShuffledEvent>) {
    visit("reports", e.reports);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
    visit("count", e.count);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
    visit("events", e.events);
  } else if constexpr (std::is_same_v<Kind, RepeatAndSelectEvent>) {
    visit("eta", e.eta);
    visit("gamma", e.gamma);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, PoissonRepeatAndSelectEvent>) {
    visit("mean", e.mean);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, TreeRestartsEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
    visit("steps", e.steps);
    visit("participations", e.participations);
  } else if constexpr (std::is_same_v<Kind, MatrixFactorizationEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
    visit("coefficients", e.coefficients);
    visit("steps", e.steps);
    visit("min_separation", e.min_separation);
    visit("participations", e.participations);
  } else if constexpr (std::is_same_v<Kind, SampledFactorizationEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
    visit("coefficients", e.coefficients);
    visit("steps", e.steps);
    visit("groups", e.groups);
    visit("sampling_rate", e.sampling_rate);
  } else if constexpr (std::is_same_v<Kind, GaussianMixtureEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
    visit("sensitivities", e.sensitivities);
    visit("probabilities", e.probabilities);
  } else if constexpr (std::is_same_v<Kind, BallsInBinsEvent>) {
    visit("noise_multiplier", e.noise_multiplier);
    visit("bins", e.bins);
    visit("epochs", e.epochs);
  } else if constexpr (std::is_same_v<Kind, TruncatedPoissonSampledEvent>) {
    visit("sampling_rate", e.sampling_rate);
    visit("max_batch", e.max_batch);
    visit("population", e.population);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, SampledWithReplacementEvent>) {
    visit("sample_size", e.sample_size);
    visit("population", e.population);
    visit("event", e.event);
  } else if constexpr (std::is_same_v<Kind, GroupEvent>) {
    visit("size", e.size);
    visit("event", e.event);
  } else {
    static_assert(std::is_same_v<Kind, ZeroCostEvent>);
  }
}

// An event of each kind with arbitrary valid fields, to be overwritten by the reader. In the order of the variant.
std::vector<DpEvent> blank_events() {
  const DpEvent zero = ZeroCostEvent{};
  constexpr auto l1 = L1Sensitivity::of(1);
  constexpr auto l2 = L2Sensitivity::of(1);
  constexpr auto dimension = Dimension::of(1);
  constexpr auto z = NoiseMultiplier::of(1);
  constexpr auto one = Steps::of(1);
  return {GaussianEvent{NoiseMultiplier::of(1)},
          LaplaceEvent{NoiseMultiplier::of(1)},
          DiscreteGaussianEvent{NoiseScale::of(1), Contributors::of(1), l1, l2, dimension},
          DiscreteLaplaceEvent{NoiseScale::of(1), l1},
          SkellamEvent{NoiseVariance::of(1), l1, l2, dimension},
          RandomizedResponseEvent{Epsilon::of(1), Categories::of(2)},
          ExponentialEvent{Epsilon::of(1)},
          PermuteAndFlipEvent{Epsilon::of(1)},
          EpsilonDeltaEvent{PrivacyLoss::of(1), Delta::of(0)},
          ZcdpEvent{Rho::of(1), Delta::of(0)},
          zero,
          NonPrivateEvent{""},
          TreeAggregationEvent{NoiseMultiplier::of(1), Steps::of(1)},
          PoissonSampledEvent{SamplingRate::of(1), zero},
          FixedSizeSampledEvent{Rows::of(1), Rows::of(1), zero},
          ShuffledEvent{Rows::of(1), zero},
          SelfComposedEvent{Steps::of(1), zero},
          ComposedEvent{{}},
          RepeatAndSelectEvent{RunShape::of(1), RunGamma::of(0.5), zero},
          PoissonRepeatAndSelectEvent{MeanRuns::of(1), zero},
          TreeRestartsEvent{z, {one}, one},
          MatrixFactorizationEvent{z, {1}, one, one, one},
          SampledFactorizationEvent{z, {1}, one, one, SamplingRate::of(1)},
          GaussianMixtureEvent{z, {1}, {1}},
          BallsInBinsEvent{z, one, one},
          TruncatedPoissonSampledEvent{SamplingRate::of(1), Rows::of(1), Rows::of(1), zero},
          SampledWithReplacementEvent{Rows::of(1), Rows::of(1), zero},
          GroupEvent{Rows::of(1), zero}};
}

// --- Writing ---------------------------------------------------------------------------------------------------------

Json write_event(const DpEvent& event);

Json write_field(const std::string& value) { return value; }
Json write_field(const DpEvent& event) { return write_event(event); }
Json write_field(const std::vector<DpEvent>& events) {
  Json list = Json::array();
  for (const DpEvent& event : events) list.push_back(write_event(event));
  return list;
}
template <class Spec>
Json write_field(const Quantity<Spec>& quantity) {
  return quantity.value();
}
Json write_field(const std::vector<double>& numbers) { return numbers; }
template <class Spec>
Json write_field(const std::vector<Quantity<Spec>>& quantities) {
  Json list = Json::array();
  for (const Quantity<Spec>& quantity : quantities) list.push_back(quantity.value());
  return list;
}

Json write_event(const DpEvent& event) {
  Json object = {{"kind", kind_name(event)}};
  std::visit(
      [&](const auto& kind) {
        for_each_field(kind, [&](const char* name, const auto& field) { object[name] = write_field(field); });
      },
      event.kind());
  return object;
}

// Bytes that are not UTF-8 (possible in a reason) are replaced rather than refused: writing never fails.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// --- Reading ---------------------------------------------------------------------------------------------------------

Error bad_event(std::string_view what) { return input_data_error(fmt::format("not a valid event: {}", what)); }

// Looks through a document before it is read, and refuses what would otherwise be lost silently.
class StrictLook final : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] const std::string& problem() const { return problem_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t value, const string_t& text) override {
    const std::string_view mantissa = std::string_view(text).substr(0, text.find_first_of("eE"));
    const bool vanished = value == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
    return !vanished || refuse(fmt::format("the number {} is too small for this program", shown(text)));
  }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*elements*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override { return keys_.back().insert(name).second || refuse("a field is given twice"); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& /*error*/) override {
    return refuse("this is not JSON");
  }

 private:
  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool enter() {
    // Each level of events nests objects and lists twice; the statement around them adds one.
    constexpr std::size_t max_json_depth = 2 * kMaxEventDepth + 2;
    keys_.emplace_back();
    return keys_.size() <= max_json_depth || refuse(fmt::format("nested deeper than {} levels", kMaxEventDepth));
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;
  std::string problem_;
};

Result<Json> parse_strict(std::string_view text) {
  StrictLook look;
  if (!Json::sax_parse(text, &look)) return bad_event(look.problem());
  return Json::parse(text);
}

// Where the reader is: how deep, and how many events it has met so far.
struct Place {
  std::size_t depth;
  std::size_t* nodes;
};

Result<DpEvent> read_event(const Json& json, Place place);

Result<void> read_field(const Json& json, const char* name, Place /*place*/, double& out) {
  if (!json.is_number()) return bad_event(fmt::format("{} must be a number", name));
  out = json.get<double>();
  return success();
}

Result<void> read_field(const Json& json, const char* name, Place /*place*/, std::uint64_t& out) {
  if (!json.is_number_unsigned()) return bad_event(fmt::format("{} must be a whole number, 0 or above", name));
  out = json.get<std::uint64_t>();
  return success();
}

Result<void> read_field(const Json& json, const char* name, Place /*place*/, std::string& out) {
  if (!json.is_string()) return bad_event(fmt::format("{} must be text", name));
  out = json.get<std::string>();
  return success();
}

template <class Spec>
Result<void> read_field(const Json& json, const char* name, Place place, Quantity<Spec>& out) {
  typename Spec::Value value{};
  NF_TRY_VOID(read_field(json, name, place, value));
  Result<Quantity<Spec>> quantity = Quantity<Spec>::make(value);
  if (!quantity.has_value()) return bad_event(quantity.error().message);
  out = quantity.value();
  return success();
}

Result<void> read_field(const Json& json, const char* /*name*/, Place place, DpEvent& out) {
  NF_TRY(out, read_event(json, {place.depth + 1, place.nodes}));
  return success();
}

Result<void> read_field(const Json& json, const char* name, Place place, std::vector<DpEvent>& out) {
  if (!json.is_array()) return bad_event(fmt::format("{} must be a list", name));
  out.clear();
  for (const Json& element : json) {
    NF_TRY(DpEvent one, read_event(element, {place.depth + 1, place.nodes}));
    out.push_back(std::move(one));
  }
  return success();
}

Result<void> expect_list(const Json& json, const char* name) {
  if (!json.is_array()) return bad_event(fmt::format("{} must be a list", name));
  if (json.size() > kMaxListLength) return bad_event(fmt::format("{} is longer than {}", name, kMaxListLength));
  return success();
}

Result<void> read_field(const Json& json, const char* name, Place place, std::vector<double>& out) {
  NF_TRY_VOID(expect_list(json, name));
  out.clear();
  for (const Json& element : json) {
    double number = 0;
    NF_TRY_VOID(read_field(element, name, place, number));
    out.push_back(number);
  }
  return success();
}

template <class Spec>
Result<void> read_field(const Json& json, const char* name, Place place, std::vector<Quantity<Spec>>& out) {
  NF_TRY_VOID(expect_list(json, name));
  std::vector<Quantity<Spec>> list;
  for (const Json& element : json) {
    Quantity<Spec> one = out.front();
    NF_TRY_VOID(read_field(element, name, place, one));
    list.push_back(one);
  }
  out = std::move(list);
  return success();
}

// Returns `kind` with its fields replaced by those of `json`.
template <class Kind>
Result<DpEvent> read_kind(Kind kind, const Json& json, Place place) {
  const std::string_view kind_text = kind_name(DpEvent(kind));
  Result<void> status = success();
  std::size_t fields = 1;
  for_each_field(kind, [&](const char* name, auto& field) {
    ++fields;
    if (!status.has_value()) return;
    const auto found = json.find(name);
    status = found == json.end() ? bad_event(fmt::format("{} needs a field \"{}\"", kind_text, name))
                                 : read_field(*found, name, place, field);
  });
  if (!status.has_value()) return std::move(status).error();
  if (json.size() != fields) return bad_event(fmt::format("{} has an unknown field", kind_text));
  DpEvent event(std::move(kind));
  const Result<void> fields_agree = check_fields(event);
  if (!fields_agree.has_value()) return bad_event(fields_agree.error().message);
  return event;
}

Result<DpEvent> read_event(const Json& json, Place place) {
  if (place.depth > kMaxEventDepth) return bad_event(fmt::format("nested deeper than {} levels", kMaxEventDepth));
  if (++*place.nodes > kMaxEventNodes) return bad_event(fmt::format("more than {} events", kMaxEventNodes));
  if (!json.is_object()) return bad_event("an event must be an object");
  const auto kind = json.find("kind");
  if (kind == json.end() || !kind->is_string()) return bad_event("an event needs a field \"kind\"");
  static const std::vector<DpEvent> blanks = blank_events();
  for (const DpEvent& blank : blanks) {
    if (kind_name(blank) != kind->get_ref<const std::string&>()) continue;
    return std::visit([&](const auto& of_kind) { return read_kind(of_kind, json, place); }, blank.kind());
  }
  return bad_event(fmt::format("unknown kind {}", shown(kind->get_ref<const std::string&>())));
}

// The event at the top of a document.
Result<DpEvent> read_root(const Json& json) {
  std::size_t nodes = 0;
  return read_event(json, {1, &nodes});
}

Result<std::string> text_field(const Json& json, const char* name) {
  auto found = json.find(name);
  if (found == json.end() || !found->is_string())
    return bad_event(fmt::format("a statement needs a text \"{}\"", name));
  return found->get<std::string>();
}

}  // namespace

std::string to_json(const DpEvent& event) { return dump(write_event(event)); }

std::string to_json(const DpStatement& statement) {
  Json json = {{"noisefloor_event", kEventFormatVersion},
               {"adjacency", name_of(statement.adjacency)},
               {"unit", name_of(statement.unit)}};
  json["event"] = write_event(statement.event);
  return dump(json);
}

Result<DpEvent> parse_event(std::string_view json_text) {
  NF_TRY(const Json json, parse_strict(json_text));
  return read_root(json);
}

Result<DpStatement> parse_statement(std::string_view json_text) {
  NF_TRY(const Json json, parse_strict(json_text));
  if (!json.is_object()) return bad_event("a statement must be an object");
  auto version = json.find("noisefloor_event");
  if (version == json.end() || !version->is_number_unsigned()) {
    return bad_event("a statement needs the field \"noisefloor_event\", the version of the format");
  }
  if (*version != kEventFormatVersion) {
    return bad_event(
        fmt::format("format version {}; this program reads version {}", version->dump(), kEventFormatVersion));
  }
  NF_TRY(std::string adjacency_name, text_field(json, "adjacency"));
  NF_TRY(std::string unit_name, text_field(json, "unit"));
  auto event_json = json.find("event");
  if (event_json == json.end()) return bad_event("a statement needs a field \"event\"");
  if (json.size() != 4) return bad_event("a statement has an unknown field");
  Result<Adjacency> adjacency = parse_adjacency(adjacency_name);
  if (!adjacency.has_value()) return bad_event(adjacency.error().message);
  Result<PrivacyUnit> unit = parse_privacy_unit(unit_name);
  if (!unit.has_value()) return bad_event(unit.error().message);
  NF_TRY(DpEvent event, read_root(*event_json));
  return DpStatement{adjacency.value(), unit.value(), std::move(event)};
}

}  // namespace noisefloor
