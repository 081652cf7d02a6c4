#include "noisefloor/ledger/ledger.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/guards.h"
#include "noisefloor/ledger/ledger_batch.h"
#include "noisefloor/ledger/open_store.h"
#include "noisefloor/ledger/reserving.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {
namespace {

// Clocks of several hosts differ a little, and so does a clock that is being set. Entries never go back in time.
constexpr TimeMs kClockSlackMs = 5'000;
constexpr std::size_t kMaxBatch = 1'024;
constexpr std::size_t kMaxCharges = 4'096;

TimeMs system_time() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string_view as_text(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

}  // namespace

// --- Reservations ----------------------------------------------------------------------------------------------------

Reservation::Reservation(std::uint64_t sequence, const Digest& release, std::optional<std::string> answer)
    : sequence_(sequence), release_(release), answer_(std::move(answer)) {}

Reservation::Reservation(Reservation&& other) noexcept
    : sequence_(other.sequence_), token_(other.token_), release_(other.release_), answer_(std::move(other.answer_)) {
  other.begin();
}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  begin();
  sequence_ = other.sequence_;
  token_ = other.token_;
  release_ = other.release_;
  answer_ = std::move(other.answer_);
  other.begin();
  return *this;
}

Reservation::~Reservation() { begin(); }

void Reservation::begin() {
  if (token_) sodium_memzero(token_->data(), token_->size());
  token_.reset();
}

// --- Transactions ----------------------------------------------------------------------------------------------------

// The last entry of several in a row by one author.
struct Ledger::RunEnd {
  std::string author;
  PublicKey key;
  Head head;  // without the signature
};

struct Ledger::Pending {
  Work work;
  Result<void> outcome = success();
  bool done = false;
  bool leads = false;
  std::condition_variable changed = {};
};

Ledger::Ledger(std::unique_ptr<LedgerStore> store, std::optional<SigningKey> key, LedgerOptions options,
               SecureRandom random)
    : store_(std::move(store)), key_(std::move(key)), options_(std::move(options)), random_(std::move(random)) {
  std::vector<std::string> witnesses = options_.witnesses;
  if (!options_.witness.empty()) witnesses.push_back(options_.witness);
  guards_ = std::make_unique<internal::Guards>(
      internal::GuardSettings{std::move(witnesses), options_.counters, options_.busy_ms}, store_->file(),
      store_->place());
  if (!options_.clock) options_.clock = system_time;
}

Ledger::~Ledger() = default;

Digest Ledger::random_bytes() {
  const std::lock_guard lock(random_mutex_);
  Digest bytes{};
  random_.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// Writers queue up. A writer that finds no leader leads: it takes all that wait, writes them in one transaction, and
// hands over to the next in the queue.
Result<void> Ledger::write(Work work) {
  if (!key_) return invalid_argument("this ledger is open for reading only: open it with its key to write");
  Pending own{std::move(work)};
  std::unique_lock lock(queue_mutex_);
  queue_.push_back(&own);
  if (leading_) {
    own.changed.wait(lock, [&] { return own.done || own.leads; });
    if (own.done) return own.outcome;
  }
  leading_ = true;
  const auto size = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMaxBatch));
  const std::vector<Pending*> batch(queue_.begin(), queue_.begin() + size);  // this one is the first
  queue_.erase(queue_.begin(), queue_.begin() + size);
  lock.unlock();
  run_batch(batch, Purpose::kOrdinary, {});
  lock.lock();
  for (Pending* one : batch) {
    one->done = true;
    if (one != &own) one->changed.notify_one();
  }
  leading_ = !queue_.empty();
  if (leading_) {
    queue_.front()->leads = true;
    queue_.front()->changed.notify_one();
  }
  return own.outcome;
}

Result<void> Ledger::write_alone(Work work, Purpose purpose, const internal::GuardedChange& change) {
  if (!key_) return invalid_argument("this ledger is open for reading only: open it with its key to write");
  Pending own{std::move(work)};
  Pending* const one = &own;
  run_batch(std::span(&one, 1), purpose, change);
  return own.outcome;
}

