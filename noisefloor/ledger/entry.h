// One line of the ledger's history, and the chain that holds the lines together: docs/formats/ledger.md.
//
// Guarantee:     parse_entry(to_json(x)) == x, and one entry has one text: parse_entry refuses any text that to_json
//                would not have written, down to a space. An entry's hash covers all entries before it, so that none
//                can be changed, left out, moved or added without changing every hash after it.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/ledger/roles.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor {

inline constexpr int kLedgerFormatVersion = 1;

// The first line: whose ledger this is.
struct GenesisEntry {
  Digest ledger;  // drawn at random
  PublicKey key;
};

// A new budget. If it has a parent, the parent pays for it.
struct BudgetEntry {
  BudgetTerms terms;
  Charge parent_charge;
};

// The purpose of a use, in the words of its user.
struct Note {
  std::string pipeline;
  std::string purpose;
  std::vector<std::string> techniques;
  std::string configuration;  // a JSON object, or empty
};

// A reservation. It counts as spent from here on, whatever happens next.
struct ReserveEntry {
  std::string budget;
  std::string key;    // idempotency key
  Digest request;     // digest of all that was asked for
  std::string event;  // JSON of the DpEvent
  std::string item;   // item of a plan, or empty
  std::optional<double> delta;
  Charge charge;
  Digest abort_lock;  // the digest of the token that an abort needs
  Note note;
  std::vector<std::string> blocks = {};  // that it touches, of a budget by blocks: a canonical list (blocks.h)
  std::optional<UseKind> use = {};       // what it is for; ledgers without roles do not say
};

struct CommitEntry {
  std::uint64_t reservation;
  Digest release;
  std::optional<double> accuracy;
  bool kept = false;  // the bytes of the release are in the ledger
};

struct AbortEntry {
  std::uint64_t reservation;
  Digest token;
};

// From here on the ledger continues in another file, by decision of its owner: in a restored or moved copy.
struct AdoptEntry {
  std::uint64_t epoch;
  std::string reason;
  // Entries up to this one were seen and are not in this copy. The owner gave them up.
  std::optional<std::uint64_t> missing = {};
};

// A dataset that the ledger knows from here on.
struct DatasetEntry {
  std::string name;
  Digest description;
  std::string budget;   // every use of the rows spends from it; empty: the rows are public
  std::string same_as;  // the dataset whose rows and budget it shares, or empty
  std::string person;   // the column that tells persons apart; empty: rows are protected
  Digest fingerprint;   // keyed fingerprint of all rows
  Digest sketch;        // digest of the sealed bytes that the store keeps for this entry
};

// A known dataset was used with other rows than before.
struct ContentEntry {
  std::string dataset;
  Digest description;
  Digest fingerprint;
  Digest sketch;
  std::string block = {};  // that has these rows; empty for a dataset without blocks
};

// From here on the dataset's budget allows nothing more, by decision of the dataset's owner.
struct RetireEntry {
  std::string dataset;
  std::string reason;
};

// The entries before this one were written by a clock that was ahead. Times go on from the time of this entry, by
// decision of the ledger's owner.
struct ClockEntry {
  std::string reason;
};

// How private rows were looked at without noise. A closed list: each name is part of the format.
enum class ExposureKind : std::uint8_t {
  kTraining,      // a training without noise
  kReplay,        // a training whose noise can be repeated
  kSweep,         // the runs of a sweep without noise, or with noise that can be repeated
  kUtilityGraph,  // trainings for a utility graph
  kEvaluation,    // measures of quality, from rows of the dataset that were kept for tests
  kInspection,    // which records do not fit, in exact numbers
};
// "training without noise", "training with repeatable noise", "sweep without noise", "utility graph without noise",
// "evaluation on private rows", "inspection of private rows"
[[nodiscard]] std::string_view name_of(ExposureKind kind);
[[nodiscard]] Result<ExposureKind> parse_exposure_kind(std::string_view name);

// From here on somebody may have learned from the rows of a private dataset without noise. It costs nothing, because no
// epsilon covers it.
struct ExposureEntry {
  std::string dataset;
  ExposureKind kind;
  Digest what;          // digest of what was done: the configuration of a run, or a split
  std::string key;      // what distinguishes it for people: the key of a run, or the split in words
  std::string purpose;  // in the words of its user, or empty
};

// A model that came of an exposure.
struct ExposedEntry {
  std::uint64_t exposure;
  Digest release;  // as in the certificate of that model
};

// Somebody may use the ledger from here on, by decision of an owner.
struct RoleEntry {
  std::string name;
  Role role;
  PublicKey key;
  // For analysts:
  std::vector<std::string> budgets = {};  // and their parts
  std::vector<UseKind> uses = {};         // allowed kinds, in the order of the enumeration; empty: all
  std::optional<Quota> quota = {};        // of each budget
  std::optional<TimeMs> until = {};       // nothing from this time on
  // For owners and analysts.
  std::optional<SealedRowKeys> row_keys = {};
};

// From here on a member writes nothing more. Nobody else ever gets the name or the key.
struct RevokeEntry {
  std::string name;
  std::string reason;
};

// From here on every writer asks the witness at this place, or no longer asks it.
struct WitnessEntry {
  std::string place;
  std::string dropped = {};  // why it is asked no longer; empty: it is asked from here on
};

using EntryBody = std::variant<GenesisEntry, BudgetEntry, ReserveEntry, CommitEntry, AbortEntry, AdoptEntry,
                               DatasetEntry, ContentEntry, RetireEntry, ClockEntry, ExposureEntry, ExposedEntry,
                               RoleEntry, RevokeEntry, WitnessEntry>;

struct Entry {
  std::uint64_t sequence;  // 0, 1, 2, …
  TimeMs time;
  EntryBody body;
  std::string by = {};  // the member who wrote it; empty: the first owner, whose key is in the genesis entry
};

inline constexpr std::size_t kMaxTechniques = 32;
inline constexpr std::size_t kMaxConfiguration = 65'536;
inline constexpr int kMaxConfigurationDepth = 64;

[[nodiscard]] std::string to_json(const Entry& entry);
[[nodiscard]] Result<Entry> parse_entry(std::string_view json_text);

// The hash of an entry with this text that follows an entry with the hash `previous`. The first entry follows kNoEntry.
inline constexpr Digest kNoEntry{};
[[nodiscard]] Digest chain_hash(const Digest& previous, std::string_view entry_text);

// The end of the chain, signed.
struct Head {
  Digest ledger;
  std::uint64_t epoch;
  std::uint64_t sequence;
  Digest hash;
  Signature signature;
};

[[nodiscard]] Head sign_head(const SigningKey& key, const Digest& ledger, std::uint64_t epoch, std::uint64_t sequence,
                             const Digest& hash);
[[nodiscard]] bool is_signed_by(const Head& head, const PublicKey& key);

}  // namespace noisefloor
