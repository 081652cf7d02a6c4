#include "noisefloor/ledger/verify.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/charge_check.h"
#include "noisefloor/ledger/fence.h"
#include "noisefloor/ledger/guards.h"
#include "noisefloor/ledger/open_store.h"
#include "noisefloor/ledger/witness.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMostFindings = 100;
constexpr std::uint64_t kProgressEvery = 65'536;

class Verifier {
 public:
  Verifier(const VerifyOptions& options, VerifyReport& report) : options_(options), report_(report) {}

  Result<void> run(LedgerStore& store, LedgerTransaction& transaction) {
    // These are read before the ledger, so that they know nothing that others write meanwhile.
    read_fence(store);
    for (const std::string& path : options_.witnesses) witnesses_.emplace_back(path, read_witness(path));
    NF_TRY(report_.head, transaction.head());
    if (!report_.head) {
      find(std::nullopt, "there are no entries");
      return success();
    }
    read_answered(transaction);
    read_sketched(transaction);
    read_signatures(transaction);
    NF_TRY_VOID(transaction.entries(0, INT64_MAX, [&](const StoredEntry& stored) {
      check(stored, transaction);
      return Result<void>(success());
    }));
    if (report_.entries == 0) {
      find(0, "entry 0 is missing");
      return success();
    }
    check_end();
    if (const Result<void> whole = transaction.check_file(); !whole.has_value()) {
      find(std::nullopt, whole.error().message);
    }
    if (whole_) check_answers(transaction);
    if (whole_) check_sketches();
    if (whole_) check_rest_of_signatures();
    check_fence(transaction);
    for (const auto& [path, witness] : witnesses_) check_witness(path, witness, transaction);
    return success();
  }

 private:
  void find(std::optional<std::uint64_t> entry, std::string what) {
    if (report_.findings.size() < kMostFindings) report_.findings.push_back({entry, std::move(what)});
  }

  void check(const StoredEntry& stored, LedgerTransaction& transaction) {
    if (stored.sequence != report_.entries) {
      find(report_.entries, fmt::format("entry {} is missing", report_.entries));
      report_.entries = stored.sequence;
      whole_ = false;
      hash_ = kNoEntry;
    } else if (chain_hash(hash_, stored.text) != stored.hash) {
      find(stored.sequence, "it was altered, or its hash was: its text and its hash do not belong together");
      whole_ = false;
    }
    hash_ = stored.hash;
    ++report_.entries;
    if (options_.progress && report_.entries % kProgressEvery == 0) {
      options_.progress(report_.entries, report_.head->sequence + 1);
    }
    const Result<Entry> entry = parse_entry(stored.text);
    if (!entry.has_value()) {
      find(stored.sequence, entry.error().message);
      whole_ = false;
      return;
    }
    // Entries after a break cannot be replayed.
    if (!whole_) return;
    check_author_before(entry.value());
    std::visit([&](const auto& body) { check_body(entry.value(), body, transaction); }, entry.value().body);
    if (const Result<void> applied = report_.state.apply(entry.value()); !applied.has_value()) {
      find(stored.sequence, fmt::format("it breaks a rule: {}", applied.error().message));
      whole_ = false;
      return;
    }
    check_signature_of(stored.sequence);
  }

  void check_body(const Entry& /*entry*/, const GenesisEntry& e, LedgerTransaction& /*transaction*/) {
    report_.key = e.key;
    if (options_.key && *options_.key != e.key) find(0, "the ledger has another key than the given one");
  }

  void check_body(const Entry& entry, const BudgetEntry& e, LedgerTransaction& /*transaction*/) {
    if (const Result<void> checked = check_terms(e.terms); !checked.has_value()) {
      find(entry.sequence, fmt::format("its terms do not hold: {}", checked.error().message));
    }
    if (e.terms.rule == Rule::kZcdp) {
      const Result<Rho> rho = zcdp_budget_of(e.terms);
      if (!rho.has_value() || e.terms.rho > rho.value().value() * internal::kSameCharge) {
        find(entry.sequence, fmt::format("its rho {} is more than its epsilon and delta allow", e.terms.rho));
      }
    }
    if (!e.terms.parent.empty()) {
      const LedgerState::Budget* parent = report_.state.find(e.terms.parent);
      if (parent == nullptr) return;  // apply() finds this
      check_charge(entry.sequence, e.parent_charge, LedgerState::parent_charge(*parent->terms, e.terms));
    }
  }

