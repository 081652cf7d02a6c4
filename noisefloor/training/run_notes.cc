#include "noisefloor/training/run_notes.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Json quality_json(const Quality& quality, bool private_rows) {
  Json json{{"examples", quality.examples}};
  if (private_rows) json["private_rows"] = true;
  for (const auto& [name, value] : named_figures(quality)) json[name] = value;
  return json;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json("infinite"); }

void add_certificate(Json& json, const Certificate& certificate) {
  json["private"] = std::isfinite(certificate.epsilon.upper);
  json["epsilon"] = {{"lower", finite(certificate.epsilon.lower)}, {"upper", finite(certificate.epsilon.upper)}};
  json["delta"] = certificate.delta.value();
}

}  // namespace

std::string to_json(const Quality& quality, bool private_rows) { return quality_json(quality, private_rows).dump(); }

std::string to_json(const RunNotes& notes) {
  Json json{
      {"model", notes.files.model()}, {"certificate", notes.files.certificate()}, {"metrics", notes.files.metrics()}};
  if (notes.certificate) add_certificate(json, *notes.certificate);
  if (notes.noise.multiplier) json["noise_multiplier"] = notes.noise.multiplier->value();
  if (notes.certificate) json["steps"] = notes.certificate->steps;
  if (notes.examples) json["examples"] = *notes.examples;
  if (notes.people) json["people"] = *notes.people;
  json["parameters"] = notes.parameters;
  json["again"] = notes.again;
  if (!notes.again) {
    json["seconds"] = notes.seconds;
    json["examples_per_second"] = notes.examples_per_second;
  }
  json["workers"] = notes.workers;
  if (notes.validation) json["validation"] = quality_json(*notes.validation, notes.private_validation);
  if (notes.test) json["test"] = quality_json(*notes.test, notes.private_test);
  if (notes.phase) json["phase"] = *notes.phase;
  if (notes.verdict) {
    json["target"] = {{"target_accuracy", notes.verdict->target_accuracy},
                      {"accuracy", notes.verdict->accuracy},
                      {"decision", name_of(notes.verdict->decision)}};
  }
  if (!notes.command.empty()) json["command"] = notes.command;
  // A file name need not be UTF-8, but JSON must be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace noisefloor
