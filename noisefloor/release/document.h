// An answer as a file: a JSON object that carries its certificate, under the name "certificate".
//
// Guarantee:     the certificate's digest is that of the object without it, and one document has one text:
//                read_document returns exactly what a sealed document holds, to the byte.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/release/release_reader.h"
#include "noisefloor/release/road.h"

namespace noisefloor {

// The draft of a release of this JSON object, which has no member "certificate". Fails if `document` is not such an
// object, or if no accountant understands the statement.
[[nodiscard]] Result<Draft> document_draft(ReleaseKind kind, std::string name, const std::string& document,
                                           const DpStatement& statement, Delta delta, std::string configuration,
                                           std::string data, std::string program_version);

struct Document {
  std::string content;      // the JSON object without its certificate, without spaces
  std::string certificate;  // its text
};
// Nothing if the bytes are another kind of file; kVerificationFailed if the text was altered.
[[nodiscard]] Result<std::optional<Document>> read_document(std::string_view bytes);

// The reader of documents.
[[nodiscard]] Result<std::optional<ReleaseParts>> read_document_parts(std::string_view bytes);

}  // namespace noisefloor