  void check_body(const Entry& entry, const ReserveEntry& e, LedgerTransaction& /*transaction*/) {
    const LedgerState::Budget* budget = report_.state.find(e.budget);
    if (budget == nullptr) return;  // apply() finds this
    open_.insert(entry.sequence);
    std::string key = fmt::format("{}\n{}\n{}\n{}", e.budget, e.item, e.delta.value_or(0), e.event);
    auto known = charges_.find(key);
    if (known == charges_.end()) {
      ++report_.distinct;
      known = charges_.emplace(std::move(key), internal::charge_due(*budget->terms, e)).first;
    }
    ++report_.charges;
    check_charge(entry.sequence, e.charge, known->second);
  }

  void check_body(const Entry& entry, const CommitEntry& e, LedgerTransaction& transaction) {
    open_.erase(e.reservation);
    const Result<std::optional<std::string>> answer = answer_of(e.reservation, transaction);
    if (!answer.has_value()) return find(entry.sequence, answer.error().message);
    if (!answer.value()) {
      if (e.kept) find(entry.sequence, "the answer that was kept is gone");
      return;
    }
    if (!e.kept) return find(entry.sequence, "there is an answer, although none was kept");
    ++report_.answers;
    if (blake2b(*answer.value()) != e.release)
      find(entry.sequence, "the stored answer is not the one that was committed");
  }

  void check_body(const Entry& /*entry*/, const AbortEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const AdoptEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const RetireEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const ClockEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const ExposureEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const ExposedEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const RoleEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const RevokeEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& /*entry*/, const WitnessEntry& /*e*/, LedgerTransaction& /*transaction*/) {}
  void check_body(const Entry& entry, const DatasetEntry& e, LedgerTransaction& transaction) {
    check_sketch(entry.sequence, e.sketch, transaction);
  }
  void check_body(const Entry& entry, const ContentEntry& e, LedgerTransaction& transaction) {
    check_sketch(entry.sequence, e.sketch, transaction);
  }

  // The sketch is sealed: without the key, only its digest can be checked.
  void check_sketch(std::uint64_t sequence, const Digest& digest, LedgerTransaction& transaction) {
    const Result<std::optional<std::string>> sketch = transaction.sketch(sequence);
    if (!sketch.has_value()) return find(sequence, sketch.error().message);
    sketched_.erase(sequence);
    if (!sketch.value()) return find(sequence, "the sketch of the dataset's rows is gone");
    ++report_.sketches;
    if (blake2b(*sketch.value()) != digest) find(sequence, "the sketch of the dataset's rows was altered");
  }

  void check_charge(std::uint64_t sequence, const Charge& charged, const Result<Charge>& due) {
    const Result<void> checked = internal::check_charged(charged, due);
    if (!checked.has_value()) find(sequence, checked.error().message);
  }

  void check_end() {
    const Head& head = *report_.head;
    if (head.sequence + 1 != report_.entries) {
      find(std::min(head.sequence + 1, report_.entries),
           fmt::format("the head is at entry {}, and the last entry is {}", head.sequence, report_.entries - 1));
    } else if (head.hash != hash_) {
      find(head.sequence, "the head has another hash than the last entry");
    }
    if (whole_ && head.epoch != report_.state.epoch())
      find(head.sequence, "the head has another epoch than the entries");
    const bool has_roles = whole_ && report_.state.has_roles();
    bool is_signed = is_signed_by(head, has_roles ? report_.state.last_author().key : report_.key);
    if (!whole_) {  // nobody knows who wrote the last entry
      for (const LedgerState::Member& one : report_.state.members())
        is_signed = is_signed || is_signed_by(head, one.key);
    }
    if (!is_signed) {
      find(head.sequence, fmt::format("the head is not signed by {}: entries were altered, added or removed",
                                      has_roles ? "the author of the last entry" : "the ledger's key"));
    }
  }

  // Most reservations have no answer, and asking a server for each takes long.
  void read_answered(LedgerTransaction& transaction) {
    const Result<std::vector<std::uint64_t>> kept = transaction.answered();
    if (!kept.has_value()) return find(std::nullopt, kept.error().message);
    answered_.emplace(kept.value().begin(), kept.value().end());
  }

