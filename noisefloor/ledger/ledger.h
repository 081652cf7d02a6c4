// A privacy budget that survives crashes and races, and notices tampering. Start here.
//
//   auto ledger = Ledger::open("study.ledger", SigningKey::load("study.ledger.key").value(), {}).value();
//   auto spend = ledger->reserve({.budget = "trial", .key = "mean-age-1", .statement = statement, ...});  // durable
//   spend.value().begin();  // draw noise from here on
//   ledger->commit(spend.value().sequence(), blake2b(answer), answer);
//
// Guarantee:     (1) A reservation that was returned is durable, and the budgets of the ledger allow for all
//                reservations together. (2) A reservation counts as spent from then on, whatever happens; only its
//                holder can take it back, and only before begin(). (3) The same key gets the same answer and no new
//                noise. (4) Nothing is written to a ledger whose history does not verify, that has fewer entries than
//                its fence or witness knows of, or that is a copy.
// Errors:        kBudgetExhausted says what was asked for, what is left and what would fit. kIo and kVerificationFailed
//                leave the ledger as it was, or, if the commit itself was interrupted, possibly with the entry, which
//                then counts as spent.
// Thread safety: all members may be called from several threads. Writers that wait for the disk at the same time share
//                one transaction.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/ledger/dataset_outcome.h"
#include "noisefloor/ledger/entry.h"
#include "noisefloor/ledger/host_counter.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/ledger/roles.h"
#include "noisefloor/ledger/row_sketch.h"
#include "noisefloor/ledger/state.h"
#include "noisefloor/ledger/store.h"
#include "noisefloor/ledger/witness.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

namespace internal {
class Guards;
struct GuardedChange;
struct Rehearsal;
}  // namespace internal

struct LedgerOptions {
  // A place that is checked before every write and updated after it (witness_place.h), beside those that the ledger's
  // entries name; or empty.
  std::string witness = {};
  std::vector<std::string> witnesses = {};  // further ones
  std::function<TimeMs()> clock = {};       // empty: the system's clock
  int busy_ms = 60'000;                     // how long to wait for other writers
  std::string sqlite_vfs = {};              // SQLite's name of a file system; tests put faults there
  // Where this machine counts entries outside of the ledger (host_counter.h). Nothing: as the environment says.
  std::optional<CounterPlaces> counters = {};
};

struct ReserveRequest {
  std::string budget;
  std::string key;  // for idempotency: the same request with the same key is the same spend
  DpStatement statement;
  std::optional<Delta> delta = {};  // what the use may spend, for the rules basic and approx-dp
  std::string item = {};            // item of a plan
  Note note = {};
  std::vector<std::string> blocks = {};  // that it touches, of a budget by blocks: a canonical list (blocks.h)
  std::optional<UseKind> use =
      {};  // ledgers with roles keep it; the answer to a repeated request does not depend on it
};

// A member to be (roles.h). Everything from `budgets` on is for analysts.
struct NewRole {
  std::string name;
  Role role;
  PublicKey key;
  std::vector<std::string> budgets = {};  // at least one; parts of them count as given
  std::vector<UseKind> uses = {};         // empty: all
  std::optional<Quota> quota = {};
  std::optional<TimeMs> until = {};
  std::string database_role = {};  // of PostgreSQL: gets what this member needs, and writes for this member only
};

// A spend that is durable. Its holder may draw noise for it, once.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  // The digest of what was released, if the same request was made before. No noise may then be drawn.
  [[nodiscard]] const std::optional<Digest>& earlier_release() const { return release_; }
  // The bytes of that release, if they were kept.
  [[nodiscard]] const std::optional<std::string>& earlier_answer() const { return answer_; }

  // Call this before you draw the first bit of noise. From then on the reservation cannot be aborted.
  void begin();

 private:
  friend class Ledger;
  Reservation(std::uint64_t sequence, const Digest& token) : sequence_(sequence), token_(token) {}
  Reservation(std::uint64_t sequence, const Digest& release, std::optional<std::string> answer);

  std::uint64_t sequence_;
  std::optional<Digest> token_;  // proves that nothing was drawn; erased by begin()
  std::optional<Digest> release_;
  std::optional<std::string> answer_;
};

