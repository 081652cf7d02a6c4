#include "noisefloor/release/certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"
#include "noisefloor/release/json_depth.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<double, 5> kCurve{1e-3, 1e-4, 1e-5, 1e-6, 1e-8};

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

Json interval(const Interval& bounds) { return {{"lower", number(bounds.lower)}, {"upper", number(bounds.upper)}}; }

Json curve_json(const Certificate& certificate) {
  Json curve = Json::array();
  for (const CurvePoint& point : certificate.curve) {
    curve.push_back({{"delta", point.delta}, {"epsilon", number(point.epsilon)}});
  }
  return curve;
}

Json not_covered(const Certificate& certificate) {
  Json list = Json::array();
  if (contains<GaussianEvent>(certificate.statement.event)) {
    list.push_back("noise and sums are floating-point numbers, whose last bits the accounting does not see");
  }
  if (certificate.start && !certificate.start->certificate) {
    list.push_back("whether the weights that it started from are public: that was declared");
  }
  if (certificate.start && certificate.start->certificate && !certificate.start->counted) {
    list.push_back("the rows of the model that it started from, which another budget has paid for");
  }
  if (!certificate.exposures.empty()) {
    list.push_back(
        "what these rows have shown without noise before, and choices that were made after seeing it: "
        "exposures lists it");
  }
  list.push_back("choices that were made by looking at other results on the same data, unless they were charged");
  list.push_back("who may see the data, or anything in between, while it is made");
  list.push_back("what can be learned about a person from everyone else's data");
  return list;
}

const char* digested_as(ReleaseKind kind) {
  return kind == ReleaseKind::kModel ? "BLAKE2b-256 of the tensors as safetensors, without metadata"
                                     : "BLAKE2b-256 of the document as JSON without spaces, without its certificate";
}

Result<ReleaseKind> parse_kind(const std::string& text) {
  for (const ReleaseKind kind : {ReleaseKind::kModel, ReleaseKind::kAnswer, ReleaseKind::kUtilityGraph}) {
    if (name_of(kind) == text) return kind;
  }
  return input_data_error("the certificate is about a kind of release that this version does not know");
}

Json start_json(const StartPoint& start) {
  Json json{{"digest", to_hex(start.released)}};
  if (!start.certificate) {
    json["public"] = start.declared_public;
    return json;
  }
  json["certificate"] = to_hex(*start.certificate);
  json["budget"] = start.budget;
  json["reservations"] = start.reservations;
  json["counted"] = start.counted ? Json::parse(to_json(*start.counted)) : Json(nullptr);
  return json;
}

Json exposures_json(const std::vector<CertifiedExposure>& exposures) {
  Json list = Json::array();
  for (const CertifiedExposure& one : exposures) {
    list.push_back({{"entry", one.entry}, {"kind", name_of(one.kind)}, {"time", one.time}});
  }
  return list;
}

// Everything except the signature.
Json body_of(const Certificate& certificate) {
  Json json{{"noisefloor_certificate", kCertificateVersion},
            {"name", certificate.name},
            {"private", std::isfinite(certificate.epsilon.upper)},
            {"epsilon", interval(certificate.epsilon)},
            {"delta", certificate.delta.value()},
            {"epsilon_at_other_deltas", curve_json(certificate)},
            {"statement", Json::parse(to_json(certificate.statement))},
            {"configuration", Json::parse(certificate.configuration.empty() ? "{}" : certificate.configuration)},
            {"data", certificate.data},
            {"public_data", certificate.public_data},
            {"random", certificate.replayed ? "repeatable" : "secure"},
            {"released",
             {{"what", name_of(certificate.kind)},
              {"digest", to_hex(certificate.released)},
              {"of", digested_as(certificate.kind)}}},
            {"accountant", "certified privacy-loss bounds, noisefloor " + certificate.program_version},
            {"program", certificate.program_version}};
  if (certificate.kind == ReleaseKind::kModel) json["steps"] = certificate.steps;
  if (certificate.start) json["started_from"] = start_json(*certificate.start);
  if (certificate.spend) {
    json["ledger"] = {{"id", to_hex(certificate.spend->ledger)},
                      {"budget", certificate.spend->budget},
                      {"reservations", certificate.spend->reservations},
                      {"head", {{"entries", certificate.spend->head}, {"hash", to_hex(certificate.spend->head_hash)}}}};
    if (!certificate.spend->blocks.empty()) json["ledger"]["blocks"] = certificate.spend->blocks;
  }
  if (!certificate.exposures.empty()) json["exposures"] = exposures_json(certificate.exposures);
  json["not_covered"] = not_covered(certificate);
  return json;
}

