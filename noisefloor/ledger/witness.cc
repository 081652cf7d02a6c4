#include "noisefloor/ledger/witness.h"

#include <fmt/format.h>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/canonical_json.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxWitnessBytes = 4096;

}  // namespace

std::string to_json(const Witness& w) {
  return fmt::format(
      R"({{"noisefloor_witness":1,"ledger":"{}","key":"{}"{},"time":{},"epoch":{},"sequence":{},"hash":"{}","signature":"{}"}})"
      "\n",
      to_hex(w.head.ledger), to_hex(w.key), w.signer ? fmt::format(R"(,"signer":"{}")", to_hex(*w.signer)) : "", w.time,
      w.head.epoch, w.head.sequence, to_hex(w.head.hash), to_hex(w.head.signature));
}

Result<Witness> parse_witness(std::string_view text) {
  Witness w{};
  CanonicalReader in(text);
  in.literal(R"({"noisefloor_witness":1,"ledger":)");
  w.head.ledger = in.bytes<kDigestBytes>();
  in.literal(R"(,"key":)");
  w.key = in.bytes<32>();
  if (in.maybe(R"(,"signer":)")) w.signer = in.bytes<32>();
  in.literal(R"(,"time":)");
  w.time = in.integer();
  in.literal(R"(,"epoch":)");
  w.head.epoch = in.count();
  in.literal(R"(,"sequence":)");
  w.head.sequence = in.count();
  in.literal(R"(,"hash":)");
  w.head.hash = in.bytes<kDigestBytes>();
  in.literal(R"(,"signature":)");
  w.head.signature = in.bytes<64>();
  in.literal("}\n");
  if (!in.done()) return verification_failed("the witness was not written by noisefloor, or was altered");
  if (!is_signed_by(w.head, w.signer.value_or(w.key))) {
    return verification_failed("the witness was altered: its signature does not hold");
  }
  return w;
}

Result<Witness> read_witness(const std::string& path) {
  NF_TRY(const std::string text, read_file(path, kMaxWitnessBytes));
  Result<Witness> witness = parse_witness(text);
  if (witness.has_value()) return witness;
  return Error{witness.error().code, fmt::format("{}: {}", shown(path), witness.error().message)};
}

Result<void> write_witness(const std::string& path, const Witness& witness) {
  return write_file(path, to_json(witness));
}

}  // namespace noisefloor