void Ledger::run_batch(std::span<Pending* const> batch, Purpose purpose, const internal::GuardedChange& change) {
  const std::lock_guard lock(store_mutex_);
  Result<void> written = run_transaction(batch, purpose, change);
  guards_->release();
  if (written.has_value()) return;
  // The content of the store is unknown now: read it again before the next write.
  forget();
  for (Pending* one : batch) {
    if (one->outcome.has_value()) one->outcome = written.error();
  }
}

Result<void> Ledger::run_transaction(std::span<Pending* const> batch, Purpose purpose,
                                     const internal::GuardedChange& change) {
  NF_TRY(const std::unique_ptr<LedgerTransaction> transaction, store_->begin(LedgerStore::Mode::kWrite));
  NF_TRY(const std::optional<Head> before, catch_up(*transaction));
  if (before) NF_TRY_VOID(self());
  // Copies of a ledger that share a witness have separate transactions: the witness stays locked until the end, so that
  // one copy at a time checks and writes.
  NF_TRY(const std::optional<std::uint64_t> missing,
         guards_->check(*transaction, state_, before ? &*before : nullptr, change));
  NF_TRY(const TimeMs time, time_for(purpose));
  std::string by;
  if (before) {
    NF_TRY(const LedgerState::Member* const member, self());
    NF_TRY_VOID(LedgerState::check_in_force(*member, time));
    by = author();
  }
  Batch changes(*this, *transaction, time, by, missing);
  for (Pending* one : batch) one->outcome = one->work(changes);
  if (changes.is_empty()) return success();
  const bool makes_fence = !before || change.adopts;
  if (makes_fence || guards_->lacks_fence()) NF_TRY_VOID(transaction->set_fence());
  NF_TRY(const Head head, changes.commit());
  return guards_->move_on(state_, head, time, makes_fence);
}

Result<void> Ledger::check_signatures(const std::vector<RunEnd>& ends, LedgerTransaction& transaction) {
  if (ends.empty()) return success();
  std::size_t next = 0;
  const auto take = [&](std::uint64_t sequence, const Signature& signature) -> Result<void> {
    if (next >= ends.size() || sequence != ends[next].head.sequence) return success();
    Head head = ends[next].head;
    head.signature = signature;
    if (!is_signed_by(head, ends[next].key)) {
      return verification_failed(
          fmt::format("entry {} is not signed by {}, who is named as its author: somebody else "
                      "wrote it, or altered it",
                      sequence, shown(ends[next].author)));
    }
    ++next;
    return success();
  };
  NF_TRY_VOID(transaction.signatures(ends.front().head.sequence, ends.back().head.sequence, take));
  if (next == ends.size()) return success();
  return verification_failed(fmt::format("the signature of {} for entry {} is gone: restore the ledger from a copy",
                                         shown(ends[next].author), ends[next].head.sequence));
}

void Ledger::forget() {
  guards_->forget();
  state_ = LedgerState();
  hash_ = kNoEntry;
}

Result<std::optional<Head>> Ledger::catch_up(LedgerTransaction& transaction) {
  NF_TRY(const std::optional<Head> head, transaction.head());
  if (const Result<void> read = read_up_to(head, transaction); !read.has_value()) {
    forget();
    return read.error();
  }
  return head;
}

