// The state that a history leads to: the rules of the ledger, as a pure function of its entries.
//
// Guarantee:     apply() accepts an entry only if it keeps every rule: sequence and time never go back (a time only by
//                an entry that says so, and that reopens nothing), names exist, no budget is overspent, a parent pays
//                for its parts, a reservation is committed once or aborted by the token that it was locked with, a
//                budget belongs to one dataset and those that share its rows, a retired dataset spends nothing, and an
//                exposure is of a private dataset that is not retired, and is written once. A use of a budget by
//                blocks spends from every block that it names, and from each no more than its budget, and than is
//                unlocked (blocks.h). Every entry was written by a member who had the right to: an owner, or an analyst
//                within what an owner gave (budgets, kinds of use, quota, time). All uses that an analyst with a quota
//                makes of one budget in one period are together within the quota, by that budget's rule. A refused
//                entry changes nothing. Writing and verifying call the same code. apply_new() also keeps the rules that
//                version 0.1 did not know, and which its ledgers may hence have broken: a part of a budget is open only
//                while every budget above it is, and names can be read.
// Errors:        kBudgetExhausted if the budget does not allow the entry, kInvalidArgument if it breaks another rule.
// Thread safety: not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/account.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

enum class SpendStatus : std::uint8_t { kOpen, kCommitted, kAborted };

[[nodiscard]] std::string_view name_of(SpendStatus status);  // "open", "committed", "aborted"

class LedgerState {
 public:
  // One block of a budget by blocks.
  struct Block {
    TimeMs begin;             // of its time, or when its batch arrived
    std::uint32_t parts = 1;  // how many were unlocked when it was last spent from
    // What this many parts of its budget allow for, and one more, and so on: the last is the whole. All have every
    // charge. None: nothing was spent from it.
    std::vector<Account> stages = {};
    std::uint64_t spends = 0;
  };
  struct Budget {
    std::shared_ptr<const BudgetTerms> terms;
    Account account;      // of a budget by blocks: that of the block that most was spent from
    std::uint64_t entry;  // the entry that made it
    std::uint64_t spends = 0;
    std::uint64_t open = 0;
    std::uint64_t committed = 0;
    std::uint64_t aborted = 0;
    std::vector<std::string> children;
    std::string dataset = {};                 // the dataset that owns it, or empty
    std::optional<std::string> retired = {};  // why nothing more may be spent
    // The entry that set the clock back after the budget's time was over: the budget stays closed.
    std::optional<std::uint64_t> closed = {};
    std::map<std::string, Block> blocks = {};  // that were touched, and batches that arrived
  };
  struct Dataset {
    struct Content {
      std::uint64_t entry;  // the entry that the sketch is kept for
      Digest fingerprint;
      Digest sketch;
      std::string block = {};  // or empty
    };
    std::string name;
    Digest description;   // at the time it was added
    std::string budget;   // empty: public
    std::string same_as;  // or empty
    std::string person;   // the column that tells persons apart; empty: rows are protected
    std::uint64_t entry;  // the entry that added it
    std::vector<Content> contents = {};
    std::optional<std::string> retired = {};  // the reason

    [[nodiscard]] bool is_public() const { return budget.empty(); }
  };
  struct Spend {
    std::uint32_t budget;  // its place in budgets()
    SpendStatus status;
    Digest request;
    std::uint64_t settled = 0;  // the entry of the commit or abort
    std::uint32_t by = 0;       // the place in members() of whoever reserved it
    std::optional<UseKind> use = {};
  };
  struct Member {
    struct Revocation {
      std::uint64_t entry;
      std::string reason;
    };
    std::string name;
    Role role;
    PublicKey key;
    std::uint64_t entry;  // the entry that gave the role
    TimeMs since;         // its time, from which periods of the quota are counted
    std::vector<std::string> budgets = {};
    std::vector<UseKind> uses = {};  // empty: all
    std::optional<Quota> quota = {};
    std::optional<TimeMs> until = {};
    std::optional<SealedRowKeys> row_keys = {};
    std::optional<Revocation> revoked = {};
    // The entry that set the clock back after the role's time was over: the role stays over.
    std::optional<std::uint64_t> closed = {};
  };

  // Somebody may have learned from the rows of a private dataset without noise.
  struct Exposure {
    std::uint64_t entry;
    TimeMs time;
    std::uint32_t dataset;  // its place in datasets()
    ExposureKind kind;
    Digest what;
    std::string key;
    std::vector<Digest> releases = {};  // models that came of it
  };