// A released answer whose bytes the ledger keeps, with the request that paid for it.
struct KeptAnswer {
  std::uint64_t reservation;
  std::string budget;
  std::string key;
  std::string configuration;  // of the note: the question, in public terms
  std::string bytes;
};

class Ledger {
 public:
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // A location is a path, or postgresql://…. A witness of the options must not know another ledger yet: it would be one
  // that was lost.
  [[nodiscard]] static Result<std::unique_ptr<Ledger>> create(const std::string& location, SigningKey key,
                                                              LedgerOptions options);
  // The key of any owner or analyst who is in force. What is written is by that member.
  [[nodiscard]] static Result<std::unique_ptr<Ledger>> open(const std::string& location, SigningKey key,
                                                            LedgerOptions options);
  // Opens without a key, for reading only.
  [[nodiscard]] static Result<std::unique_ptr<Ledger>> open_to_read(const std::string& location, LedgerOptions options);

  // Only owners give and take roles.
  [[nodiscard]] Result<void> add_role(const NewRole& role);
  [[nodiscard]] Result<void> revoke_role(const std::string& name, const std::string& reason);

  // Makes a budget of its own, or a part of another one (terms.parent). Computes rho, and fills in orders if there are
  // none.
  [[nodiscard]] Result<void> create_budget(BudgetTerms terms);
  // Returns the ledger as create_budget(terms) would leave it, or its refusal. Nothing is written and nothing is spent.
  [[nodiscard]] Result<LedgerState> rehearse(BudgetTerms terms);

  // The key that rows are hashed with (row_sketch.h). It never leaves the process.
  [[nodiscard]] Result<Secret32> row_key() const;
  // Adds a dataset and its budget in one transaction. The budget is new, or one of this name that has no dataset yet
  // and the same terms. Nothing is written if the rows belong to another dataset.
  [[nodiscard]] Result<DatasetOutcome> add_dataset(const NewDataset& dataset, const RowSketch& rows);
  // Finds the budget that a use of these rows under the name of a dataset spends from. Remembers new rows of a known
  // dataset.
  [[nodiscard]] Result<DatasetOutcome> claim_dataset(const DatasetUse& use, const RowSketch& rows);
  // The same for a dataset whose budget is by blocks: these are all rows of the blocks that the use touches. Rows that
  // the ledger knows under one block never come to another one.
  [[nodiscard]] Result<DatasetOutcome> claim_blocks(const DatasetUse& use, std::span<const BlockRows> blocks);
  // From then on nothing is spent from the dataset's budget. A dataset that shares the rows of another only gives up
  // its name.
  [[nodiscard]] Result<void> retire_dataset(const std::string& name, const std::string& reason);

  // Records that somebody may learn from the rows of a private dataset without noise from now on. Returns the entry,
  // which is an earlier one if the same was recorded before. Call this before the rows are looked at.
  [[nodiscard]] Result<std::uint64_t> expose(const ExposureEntry& exposure);
  // Whether expose() would be granted. Nothing is written.
  [[nodiscard]] Result<void> rehearse(const ExposureEntry& exposure);
  // Records the digest of a model that came of an exposure. Call this before the model is published.
  [[nodiscard]] Result<void> keep_exposed(std::uint64_t exposure, const Digest& release);
  // The private dataset that holds some of these rows, as far as a sketch can tell (row_sketch.h); or nothing.
  [[nodiscard]] Result<std::optional<std::string>> private_owner(const RowSketch& rows);