Result<void> Ledger::read_up_to(const std::optional<Head>& head, LedgerTransaction& transaction) {
  if (!head) {
    if (state_.is_empty()) return success();
    return verification_failed("the ledger is empty and was not empty before: it was rolled back");
  }
  if (head->sequence + 1 == state_.next_sequence() && head->hash == hash_) return success();
  if (head->sequence + 1 < state_.next_sequence()) {
    return verification_failed(fmt::format("the ledger ends at entry {} but had entry {} before: it was rolled back",
                                           head->sequence, state_.next_sequence() - 1));
  }
  const auto missing = [&] { return verification_failed(fmt::format("entry {} is missing", state_.next_sequence())); };
  std::vector<RunEnd> ends;
  const std::uint64_t first = state_.next_sequence();
  const auto take = [&](const StoredEntry& stored) -> Result<void> {
    if (stored.sequence != state_.next_sequence()) return missing();
    if (chain_hash(hash_, stored.text) != stored.hash) {
      return verification_failed(
          fmt::format("entry {} was altered: its text and its hash do not belong together", stored.sequence));
    }
    const Result<Entry> entry = parse_entry(stored.text);
    if (!entry.has_value()) {
      return verification_failed(fmt::format("entry {}: {}", stored.sequence, entry.error().message));
    }
    std::optional<RunEnd> end;
    if (stored.sequence > first && state_.find_member(entry.value().by) != &state_.last_author()) {
      const LedgerState::Member& author = state_.last_author();
      end = RunEnd{
          author.name, author.key, {state_.genesis().ledger, state_.epoch(), stored.sequence - 1, hash_, Signature{}}};
    }
    NF_TRY_VOID(check_charge(entry.value()));
    if (const Result<void> applied = state_.apply(entry.value()); !applied.has_value()) {
      return verification_failed(fmt::format("entry {} breaks a rule: {}", stored.sequence, applied.error().message));
    }
    if (end) ends.push_back(*std::move(end));
    hash_ = stored.hash;
    return success();
  };
  NF_TRY_VOID(transaction.entries(first, head->sequence, take));
  if (state_.next_sequence() != head->sequence + 1) return missing();
  const bool same = hash_ == head->hash && head->ledger == state_.genesis().ledger && head->epoch == state_.epoch();
  if (!same) return verification_failed("the head of the ledger does not match its last entry");
  if (!is_signed_by(*head, state_.last_author().key)) {
    return verification_failed(fmt::format(
        "the head of the ledger is not signed by {}: entries were altered, added or removed",
        state_.has_roles() ? "the author of the last entry, " + shown(state_.last_author().name) : "its key"));
  }
  return check_signatures(ends, transaction);
}

Result<TimeMs> Ledger::now() const {
  const TimeMs time = options_.clock();
  if (time + kClockSlackMs < state_.last_time()) {
    return io_error(fmt::format(
        "the clock is {} s behind the last entry of the ledger ({}): set it right. If that entry was written "
        "by a clock that was ahead, `budget clock` goes on from the present time. Nothing was written",
        (state_.last_time() - time) / 1000, show_time(state_.last_time())));
  }
  return std::max(time, state_.last_time());
}

Result<TimeMs> Ledger::time_for(Purpose purpose) const {
  switch (purpose) {
    case Purpose::kOrdinary:
      return now();
    case Purpose::kAdoption:
      // A copy whose last entry is in the future must be adopted before its clock can be set.
      return std::max(options_.clock(), state_.last_time());
    case Purpose::kSettingTheClock:
      return options_.clock();
  }
  NF_UNREACHABLE("a purpose outside the closed list");
}

Result<void> Ledger::look(const std::function<Result<void>(LedgerTransaction&)>& work) {
  const std::lock_guard lock(store_mutex_);
  NF_TRY(const std::unique_ptr<LedgerTransaction> transaction, store_->begin(LedgerStore::Mode::kRead));
  NF_TRY(const std::optional<Head> head, catch_up(*transaction));
  if (!head) {
    return verification_failed(fmt::format(
        "the ledger {} has no entries. If the program ended while it made the ledger, remove the ledger and make "
        "it again; otherwise someone emptied it",
        shown(store_->place())));
  }
  return work(*transaction);
}

// --- Opening ---------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Ledger>> Ledger::open_store(const std::string& location, std::optional<SigningKey> key,
                                                   LedgerOptions options, bool create) {
  const bool read_only = !key;
  NF_TRY(std::unique_ptr<LedgerStore> store,
         noisefloor::open_store(location, {create, read_only, options.busy_ms, options.sqlite_vfs}));
  NF_TRY(SecureRandom random, SecureRandom::create());
  return std::unique_ptr<Ledger>(new Ledger(std::move(store), std::move(key), std::move(options), std::move(random)));
}