  // Takes an entry of a history, whichever program wrote it.
  [[nodiscard]] Result<void> apply(const Entry& entry);
  // Takes an entry that is being written now, or rehearsed. The names that it introduces must pass check_name(); a name
  // that it refers to may be an old one.
  [[nodiscard]] Result<void> apply_new(const Entry& entry);

  [[nodiscard]] bool is_empty() const { return next_ == 0; }
  [[nodiscard]] std::uint64_t next_sequence() const { return next_; }
  [[nodiscard]] TimeMs last_time() const { return last_time_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] const GenesisEntry& genesis() const { return genesis_; }

  [[nodiscard]] const std::vector<Budget>& budgets() const { return budgets_; }
  // Returns nullptr if there is none of this name.
  [[nodiscard]] const Budget* find(std::string_view name) const;
  // Returns kInvalidArgument, with names that exist, if there is none of this name.
  [[nodiscard]] Result<const Budget*> need(std::string_view name) const;
  [[nodiscard]] const Spend* find_spend(std::uint64_t sequence) const;
  [[nodiscard]] std::optional<std::uint64_t> find_key(std::string_view budget, std::string_view key) const;

  [[nodiscard]] const std::vector<Dataset>& datasets() const { return datasets_; }
  // Returns nullptr if there is none of this name.
  [[nodiscard]] const Dataset* find_dataset(std::string_view name) const;
  // Returns kInvalidArgument, with names that exist, if there is none of this name.
  [[nodiscard]] Result<const Dataset*> need_dataset(std::string_view name) const;
  // The budget at the top, of which this one is a part, or a part of a part; itself if it has no parent. Requires that
  // `budget` exists.
  [[nodiscard]] const Budget& payer_of(std::string_view budget) const;
  // Checks that a budget allows spending at all: kBudgetExhausted, with the reason, if its dataset was retired, or the
  // dataset of a budget that it is part of.
  [[nodiscard]] Result<void> check_open(const Budget& budget) const;
  // Checks that this budget is open at this time, and every budget that it is part of: kBudgetExhausted, with the name
  // and the times of the one that is not.
  [[nodiscard]] Result<void> check_times(const Budget& budget, TimeMs time) const;
  // Checks that a dataset may be added. `budget_is_new`: the budget will be made right before it.
  [[nodiscard]] Result<void> check_dataset(const DatasetEntry& e, bool budget_is_new) const;

  // In the order of their entries.
  [[nodiscard]] const std::vector<Exposure>& exposures() const { return exposures_; }
  // The entry of this exposure, if it was written before.
  [[nodiscard]] std::optional<std::uint64_t> find_exposure(const ExposureEntry& e) const;
  // The exposures of all datasets whose uses are paid for, in the end, by the same budget as those of `budget`: their
  // entries before `before`. Requires that `budget` exists.
  [[nodiscard]] std::vector<Exposure> exposures_of(std::string_view budget, std::uint64_t before) const;
  // The first exposure that such a model came of; nullptr if there is none.
  [[nodiscard]] const Exposure* exposure_that_made(const Digest& release) const;
  // What a block allows for at this time, whether or not it was touched before: its stage is the first of `stages`.
  // kBudgetExhausted if it has not begun; kInvalidArgument for a name that is no block, and a batch that has not
  // arrived. Requires a budget by blocks.
  [[nodiscard]] static Result<Block> block_at(const Budget& budget, const std::string& name, TimeMs time);
  // For rehearsals: batches that have not arrived would arrive at this time.
  void expect_batches(std::string_view budget, std::span<const std::string> names, TimeMs time);
  // The first owner comes first. Members who were revoked stay.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // Whether there is anybody besides the first owner.
  [[nodiscard]] bool has_roles() const { return members_.size() > 1; }
  // Who wrote the last entry. Requires that there is one.
  [[nodiscard]] const Member& last_author() const { return members_[last_author_]; }
  // Returns nullptr if there is none. An empty name is that of the first owner, as in Entry::by.
  [[nodiscard]] const Member* find_member(std::string_view name) const;
  [[nodiscard]] const Member* find_member(const PublicKey& key) const;
  // Checks that a member may write at this time: kInvalidArgument, with the reason and the remedy, for auditors, and
  // after a revocation or the end of the role.
  [[nodiscard]] static Result<void> check_in_force(const Member& member, TimeMs time);
  // Whether a member may reserve from this budget: it, or one that it is part of, was given to the member.
  [[nodiscard]] bool is_given(const Member& member, const Budget& budget) const;
  // Finds the member whose signature under a release or a checkpoint stands for these reservations: whoever made all of
  // them, or an owner who was in force just before the entry `as_of`. kVerificationFailed for everyone else; `what`
  // names what was signed.
  [[nodiscard]] Result<const Member*> signer_of(std::string_view what, const PublicKey& key,
                                                std::span<const std::uint64_t> reservations, std::uint64_t as_of) const;
  // What is left of the quota that an analyst has for a budget in the period of `time`, in the words of the budget's
  // rule; nothing without a quota.
  [[nodiscard]] std::optional<std::string> quota_left(const Member& member, const Budget& budget, TimeMs time) const;
  // Whether heads that are signed with this key are those of this ledger.
  [[nodiscard]] bool may_sign_heads(const PublicKey& key) const;
  // The places that every writer asks before it writes, in the order in which they were added.
  [[nodiscard]] const std::vector<std::string>& witnesses() const { return witnesses_; }
  // Whether the owner has declared lost what was seen in this epoch up to this entry, when the ledger was adopted
  // later.
  [[nodiscard]] bool has_given_up(std::uint64_t epoch, std::uint64_t sequence) const;

