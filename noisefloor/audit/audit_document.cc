#include "noisefloor/audit/audit_document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"

namespace noisefloor::audit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostLevels = 64;
constexpr std::size_t kMostText = std::size_t{1} << 20;
// Other machines compute the same numbers with other roundings.
constexpr double kSame = 1e-9;

Json interval_of(const Interval& bounds) { return {{"lower", bounds.lower}, {"upper", bounds.upper}}; }

double finite(double value) { return std::isfinite(value) ? value : 0; }

Json findings_json(const RunFindings& f) {
  Json guesses = Json::array();
  for (const CanaryGuesses& counts : f.counts) guesses.push_back({{"made", counts.guesses}, {"right", counts.right}});
  return {{"steps", f.steps},
          {"canaries", f.counts.front().canaries},
          {"guesses", guesses},
          {"drawn", f.drawn},
          {"spread_of_canaries", f.spread_of_canaries},
          {"spread_of_steps", f.spread_of_steps},
          {"moved", f.moved},
          {"moved_squares", f.moved_squares},
          {"blanks", f.blanks},
          {"noise_squares", f.noise_squares},
          {"noise_sums", f.noise_sums},
          {"noise_products", f.noise_products},
          {"repeats", f.repeats}};
}

// Throws nlohmann's exceptions.
RunFindings read_findings(const Json& json) {
  const auto count = [&](const char* key) { return json.at(key).get<std::uint64_t>(); };
  const auto number = [&](const char* key) { return json.at(key).get<double>(); };
  RunFindings f;
  f.steps = count("steps");
  const Json& guesses = json.at("guesses");
  for (std::size_t i = 0; i < f.counts.size(); ++i) {
    f.counts[i] = {count("canaries"), guesses.at(i).at("made").get<std::uint64_t>(),
                   guesses.at(i).at("right").get<std::uint64_t>()};
  }
  f.drawn = count("drawn");
  f.spread_of_canaries = number("spread_of_canaries");
  f.spread_of_steps = number("spread_of_steps");
  f.moved = number("moved");
  f.moved_squares = number("moved_squares");
  f.blanks = count("blanks");
  f.noise_squares = number("noise_squares");
  f.noise_sums = number("noise_sums");
  f.noise_products = number("noise_products");
  f.repeats = count("repeats");
  return f;
}

// Everything except the signature.
Json body_of(const AuditDocument& audit, const RunJudgement& judged) {
  return {{"noisefloor_audit", kAuditVersion},
          {"name", audit.name},
          {"certificate", to_hex(audit.certificate)},
          {"method", "canaries in the run"},
          {"epsilon",
           {{"certified", audit.certified},
            {"measured", judged.measured},
            {"measured_if_gaussian", finite(judged.measured_gaussian)},
            {"confidence", kAuditConfidence}}},
          {"delta", audit.delta.value()},
          {"noise_multiplier", interval_of(judged.noise)},
          {"sampling_rate", interval_of(judged.rate)},
          {"refuted", false},
          {"refuted_if_true_with_probability", kRefuting},
          {"findings", findings_json(audit.findings)},
          {"statement", Json::parse(to_json(audit.statement))},
          {"program", audit.program_version}};
}

template <class Bytes>
Result<Bytes> bytes_of(const Json& json, const char* key) {
  Bytes bytes{};
  if (from_hex(json.at(key).get<std::string>(), bytes)) return bytes;
  return verification_failed(fmt::format("the {} of an audit must be hexadecimal digits", key));
}

bool same(double a, double b) { return std::fabs(a - b) <= kSame * std::max(1.0, std::fabs(b)); }

// What the document states must follow from its findings. Throws nlohmann's exceptions.
bool follows(const Json& json, const RunJudgement& judged) {
  const Json& epsilon = json.at("epsilon");
  const auto agrees = [](const Json& stated, const Interval& computed) {
    return same(stated.at("lower").get<double>(), computed.lower) &&
           same(stated.at("upper").get<double>(), computed.upper);
  };
  return same(epsilon.at("measured").get<double>(), judged.measured) &&
         same(epsilon.at("measured_if_gaussian").get<double>(), finite(judged.measured_gaussian)) &&
         epsilon.at("confidence").get<double>() == kAuditConfidence && !json.at("refuted").get<bool>() &&
         json.at("refuted_if_true_with_probability").get<double>() == kRefuting &&
         json.at("method") == "canaries in the run" && agrees(json.at("noise_multiplier"), judged.noise) &&
         agrees(json.at("sampling_rate"), judged.rate);
}