Result<std::unique_ptr<Ledger>> Ledger::create(const std::string& location, SigningKey key, LedgerOptions options) {
  const PublicKey owner = key.public_key();
  NF_TRY(std::unique_ptr<Ledger> ledger, open_store(location, std::move(key), std::move(options), true));
  const Digest name = ledger->random_bytes();
  const auto begin = [&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(GenesisEntry{name, owner}));
    return success();
  };
  NF_TRY_VOID(ledger->write(begin));
  ledger->find_row_keys();
  return ledger;
}

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& location, SigningKey key, LedgerOptions options) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_store(location, std::move(key), std::move(options), false));
  NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
    NF_TRY(const LedgerState::Member* const member, ledger->self());
    return LedgerState::check_in_force(*member, std::max(ledger->options_.clock(), state.last_time()));
  }));
  ledger->find_row_keys();
  return ledger;
}

Result<std::unique_ptr<Ledger>> Ledger::open_to_read(const std::string& location, LedgerOptions options) {
  NF_TRY(std::unique_ptr<Ledger> ledger, open_store(location, std::nullopt, std::move(options), false));
  NF_TRY_VOID(ledger->read([](const LedgerState&) { return success(); }));
  return ledger;
}

// --- Budgets ---------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<const BudgetTerms>> Ledger::terms_of(const std::string& name) {
  {
    const std::lock_guard lock(store_mutex_);
    if (const LedgerState::Budget* found = state_.find(name)) return found->terms;
  }
  NF_TRY(const LedgerState::Budget found, budget(name));
  return found.terms;
}

Result<BudgetEntry> Ledger::prepare_budget(BudgetTerms terms) {
  NF_TRY_VOID(internal::complete_terms(terms));
  Charge charge;
  if (!terms.parent.empty()) {
    NF_TRY(const std::shared_ptr<const BudgetTerms> parent, terms_of(terms.parent));
    NF_TRY(charge, LedgerState::parent_charge(*parent, terms));
  }
  return BudgetEntry{std::move(terms), std::move(charge)};
}

Result<void> Ledger::create_budget(BudgetTerms terms) {
  NF_TRY(const BudgetEntry entry, prepare_budget(std::move(terms)));
  return write([&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(entry));
    return success();
  });
}

Result<LedgerState> Ledger::rehearse(BudgetTerms terms) {
  NF_TRY(const BudgetEntry entry, prepare_budget(std::move(terms)));
  NF_TRY(const TimeMs time, now());
  std::optional<LedgerState> after;
  NF_TRY_VOID(read([&](const LedgerState& state) -> Result<void> {
    after = state;
    return after->apply_new({state.next_sequence(), std::max(time, state.last_time()), entry, author()});
  }));
  return *std::move(after);
}

Result<Charge> Ledger::charge_of(const BudgetTerms& terms, const DpEvent& event, const std::string& event_text,
                                 std::optional<Delta> delta) {
  const std::string key = fmt::format("{}\n{}\n{}", terms.name, delta ? delta->value() : 0, event_text);
  {
    const std::lock_guard lock(charges_mutex_);
    if (const auto place = charges_.find(key); place != charges_.end()) return place->second;
  }
  NF_TRY(const Charge charge, charge_for(terms, event, delta));
  const std::lock_guard lock(charges_mutex_);
  if (charges_.size() >= kMaxCharges) charges_.clear();
  charges_.emplace(key, charge);
  return charge;
}

// --- Spending --------------------------------------------------------------------------------------------------------

// A request that is ready to be written.
struct Ledger::Prepared {
  const ReserveRequest& request;
  Digest token;
  ReserveEntry entry;
};

Result<Ledger::Prepared> Ledger::prepare(const ReserveRequest& request) {
  NF_TRY(const std::shared_ptr<const BudgetTerms> terms, terms_of(request.budget));
  NF_TRY_VOID(internal::check_request(request, *terms));
  std::string event = to_json(request.statement.event);
  NF_TRY(Charge charge, charge_of(*terms, request.statement.event, event, request.delta));
  NF_TRY(ReserveEntry entry, internal::reserve_entry(request, std::move(event), std::move(charge)));
  const Digest token = random_bytes();
  entry.abort_lock = blake2b(as_text(token));
  return Prepared{request, token, std::move(entry)};
}

