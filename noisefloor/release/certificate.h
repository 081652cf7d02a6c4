// The promise of a release, in a form that anyone can recompute: the events that made it, their certified ε, what was
// released, and which ledger paid; signed with that ledger's key.
//
// Guarantee:     epsilon and the curve follow from the statement alone (certified_epsilon), here and for every reader.
//                The digest is that of the document, or of a model's tensors, so that a certificate fits no other
//                release. parse_certificate returns a claim of privacy only if it is signed, names the ledger that
//                paid and is true of its own statement. Whose key signed it, the caller has to judge (signers.h).
// Format:        docs/formats/certificate.md.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/entry.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// Version 2 knew no start points, and certified the steps that were taken instead of those that were reserved.
inline constexpr int kCertificateVersion = 3;

// What can be released: a model's tensors, or a document in JSON.
enum class ReleaseKind : std::uint8_t { kModel, kAnswer, kUtilityGraph };
[[nodiscard]] std::string_view name_of(ReleaseKind kind);  // "model", "answer", "utility graph"

// The ledger entries that record the cost.
struct CertifiedSpend {
  Digest ledger{};  // its identity
  std::string budget;
  std::vector<std::uint64_t> reservations;  // more than one if training continued from a checkpoint
  std::uint64_t head = 0;  // entries of the ledger at the time of sealing; head_hash is the hash of the last
  Digest head_hash{};
  std::vector<std::string> blocks = {};  // whose budget paid, and whose rows alone were read; none: it has no blocks
  friend bool operator==(const CertifiedSpend&, const CertifiedSpend&) = default;
};

// The weights that a training started from: public by someone's declaration, or a model that this ledger has paid for.
struct StartPoint {
  Digest released{};                       // as in the certificate of that model
  std::string declared_public = {};        // why they are public, in the words of whoever declared it; or empty
  std::optional<Digest> certificate = {};  // the digest of the certificate's text; nothing for public weights
  std::string budget = {};                 // the budget that paid for that model
  std::vector<std::uint64_t> reservations = {};
  // What that model has cost, if it is about the same rows: then the certificate's own statement contains it.
  std::optional<DpStatement> counted = {};
  friend bool operator==(const StartPoint&, const StartPoint&) = default;
};

// Someone may have learned from the same rows without noise before the release was sealed: an entry of the ledger.
struct CertifiedExposure {
  std::uint64_t entry = 0;
  ExposureKind kind = ExposureKind::kTraining;
  TimeMs time = 0;
  friend bool operator==(const CertifiedExposure&, const CertifiedExposure&) = default;
};

// An upper bound of ε at another δ.
struct CurvePoint {
  double delta;
  double epsilon;
};

struct Certificate {
  ReleaseKind kind;
  std::string name;
  DpStatement statement;  // all that was reserved for it, and what its start point has cost
  Delta delta;
  Interval epsilon;               // certified, at delta; infinite if there is no privacy
  std::vector<CurvePoint> curve;  // empty if there is no privacy
  std::uint64_t steps = 0;        // steps that made a model's weights
  bool replayed = false;          // noise that can be repeated: no privacy
  std::string configuration;      // a JSON object: sampler, clipping, noise and the rest, as in the ledger's record
  std::string data;               // facts about the data that were taken as public, in words
  Digest released{};
  std::string program_version;
  std::optional<CertifiedSpend> spend;   // nothing without a ledger
  std::optional<StartPoint> start = {};  // of the training, or of all trainings that it is about
  bool public_data = false;              // whoever trained declares all rows public
  // All that the ledger knew when it was sealed, in the order of their entries (exposures.h).
  std::vector<CertifiedExposure> exposures = {};
};

// Fails if no accountant understands the statement.
[[nodiscard]] Result<Interval> certified_epsilon(const DpStatement& statement, Delta delta);

// ε at some usual δ, without those δ at which no accountant can tell.
[[nodiscard]] std::vector<CurvePoint> certified_curve(const DpStatement& statement);

// The digest of a document in JSON, which does not depend on its spacing. Requires JSON.
[[nodiscard]] Digest digest_of(std::string_view document);

// Signs a text. Empty if there is no key, as for releases that were not charged.
using Sign = std::function<std::pair<PublicKey, Signature>(std::string_view)>;

// One JSON object. A certificate has exactly one text; infinite ε is null.
[[nodiscard]] std::string to_json(const Certificate& certificate, const Sign& sign);

struct SignedCertificate {
  Certificate certificate;
  std::optional<PublicKey> key;  // nothing if it is not signed: then it claims no privacy
};
// kInputData if the text is not a certificate; kVerificationFailed, with the reason, if anything in it was altered or
// does not follow from its statement, or if it claims privacy without a signature and a ledger.
[[nodiscard]] Result<SignedCertificate> parse_certificate(std::string_view text);

}  // namespace noisefloor