  [[nodiscard]] Result<Reservation> reserve(const ReserveRequest& request);
  // Returns the budget as reserve(request) would leave it, or its refusal. Nothing is written and nothing is spent. A
  // request that was answered before leaves the budget as it is.
  [[nodiscard]] Result<LedgerState::Budget> rehearse(const ReserveRequest& request);
  // The outlook of several uses of one budget, one after the other (outlook.h).
  [[nodiscard]] Result<Outlook> outlook(std::span<const ReserveRequest> uses, const BudgetTerms& if_new,
                                        Repeats repeats);
  // Reserves several at once, in one transaction: each is granted or refused by itself, in order.
  [[nodiscard]] std::vector<Result<Reservation>> reserve_all(std::span<const ReserveRequest> requests);
  // `release` is the digest of what is released, `answer` its bytes if the ledger is to repeat them on demand, and
  // `accuracy` tells how good it is if that is public.
  [[nodiscard]] Result<void> commit(std::uint64_t reservation, const Digest& release,
                                    std::optional<std::string_view> answer = std::nullopt,
                                    std::optional<double> accuracy = std::nullopt);
  // Requires that begin() was not called.
  [[nodiscard]] Result<void> abort(Reservation&& reservation);
  // Makes this file or database the ledger, after it was restored or moved. It must verify, and hold all that its
  // fence, this machine's counters and its witnesses have seen. With Lost::kGivenUp it may lack entries that were seen,
  // except by witnesses of the options: the entry then says up to where entries are missing.
  enum class Lost : std::uint8_t { kNothing, kGivenUp };
  [[nodiscard]] Result<void> adopt(const std::string& reason, Lost lost = Lost::kNothing);
  // From then on every writer asks the witness at this place (witness_place.h), and writes nothing if it cannot be
  // asked. The place may not hold a password.
  [[nodiscard]] Result<void> add_witness(const std::string& place);
  // From then on nobody asks it. It need not be there.
  [[nodiscard]] Result<void> drop_witness(const std::string& place, const std::string& reason);
  // kVerificationFailed, with what has seen more entries, if the ledger was rolled back: asks the fence and this
  // machine's counters, and witnesses only where this says so. Nothing is written.
  enum class Asked : std::uint8_t { kThisMachine, kWitnessesToo };
  [[nodiscard]] Result<void> expect_current(Asked asked);
  // Lets times go on from the present one, after a clock that was ahead has written entries. Returns the time of the
  // last entry before. Budgets whose time was over by then stay closed. kInvalidArgument if the clock is not behind.
  [[nodiscard]] Result<TimeMs> set_clock(const std::string& reason);

  // Calls `look` with the state as of now.
  [[nodiscard]] Result<void> read(const std::function<Result<void>(const LedgerState&)>& look);
  // A budget as of now; kInvalidArgument, with names of budgets that exist, if there is none of this name.
  [[nodiscard]] Result<LedgerState::Budget> budget(std::string_view name);
  // The entry with this sequence. kVerificationFailed if there is none.
  [[nodiscard]] Result<Entry> entry(std::uint64_t sequence);
  // Calls `take` with every answer that is kept for a use by this technique (Note::techniques), in the order of their
  // reservations, if the same budget paid for it in the end as pays for `budget`. kVerificationFailed if one was
  // altered.
  [[nodiscard]] Result<void> kept_answers(std::string_view budget, std::string_view technique,
                                          const std::function<Result<void>(const KeptAnswer&)>& take);
  // Calls `take` with all entries from `first` on, as they are stored. Their chain was checked.
  [[nodiscard]] Result<void> history(std::uint64_t first, const LedgerTransaction::Take& take);
  [[nodiscard]] Result<Witness> witness();
  // Signs with the key that the ledger was opened with, for releases that the ledger has paid for. kInvalidArgument if
  // it is open for reading only.
  [[nodiscard]] Result<Signature> sign(std::string_view text) const;
  // The key that sign() signs with.
  [[nodiscard]] Result<PublicKey> signer() const;

 private:
  class Batch;
  using Work = std::function<Result<void>(Batch&)>;
  struct Pending;

  struct Prepared;

  Ledger(std::unique_ptr<LedgerStore> store, std::optional<SigningKey> key, LedgerOptions options, SecureRandom random);