template <class Bytes>
Result<Bytes> bytes_of(const Json& json, const char* key) {
  Bytes bytes{};
  if (from_hex(json.at(key).get<std::string>(), bytes)) return bytes;
  return input_data_error(fmt::format("the {} of a certificate must be hexadecimal digits", key));
}

// Throws nlohmann's exceptions.
Result<StartPoint> read_start(const Json& json) {
  StartPoint start;
  NF_TRY(start.released, bytes_of<Digest>(json, "digest"));
  if (json.contains("public")) {
    start.declared_public = json.at("public").get<std::string>();
    return start;
  }
  NF_TRY(start.certificate, bytes_of<Digest>(json, "certificate"));
  start.budget = json.at("budget").get<std::string>();
  start.reservations = json.at("reservations").get<std::vector<std::uint64_t>>();
  if (json.at("counted").is_null()) return start;
  NF_TRY(start.counted, parse_statement(json.at("counted").dump()));
  return start;
}

// The exposures are entries of the ledger at the time of sealing, in their order. Throws nlohmann's exceptions.
Result<std::vector<CertifiedExposure>> read_exposures(const Json& json, std::uint64_t head) {
  std::vector<CertifiedExposure> exposures;
  for (const Json& one : json) {
    NF_TRY(const ExposureKind kind, parse_exposure_kind(one.at("kind").get<std::string>()));
    exposures.push_back({one.at("entry").get<std::uint64_t>(), kind, one.at("time").get<TimeMs>()});
  }
  const auto out_of_order = [](const CertifiedExposure& a, const CertifiedExposure& b) { return a.entry >= b.entry; };
  if (exposures.empty() || exposures.back().entry >= head ||
      std::adjacent_find(exposures.begin(), exposures.end(), out_of_order) != exposures.end()) {
    return verification_failed("the exposures of the certificate are not entries of its ledger in their order");
  }
  return exposures;
}

// Throws nlohmann's exceptions.
Result<Certificate> read_certificate(const Json& json) {
  NF_TRY(DpStatement statement, parse_statement(json.at("statement").dump()));
  NF_TRY(const Delta delta, Delta::make(json.at("delta").get<double>()));
  NF_TRY(const ReleaseKind kind, parse_kind(json.at("released").at("what").get<std::string>()));
  NF_TRY(const Digest released, bytes_of<Digest>(json.at("released"), "digest"));
  Certificate certificate{kind,
                          json.at("name").get<std::string>(),
                          std::move(statement),
                          delta,
                          {number_of(json.at("epsilon").at("lower")), number_of(json.at("epsilon").at("upper"))},
                          {},
                          kind == ReleaseKind::kModel ? json.at("steps").get<std::uint64_t>() : 0,
                          json.at("random") == "repeatable",
                          json.at("configuration").dump(),
                          json.at("data").get<std::string>(),
                          released,
                          json.at("program").get<std::string>(),
                          {}};
  (void)json.at("not_covered").get<std::vector<std::string>>();  // must be there: readers show it
  for (const Json& point : json.at("epsilon_at_other_deltas")) {
    certificate.curve.push_back({point.at("delta").get<double>(), number_of(point.at("epsilon"))});
  }
  certificate.public_data = json.value("public_data", false);
  if (json.contains("started_from")) {
    NF_TRY(certificate.start, read_start(json["started_from"]));
  }
  if (!json.contains("ledger")) return certificate;
  const Json& ledger = json["ledger"];
  CertifiedSpend spend;
  NF_TRY(spend.ledger, bytes_of<Digest>(ledger, "id"));
  spend.budget = ledger.at("budget").get<std::string>();
  spend.reservations = ledger.at("reservations").get<std::vector<std::uint64_t>>();
  spend.head = ledger.at("head").at("entries").get<std::uint64_t>();
  NF_TRY(spend.head_hash, bytes_of<Digest>(ledger.at("head"), "hash"));
  if (ledger.contains("blocks")) spend.blocks = ledger.at("blocks").get<std::vector<std::string>>();
  if (json.contains("exposures")) {
    NF_TRY(certificate.exposures, read_exposures(json["exposures"], spend.head));
  }
  certificate.spend = std::move(spend);
  return certificate;
}