// Throws nlohmann's exceptions.
Result<SignedAudit> read_audit(const Json& json) {
  NF_TRY(const PublicKey key, bytes_of<PublicKey>(json, "public_key"));
  NF_TRY(const Signature signature, bytes_of<Signature>(json, "signature"));
  Json body = json;
  body.erase("public_key");
  body.erase("signature");
  if (!verify_signature(key, body.dump(), signature)) {
    return verification_failed("the audit was altered after it was signed");
  }
  NF_TRY(const Digest certificate, bytes_of<Digest>(json, "certificate"));
  NF_TRY(DpStatement statement, parse_statement(json.at("statement").dump()));
  NF_TRY(const Delta delta, Delta::make(json.at("delta").get<double>()));
  AuditDocument audit{json.at("name").get<std::string>(),
                      certificate,
                      std::move(statement),
                      delta,
                      json.at("epsilon").at("certified").get<double>(),
                      read_findings(json.at("findings")),
                      json.at("program").get<std::string>()};
  NF_TRY(RunJudgement judged, judgement_of(audit));
  NF_TRY_VOID(expect_unrefuted(judged));
  if (!follows(json, judged)) {
    return verification_failed("the audit states numbers that do not follow from its findings");
  }
  return SignedAudit{std::move(audit), std::move(judged), key};
}

}  // namespace

AuditDocument audit_of(const Certificate& certificate, std::string_view certificate_text, const DpEvent& event,
                       const RunFindings& findings) {
  return {certificate.name,
          blake2b(certificate_text),
          {certificate.statement.adjacency, certificate.statement.unit, event},
          certificate.delta,
          certificate.epsilon.upper,
          findings,
          certificate.program_version};
}

Result<RunJudgement> judgement_of(const AuditDocument& audit) {
  return judge(audit.findings, audit.statement.event, audit.statement.adjacency, audit.delta);
}

std::string to_json(const AuditDocument& audit, const RunJudgement& judgement, const Sign& sign) {
  Json json = body_of(audit, judgement);
  const auto [key, signature] = sign(json.dump());
  json["public_key"] = to_hex(key);
  json["signature"] = to_hex(signature);
  return json.dump(2) + "\n";
}

Result<SignedAudit> parse_audit(std::string_view text) {
  if (text.size() > kMostText) return input_data_error("this is not an audit: it is too large");
  // What is nested deeper is left out, and so the text is not that of an audit.
  const Json json = Json::parse(
      text, [](int depth, Json::parse_event_t, Json&) { return depth <= kMostLevels; }, false);
  if (!json.is_object() || json.value("noisefloor_audit", Json()) != kAuditVersion) {
    return input_data_error("this is not an audit, or its version is not known here");
  }
  if (json.dump(2) + "\n" != text) return verification_failed("the audit's text was altered");
  try {
    return read_audit(json);
  } catch (const nlohmann::json::exception&) {
    return verification_failed("a field of the audit is missing or of another type");
  }
}

Result<void> expect_about(const SignedAudit& audit, const SignedCertificate& certificate,
                          std::string_view certificate_text) {
  const Certificate& claim = certificate.certificate;
  if (audit.audit.certificate != blake2b(certificate_text) || audit.audit.name != claim.name) {
    return verification_failed("the audit is about another release than the one that lies beside it");
  }
  if (certificate.key != audit.key) {
    return verification_failed("the audit was signed with another key than the certificate");
  }
  if (audit.audit.delta != claim.delta || audit.audit.certified != claim.epsilon.upper ||
      audit.audit.statement.adjacency != claim.statement.adjacency ||
      audit.audit.statement.unit != claim.statement.unit) {
    return verification_failed("the audit states another epsilon, delta or neighbours than the certificate");
  }
  // What was audited is a part of what is certified, so that it costs no more.
  if (audit.judgement.certified.lower > claim.epsilon.upper) {
    return verification_failed("the audit is about a run that costs more than what the certificate states");
  }
  return success();
}

std::string two_sided(double certified, double measured) {
  const double up = std::ceil(certified * 1000 - 1e-9) / 1000;
  const double down = std::floor(measured * 100) / 100;
  return fmt::format("certified ≤ {:.3f}, measured ≥ {:.2f}", up, down);
}

std::string in_words(const RunFindings& findings, const RunJudgement& judgement) {
  return fmt::format(
      "{} canaries in {} steps; noise multiplier {:.4g} to {:.4g}, sampling rate {:.4g} to {:.4g}, reach {:.3g} to "
      "{:.3g} clip norms as measured",
      findings.counts.front().canaries, findings.steps, judgement.noise.lower, judgement.noise.upper,
      judgement.rate.lower, judgement.rate.upper, judgement.reach.lower, judgement.reach.upper);
}

}  // namespace noisefloor::audit
