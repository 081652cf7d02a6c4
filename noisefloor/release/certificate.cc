#include "noisefloor/release/certificate.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Result<Interval> certified_epsilon(const DpStatement& statement, Delta delta) {
  if (contains<NonPrivateEvent>(statement.event)) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return Interval{kInfinite, kInfinite};
  }
  return pld_epsilon(statement.event, statement.adjacency, delta);
}

Digest digest_of(const std::vector<NamedTensor>& tensors) { return blake2b(to_safetensors({tensors, {}})); }

std::string to_json(const Certificate& certificate) {
  Json json{{"noisefloor_certificate", kCertificateVersion},
            {"name", certificate.name},
            {"private", std::isfinite(certificate.epsilon.upper)},
            {"epsilon", {{"lower", number(certificate.epsilon.lower)}, {"upper", number(certificate.epsilon.upper)}}},
            {"delta", certificate.delta.value()},
            {"statement", Json::parse(to_json(certificate.statement))},
            {"steps", certificate.steps},
            {"weights",
             {{"digest", to_hex(certificate.weights)},
              {"of", "BLAKE2b-256 of the tensors as safetensors, without metadata"}}},
            {"program", "noisefloor " + certificate.program_version}};
  if (!certificate.budget.empty()) {
    json["ledger"] = {{"budget", certificate.budget}, {"reservations", certificate.reservations}};
  }
  json["not_covered"] = {"noise and sums are floating-point numbers",
                         "choices that were made by looking at other runs on the same data",
                         "who may see the data while they are trained on"};
  return json.dump(2) + "\n";
}

}  // namespace noisefloor