  [[nodiscard]] static Result<std::unique_ptr<Ledger>> open_store(const std::string& location,
                                                                  std::optional<SigningKey> key, LedgerOptions options,
                                                                  bool create);
  // Waits until `work` is done in a transaction that is committed.
  [[nodiscard]] Result<void> write(Work work);
  // An adoption needs no fence, and its time has no meaning. Setting the clock may go back in time.
  enum class Purpose : std::uint8_t { kOrdinary, kAdoption, kSettingTheClock };
  void run_batch(std::span<Pending* const> batch, Purpose purpose, const internal::GuardedChange& change);
  // Writes alone, and not together with others that wait.
  [[nodiscard]] Result<void> write_alone(Work work, Purpose purpose, const internal::GuardedChange& change);
  [[nodiscard]] Result<void> run_transaction(std::span<Pending* const> batch, Purpose purpose,
                                             const internal::GuardedChange& change);
  // Brings the state up to the head of the store. Forgets the state if the entries cannot be read or do not verify.
  [[nodiscard]] Result<std::optional<Head>> catch_up(LedgerTransaction& transaction);
  [[nodiscard]] Result<void> read_up_to(const std::optional<Head>& head, LedgerTransaction& transaction);
  // Checks that each run of entries by one author, of those that were just read, ends with that author's signature.
  struct RunEnd;
  [[nodiscard]] static Result<void> check_signatures(const std::vector<RunEnd>& ends, LedgerTransaction& transaction);
  // Checks what an analyst's reservation was charged. Programs of owners are trusted until `budget verify`.
  [[nodiscard]] Result<void> check_charge(const Entry& entry);
  // The member whose key the ledger was opened with. kInvalidArgument if it is nobody's.
  [[nodiscard]] Result<const LedgerState::Member*> self() const;
  // Entry::by of what this ledger writes, or of an owner if it is open for reading and rehearses only.
  [[nodiscard]] std::string author() const;
  // Gets the keys for rows from the key that the ledger was opened with.
  void find_row_keys();
  void forget();
  [[nodiscard]] Result<void> look(const std::function<Result<void>(LedgerTransaction&)>& work);
  [[nodiscard]] Result<TimeMs> now() const;
  [[nodiscard]] Result<TimeMs> time_for(Purpose purpose) const;
  [[nodiscard]] Result<Charge> charge_of(const BudgetTerms& terms, const DpEvent& event, const std::string& event_text,
                                         std::optional<Delta> delta);
  [[nodiscard]] Result<std::shared_ptr<const BudgetTerms>> terms_of(const std::string& name);
  [[nodiscard]] Result<BudgetEntry> prepare_budget(BudgetTerms terms);
  // What the ledger keeps of some rows: their sketch, and of a block by date also that without the dates.
  struct KeptRows {
    RowSketch rows;
    std::optional<RowSketch> undated = {};
  };
  [[nodiscard]] Result<std::string> seal_sketch(const RowSketch& rows,
                                                const std::optional<RowSketch>& undated = std::nullopt);
  [[nodiscard]] Result<KeptRows> open_sketch(std::string_view sealed) const;
  // The block of the same dataset that holds some of these rows already; nothing if there is none.
  [[nodiscard]] Result<std::optional<std::string>> find_other_block(Batch& batch, const LedgerState::Dataset& dataset,
                                                                    const BlockRows& rows) const;
  // Finds the first dataset that holds some of the rows and is paid for by another budget than `payer`.
  [[nodiscard]] Result<std::optional<DatasetConflict>> find_owner(Batch& batch, const std::string& name, bool is_public,
                                                                  const std::optional<std::string>& payer,
                                                                  const RowSketch& rows,
                                                                  const RowSketch* undated = nullptr) const;
  [[nodiscard]] Result<Prepared> prepare(const ReserveRequest& request);
  [[nodiscard]] static Result<Reservation> reserve_in(Batch& batch, Prepared& prepared);
  [[nodiscard]] Result<internal::Rehearsal> rehearse_all(std::span<const ReserveRequest> uses,
                                                         const BudgetTerms& if_new, Repeats repeats);
  [[nodiscard]] Digest random_bytes();
  [[nodiscard]] Error refusal(const ReserveRequest& request, const Error& why);

  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<internal::Guards> guards_;
  std::optional<SigningKey> key_;
  struct RowKeys {
    Secret32 rows;   // rows are hashed with it
    Secret32 seals;  // sketches are sealed with keys that are derived from it
  };
  std::optional<RowKeys> row_keys_;  // set once, when the ledger is opened
  LedgerOptions options_;

  std::mutex store_mutex_;  // for the store, the state and the guards
  LedgerState state_;
  Digest hash_ = kNoEntry;                                           // hash of the last entry in state_
  std::unordered_map<std::string, Result<Charge>> checked_charges_;  // what analysts' reservations ought to cost

  std::mutex queue_mutex_;
  std::deque<Pending*> queue_;
  bool leading_ = false;  // some writer leads, or was told to

  std::mutex random_mutex_;
  SecureRandom random_;

  std::mutex charges_mutex_;
  std::unordered_map<std::string, Charge> charges_;
};

}  // namespace noisefloor
