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

// From here on every writer asks the witness at this place, or no longer asks it.
struct WitnessEntry {
  std::string place;
  std::string dropped = {};  // why it is asked no longer; empty: it is asked from here on
};

using EntryBody = std::variant<GenesisEntry, BudgetEntry, ReserveEntry, CommitEntry, AbortEntry, AdoptEntry,
                               DatasetEntry, ContentEntry, RetireEntry, ClockEntry, WitnessEntry>;

struct Entry {
  std::uint64_t sequence;  // 0, 1, 2, …
  TimeMs time;
  EntryBody body;
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