Result<Reservation> Ledger::reserve_in(Batch& batch, Prepared& prepared) {
  const ReserveRequest& request = prepared.request;
  const auto known = batch.state().find_key(request.budget, request.key);
  if (!known) {
    if (!batch.state().has_roles()) prepared.entry.use.reset();
    NF_TRY(const std::uint64_t sequence, batch.append(std::move(prepared.entry)));
    return Reservation(sequence, prepared.token);
  }
  const LedgerState::Spend spend = *batch.state().find_spend(*known);
  NF_TRY_VOID(internal::check_repeated(request, prepared.entry.request, *known, spend));
  NF_TRY(const Digest release, batch.release_of(spend.settled));
  NF_TRY(std::optional<std::string> answer, batch.answer(*known));
  if (answer && blake2b(*answer) != release) {
    return verification_failed(
        fmt::format("the stored answer of reservation {} was altered: restore the ledger from a copy", *known));
  }
  return Reservation(*known, release, std::move(answer));
}

Result<LedgerState::Budget> Ledger::rehearse(const ReserveRequest& request) {
  NF_TRY(const std::shared_ptr<const BudgetTerms> terms, terms_of(request.budget));
  NF_TRY(const internal::Rehearsal after, rehearse_all({&request, 1}, *terms, Repeats::kMustBeAnswered));
  NF_TRY_VOID(expect_fits(after.outlook));
  NF_TRY(const LedgerState::Budget* const budget, after.state.need(request.budget));
  return *budget;
}

Result<internal::Rehearsal> Ledger::rehearse_all(std::span<const ReserveRequest> uses, const BudgetTerms& if_new,
                                                 Repeats repeats) {
  std::optional<LedgerState> state;
  TimeMs time = 0;
  std::string by;
  NF_TRY_VOID(read([&](const LedgerState& found) -> Result<void> {
    state = found;
    by = author();
    NF_TRY(time, now());
    return success();
  }));
  return internal::rehearse(*std::move(state), time, uses, if_new, repeats, by);
}

Result<Outlook> Ledger::outlook(std::span<const ReserveRequest> uses, const BudgetTerms& if_new, Repeats repeats) {
  NF_TRY(internal::Rehearsal rehearsed, rehearse_all(uses, if_new, repeats));
  return std::move(rehearsed.outlook);
}

Result<Reservation> Ledger::reserve(const ReserveRequest& request) {
  std::vector<Result<Reservation>> one = reserve_all(std::span(&request, 1));
  return std::move(one.front());
}

std::vector<Result<Reservation>> Ledger::reserve_all(std::span<const ReserveRequest> requests) {
  std::vector<Result<Prepared>> prepared;
  prepared.reserve(requests.size());
  for (const ReserveRequest& request : requests) prepared.push_back(prepare(request));
  std::vector<Result<Reservation>> outcomes;
  outcomes.reserve(requests.size());
  const Result<void> written = write([&](Batch& batch) -> Result<void> {
    for (Result<Prepared>& one : prepared) {
      if (one.has_value()) {
        outcomes.push_back(reserve_in(batch, one.value()));
      } else {
        outcomes.emplace_back(one.error());
      }
    }
    return success();
  });
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!written.has_value()) {
      if (i >= outcomes.size()) outcomes.emplace_back(written.error());
      // Refused requests stay refused, and granted ones were not written.
      if (outcomes[i].has_value()) outcomes[i] = written.error();
    } else if (!outcomes[i].has_value() && outcomes[i].error().code == ErrorCode::kBudgetExhausted) {
      outcomes[i] = refusal(requests[i], outcomes[i].error());
    }
  }
  return outcomes;
}

Error Ledger::refusal(const ReserveRequest& request, const Error& why) {
  std::optional<Error> refused;
  const Result<void> looked = read([&](const LedgerState& state) -> Result<void> {
    NF_TRY(const TimeMs time, now());
    refused = internal::refusal_of(state, request, why, time);
    return success();
  });
  return looked.has_value() ? *refused : why;
}