  void read_sketched(LedgerTransaction& transaction) {
    const Result<std::vector<std::uint64_t>> kept = transaction.sketched();
    if (!kept.has_value()) return find(std::nullopt, kept.error().message);
    sketched_.insert(kept.value().begin(), kept.value().end());
  }

  void read_signatures(LedgerTransaction& transaction) {
    const Result<void> read =
        transaction.signatures(0, INT64_MAX, [&](std::uint64_t sequence, const Signature& signature) -> Result<void> {
          signatures_.emplace(sequence, signature);
          return success();
        });
    if (!read.has_value()) find(std::nullopt, read.error().message);
  }

  // Where the author changes, the one before has signed.
  void check_author_before(const Entry& next) {
    const LedgerState& state = report_.state;
    if (state.is_empty() || state.find_member(next.by) == &state.last_author() ||
        last_signed_ == state.next_sequence()) {
      return;
    }
    find(state.next_sequence() - 1,
         fmt::format("there is no signature of {}, who is named as its author", shown(state.last_author().name)));
  }

  void check_signature_of(std::uint64_t sequence) {
    const auto found = signatures_.find(sequence);
    if (found == signatures_.end()) return;
    const LedgerState& state = report_.state;
    const Head head{state.genesis().ledger, state.epoch(), sequence, hash_, found->second};
    if (is_signed_by(head, state.last_author().key)) {
      last_signed_ = sequence + 1;
      ++report_.signatures;
    } else {
      find(sequence, fmt::format("it is not signed by {}, who is named as its author: somebody else wrote it, or "
                                 "altered it",
                                 shown(state.last_author().name)));
    }
    signatures_.erase(found);
  }

  void check_rest_of_signatures() {
    for (const auto& [sequence, signature] : signatures_) {
      find(sequence, "a signature is kept for it, although there is no such entry");
    }
  }

  void check_sketches() {
    for (const std::uint64_t entry : sketched_)
      find(entry, "a sketch of rows is kept for it, although it is no entry of a dataset");
  }

  Result<std::optional<std::string>> answer_of(std::uint64_t reservation, LedgerTransaction& transaction) const {
    if (answered_ && !answered_->contains(reservation)) return std::optional<std::string>{};
    return transaction.answer(reservation);
  }

  // A reservation that was not committed has no answer.
  void check_answers(LedgerTransaction& transaction) {
    for (const std::uint64_t reservation : open_) {
      const Result<std::optional<std::string>> answer = answer_of(reservation, transaction);
      if (!answer.has_value()) return find(reservation, answer.error().message);
      if (answer.value()) find(reservation, "there is an answer for it, although it was not committed");
    }
  }

  void read_fence(LedgerStore& store) {
    const std::optional<std::string> path = store.file();
    if (!path) return;
    const Result<std::optional<Fence>> fence = FenceFile(*path).read(FenceFile::Use::kLook);
    if (!fence.has_value()) return find(std::nullopt, fence.error().message);
    fence_ = fence.value();  // a copy that is only read needs no fence
  }

  void check_fence(LedgerTransaction& transaction) {
    if (!fence_) return;
    const Fence& seen = *fence_;
    if (seen.ledger != report_.head->ledger) return find(std::nullopt, "its fence belongs to another ledger");
    if (seen.sequence > report_.head->sequence || seen.epoch > report_.head->epoch) {
      return find(report_.head->sequence + 1,
                  fmt::format("it was rolled back: its fence has seen entry {}", seen.sequence));
    }
    const Result<std::optional<StoredEntry>> entry = transaction.entry(seen.sequence);
    if (!entry.has_value()) return find(seen.sequence, entry.error().message);
    if (!entry.value() || entry.value()->hash != seen.hash) {
      find(seen.sequence, "its fence has seen another history up to here");
    }
  }