// The stated ε may be above the one that follows from the statement, never below.
Result<void> expect_true(const Certificate& certificate) {
  NF_TRY(const Interval epsilon, certified_epsilon(certificate.statement, certificate.delta));
  if (!(epsilon.upper <= certificate.epsilon.upper) || !(certificate.epsilon.lower <= epsilon.upper)) {
    return verification_failed(fmt::format("the certificate states epsilon {:.10g}, but its events cost {:.10g}",
                                           certificate.epsilon.upper, epsilon.upper));
  }
  for (const CurvePoint& point : certificate.curve) {
    NF_TRY(const Delta delta, Delta::make(point.delta));
    NF_TRY(const Interval there, certified_epsilon(certificate.statement, delta));
    if (!(there.upper <= point.epsilon)) {
      return verification_failed(
          fmt::format("the certificate states epsilon {:.10g} at delta {:g}, but its events cost {:.10g}",
                      point.epsilon, point.delta, there.upper));
    }
  }
  return success();
}

}  // namespace

std::string_view name_of(ReleaseKind kind) {
  switch (kind) {
    case ReleaseKind::kModel:
      return "model";
    case ReleaseKind::kAnswer:
      return "answer";
    case ReleaseKind::kUtilityGraph:
      break;
  }
  return "utility graph";
}

Result<Interval> certified_epsilon(const DpStatement& statement, Delta delta) {
  if (contains<NonPrivateEvent>(statement.event)) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return Interval{kInfinite, kInfinite};
  }
  return pld_epsilon(statement.event, statement.adjacency, delta);
}

std::vector<CurvePoint> certified_curve(const DpStatement& statement) {
  std::vector<CurvePoint> curve;
  for (const double delta : kCurve) {
    const auto epsilon = certified_epsilon(statement, Delta::make(delta).value());
    if (epsilon.has_value() && std::isfinite(epsilon.value().upper)) curve.push_back({delta, epsilon.value().upper});
  }
  return curve;
}

Digest digest_of(std::string_view document) { return blake2b(Json::parse(document).dump()); }

std::string to_json(const Certificate& certificate, const Sign& sign) {
  Json json = body_of(certificate);
  if (sign) {
    const auto [key, signature] = sign(json.dump());
    json["public_key"] = to_hex(key);
    json["signature"] = to_hex(signature);
  }
  return json.dump(2) + "\n";
}

namespace {

constexpr int kFirstVersion = 2;

bool is_known_version(const Json& json) {
  const Json version = json.value("noisefloor_certificate", Json());
  return version.is_number_integer() && version >= kFirstVersion && version <= kCertificateVersion;
}

}  // namespace

Result<SignedCertificate> parse_certificate(std::string_view text) {
  if (internal::is_too_deep(text)) return input_data_error("the certificate is nested too deeply");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !is_known_version(json)) {
    return input_data_error("this is not a certificate, or its version is not known here");
  }
  if (json.dump(2) + "\n" != text) return verification_failed("the certificate's text was altered");
  try {
    NF_TRY(Certificate certificate, read_certificate(json));
    const bool claims_privacy = std::isfinite(certificate.epsilon.upper);
    if (json.at("private").get<bool>() != claims_privacy || (certificate.replayed && claims_privacy)) {
      return verification_failed("the certificate contradicts itself on whether this is private");
    }
    if (!json.contains("signature")) {
      if (certificate.spend) return verification_failed("the certificate names a ledger but is not signed by it");
      if (claims_privacy) return verification_failed("the certificate claims privacy, and nobody has signed it");
      if (json.contains("exposures")) return verification_failed("the certificate names exposures and no ledger");
      NF_TRY_VOID(expect_true(certificate));
      return SignedCertificate{std::move(certificate), {}};
    }
    if (claims_privacy && !certificate.spend) {
      return verification_failed("the certificate claims privacy, and names no ledger that has paid for it");
    }
    Json body = json;
    body.erase("public_key");
    body.erase("signature");
    NF_TRY(const PublicKey key, bytes_of<PublicKey>(json, "public_key"));
    NF_TRY(const Signature signature, bytes_of<Signature>(json, "signature"));
    if (!verify_signature(key, body.dump(), signature))
      return verification_failed("the certificate was altered after it was signed");
    NF_TRY_VOID(expect_true(certificate));
    return SignedCertificate{std::move(certificate), key};
  } catch (const nlohmann::json::exception&) {
    return verification_failed("a field of the certificate is missing or of another type");
  }
}

}  // namespace noisefloor