Result<void> Ledger::commit(std::uint64_t reservation, const Digest& release, std::optional<std::string_view> answer,
                            std::optional<double> accuracy) {
  if (answer && blake2b(*answer) != release) {
    return invalid_argument("the digest does not belong to the answer: nothing was committed");
  }
  if (accuracy && !std::isfinite(*accuracy)) return invalid_argument("the accuracy must be a finite number");
  return write([&](Batch& batch) -> Result<void> {
    const LedgerState::Spend* spend = batch.state().find_spend(reservation);
    if (spend != nullptr && spend->status == SpendStatus::kCommitted) {
      NF_TRY(const Digest earlier, batch.release_of(spend->settled));
      if (earlier == release) return success();
      return invalid_argument(
          fmt::format("reservation {} was committed with another release: a commit cannot be changed", reservation));
    }
    NF_TRY_VOID(batch.append(CommitEntry{reservation, release, accuracy, answer.has_value()}));
    if (answer) batch.keep_answer(reservation, *answer);
    return success();
  });
}

Result<void> Ledger::abort(Reservation&& reservation) {
  Reservation own = std::move(reservation);
  if (!own.token_) {
    return invalid_argument(
        fmt::format("reservation {} cannot be aborted: its noise may have been drawn", own.sequence()));
  }
  return write([&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(AbortEntry{own.sequence(), *own.token_}));
    return success();
  });
}

Result<TimeMs> Ledger::set_clock(const std::string& reason) {
  NF_TRY_VOID(check_name("the reason", reason));
  TimeMs before = 0;
  const auto work = [&](Batch& batch) -> Result<void> {
    before = batch.state().last_time();
    if (batch.time() + kClockSlackMs >= before) {
      return invalid_argument(
          fmt::format("the clock is not behind the last entry of the ledger ({}): nothing is to be "
                      "set right, and nothing was written",
                      show_time(before)));
    }
    NF_TRY_VOID(batch.append(ClockEntry{reason}));
    return success();
  };
  NF_TRY_VOID(write_alone(work, Purpose::kSettingTheClock, {}));
  return before;
}

// --- Looking ---------------------------------------------------------------------------------------------------------

Result<void> Ledger::read(const std::function<Result<void>(const LedgerState&)>& look_at) {
  return look([&](LedgerTransaction&) { return look_at(state_); });
}

Result<LedgerState::Budget> Ledger::budget(std::string_view name) {
  std::optional<LedgerState::Budget> found;
  NF_TRY_VOID(read([&](const LedgerState& state) -> Result<void> {
    NF_TRY(const LedgerState::Budget* const one, state.need(name));
    found = *one;
    return success();
  }));
  return *std::move(found);
}

Result<Entry> Ledger::entry(std::uint64_t sequence) {
  std::optional<StoredEntry> found;
  NF_TRY_VOID(look([&](LedgerTransaction& transaction) -> Result<void> {
    NF_TRY(found, transaction.entry(sequence));
    return success();
  }));
  if (!found) return verification_failed(fmt::format("the ledger has no entry {}", sequence));
  return parse_entry(found->text);
}

Result<void> Ledger::history(std::uint64_t first, const LedgerTransaction::Take& take) {
  return look(
      [&](LedgerTransaction& transaction) { return transaction.entries(first, state_.next_sequence() - 1, take); });
}

Result<Signature> Ledger::sign(std::string_view text) const {
  if (!key_) return invalid_argument("this ledger is open for reading only: open it with its key to sign");
  return key_->sign(text);
}

Result<PublicKey> Ledger::signer() const {
  if (!key_) return invalid_argument("this ledger is open for reading only: open it with its key to sign");
  return key_->public_key();
}

Result<Witness> Ledger::witness() {
  std::optional<Witness> found;
  NF_TRY_VOID(look([&](LedgerTransaction& transaction) -> Result<void> {
    NF_TRY(const std::optional<Head> head, transaction.head());
    found = internal::witness_of(state_, *head, state_.last_time());
    return success();
  }));
  return *found;
}

}  // namespace noisefloor