  void check_witness(const std::string& path, const Result<Witness>& read, LedgerTransaction& transaction) {
    if (!read.has_value()) return find(std::nullopt, read.error().message);
    const Witness& witness = read.value();
    if (!report_.state.may_sign_heads(witness.key) || witness.head.ledger != report_.head->ledger) {
      return find(std::nullopt,
                  fmt::format("the witness {} belongs to another ledger, or the ledger was made anew", shown(path)));
    }
    const Result<std::optional<StoredEntry>> entry = transaction.entry(witness.head.sequence);
    if (!entry.has_value()) return find(witness.head.sequence, entry.error().message);
    if (!entry.value()) {
      find(witness.head.sequence,
           fmt::format("it was rolled back: the witness {} has seen entry {}", shown(path), witness.head.sequence));
    } else if (entry.value()->hash != witness.head.hash) {
      find(witness.head.sequence, fmt::format("the witness {} has seen another history up to here", shown(path)));
    } else if (witness.signer && whole_ && report_.state.find_member(*witness.signer) == nullptr) {
      find(std::nullopt, fmt::format("the witness {} is signed by nobody of this ledger", shown(path)));
    }
  }

  const VerifyOptions& options_;
  VerifyReport& report_;
  Digest hash_ = kNoEntry;
  bool whole_ = true;
  std::unordered_map<std::string, Result<Charge>> charges_;
  std::unordered_set<std::uint64_t> open_;                     // reservations without a commit
  std::optional<std::unordered_set<std::uint64_t>> answered_;  // empty if they could not be read
  std::unordered_set<std::uint64_t> sketched_;                 // entries with a sketch that were not reached yet
  std::map<std::uint64_t, Signature> signatures_;              // those that were not reached yet
  std::uint64_t last_signed_ = 0;  // the number of entries up to the last one that is signed
  std::optional<Fence> fence_;
  std::vector<std::pair<std::string, Result<Witness>>> witnesses_;
};

}  // namespace

namespace {

// Compares with the counters of this machine and the ledger's own witnesses. They are read first, and then a history
// that has all that they know: others may write meanwhile.
Result<void> compare_with_guards(LedgerStore& store, const VerifyOptions& options, VerifyReport& report) {
  NF_TRY(std::vector<internal::Sighting> sightings, internal::counters_of(options.counters, report.head->ledger));
  for (const std::string& place : report.state.witnesses()) {
    Result<internal::Sighting> asked = internal::ask_registered(place, report.head->ledger);
    if (asked.has_value() && asked.value().seen) {
      sightings.push_back(std::move(asked).value());
    } else {
      report.unasked.push_back(fmt::format("{}: {}", without_password(place),
                                           asked.has_value() ? "it has not seen this ledger" : asked.error().message));
    }
  }
  if (sightings.empty()) return success();
  NF_TRY(const std::unique_ptr<LedgerTransaction> transaction, store.begin(LedgerStore::Mode::kRead));
  NF_TRY(const std::optional<Head> head, transaction->head());
  if (!head) return verification_failed("the ledger was emptied while it was verified");
  for (const internal::Sighting& one : sightings) {
    NF_TRY(const std::optional<std::string> doubt, internal::doubt_of(one, *transaction, report.state, *head));
    if (!doubt) {
      report.witnesses += one.by == internal::Sighting::By::kRegistered ? 1 : 0;
      continue;
    }
    report.findings.push_back({one.seen->sequence, *doubt});
  }
  return success();
}

}  // namespace

Result<VerifyReport> verify_ledger(const std::string& location, const VerifyOptions& options) {
  VerifyReport report;
  const auto damaged = [&](const Error& error) {
    report.findings.push_back({std::nullopt, error.message});
    return std::move(report);
  };
  Result<std::unique_ptr<LedgerStore>> store = open_store(location, {.read_only = true});
  if (!store.has_value()) {
    if (store.error().code == ErrorCode::kVerificationFailed) return damaged(store.error());
    return store.error();
  }
  Result<std::unique_ptr<LedgerTransaction>> transaction = store.value()->begin(LedgerStore::Mode::kRead);
  if (!transaction.has_value()) return damaged(transaction.error());
  const Result<void> done = Verifier(options, report).run(*store.value(), *transaction.value());
  if (!done.has_value()) report.findings.push_back({report.entries, done.error().message});
  transaction.value().reset();
  if (!report.head) return report;
  const Result<void> compared = compare_with_guards(*store.value(), options, report);
  if (!compared.has_value()) report.findings.push_back({std::nullopt, compared.error().message});
  return report;
}

}  // namespace noisefloor
