#include "noisefloor/release/document.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/release/json_depth.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMember = "certificate";

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

}  // namespace

Result<Draft> document_draft(ReleaseKind kind, std::string name, const std::string& document,
                             const DpStatement& statement, Delta delta, std::string configuration, std::string data,
                             std::string program_version) {
  const Json json = Json::parse(document, nullptr, false);
  if (!json.is_object() || json.contains(kMember))
    return invalid_argument("a document must be a JSON object without a certificate of its own");
  NF_TRY(const Interval epsilon, certified_epsilon(statement, delta));
  Certificate certificate{kind,
                          std::move(name),
                          statement,
                          delta,
                          epsilon,
                          certified_curve(statement),
                          0,
                          false,
                          std::move(configuration),
                          std::move(data),
                          digest_of(document),
                          std::move(program_version),
                          {}};
  return Draft{std::move(certificate), [json](const std::string& text) {
                 Json whole = json;
                 whole[kMember] = Json::parse(text);
                 return text_of(whole);
               }};
}

Result<std::optional<Document>> read_document(std::string_view bytes) {
  if (!bytes.starts_with('{')) return std::optional<Document>{};
  if (internal::is_too_deep(bytes)) return input_data_error("the document is nested too deeply");
  Json json = Json::parse(bytes, nullptr, false);
  if (!json.is_object() || !json.contains(kMember) || !json[kMember].is_object()) return std::optional<Document>{};
  if (text_of(json) != bytes) return verification_failed("the document's text was altered");
  std::string certificate = text_of(json[kMember]);
  json.erase(kMember);
  return std::optional<Document>(Document{json.dump(), std::move(certificate)});
}

Result<std::optional<ReleaseParts>> read_document_parts(std::string_view bytes) {
  NF_TRY(std::optional<Document> document, read_document(bytes));
  if (!document) return std::optional<ReleaseParts>{};
  return std::optional<ReleaseParts>(ReleaseParts{std::move(document->certificate), digest_of(document->content)});
}

}  // namespace noisefloor