  // The cost to a parent of a child with these terms.
  [[nodiscard]] static Result<Charge> parent_charge(const BudgetTerms& parent, const BudgetTerms& child);

 private:
  // What an abort needs to know about an open reservation.
  struct Open {
    Charge charge;
    std::string item;
    Digest abort_lock;
    std::vector<std::string> blocks = {};
    std::optional<std::int64_t> period = {};  // the period whose quota it is charged to
  };
  using QuotaKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // member, budget, period

  [[nodiscard]] Result<void> add(const Entry& entry, const GenesisEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const BudgetEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ReserveEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const CommitEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const AbortEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const AdoptEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const DatasetEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ContentEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const RetireEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ClockEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ExposureEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ExposedEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const RoleEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const RevokeEntry& e);
  // Checks that whoever wrote the entry had the right to.
  [[nodiscard]] Result<void> check_author(const Entry& entry) const;
  [[nodiscard]] Result<void> check_analyst(const Entry& entry, std::uint32_t place) const;
  // The place of a member who exists.
  [[nodiscard]] std::uint32_t place_of(const Member& member) const;
  struct QuotaSpend {
    QuotaKey key;
    Account after;
  };
  // The quota after a reservation; nothing if the author has none. kBudgetExhausted, with the time of the next period.
  [[nodiscard]] Result<std::optional<QuotaSpend>> charge_quota(const Entry& entry, const ReserveEntry& e,
                                                               std::uint32_t budget) const;
  [[nodiscard]] Result<Account> quota_account(const QuotaKey& key) const;
  [[nodiscard]] Result<void> return_quota(const Spend& spend, const Open& open);
  void close_members(std::uint64_t clock_entry);
  [[nodiscard]] Result<void> add(const Entry& entry, const WitnessEntry& e);
  // Checks the rules that only new entries need to keep.
  [[nodiscard]] Result<void> check_new(const Entry& entry) const;
  [[nodiscard]] Result<Dataset*> open_dataset(const std::string& name);
  // Spends from the account of the budget, or from its blocks.
  [[nodiscard]] static Result<void> spend(Budget& budget, TimeMs time, const ReserveEntry& e);
  [[nodiscard]] static Result<void> take_back(Budget& budget, const Open& open);
  // A batch arrives with its first rows.
  [[nodiscard]] static Result<void> check_content(const Budget* budget, const ContentEntry& e);
  static void add_content(Budget& budget, TimeMs time, const ContentEntry& e);
  [[nodiscard]] Result<Spend*> open_spend(std::uint64_t sequence);

  std::uint64_t next_ = 0;
  TimeMs last_time_ = 0;
  bool clock_was_set_ = false;  // programs that do not know apply_new's rules cannot have written what follows
  std::uint64_t epoch_ = 0;
  std::vector<std::string> witnesses_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> given_up_;  // epochs of adoptions, and the last entry of each
  GenesisEntry genesis_{};
  std::vector<Budget> budgets_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<Dataset> datasets_;
  std::unordered_map<std::string, std::uint32_t> datasets_by_name_;
  std::vector<Exposure> exposures_;
  std::unordered_map<std::uint64_t, Spend> spends_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::unordered_map<std::string, std::uint64_t> by_key_;  // budget and key → reservation
  std::vector<Member> members_;
  std::uint32_t last_author_ = 0;
  std::unordered_map<std::string, std::uint32_t> members_by_name_;
  std::map<QuotaKey, Account> quotas_;
};

}  // namespace noisefloor
