#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/crypto/aead.h"
#include "noisefloor/crypto/hkdf.h"
#include "noisefloor/ledger/batch.h"

namespace noisefloor {
namespace {

constexpr std::string_view kSealContext = "noisefloor row sketch";

Error no_key() {
  return invalid_argument(
      "this ledger is open for reading only: open it with its key to use datasets");
}

// An existing budget may become the budget of a dataset if the description states the same terms.
Result<void> check_agrees(const BudgetTerms& has, const BudgetTerms& stated) {
  const bool same = has.epsilon == stated.epsilon && has.delta == stated.delta && has.adjacency == stated.adjacency &&
                    has.unit == stated.unit;
  if (same) return success();
  const auto words = [](const BudgetTerms& t) {
    return fmt::format("epsilon {} and delta {} for {} of one {}", t.epsilon.value(), t.delta.value(),
                       name_of(t.adjacency), name_of(t.unit));
  };
  return invalid_argument(
      fmt::format("the budget {} has {} in the ledger, and the dataset's description says {}: correct the "
                  "description, or give the budget another name",
                  shown(has.name), words(has), words(stated)));
}

// The dataset whose budget pays for `dataset`: another one if `dataset` shares its rows.
const LedgerState::Dataset& owner_of(const LedgerState& state, const LedgerState::Dataset& dataset) {
  const LedgerState::Dataset* owner = &dataset;
  while (!owner->same_as.empty()) owner = state.find_dataset(owner->same_as);
  return *owner;
}

}  // namespace

Result<Secret32> Ledger::row_key() const {
  if (!row_keys_) return no_key();
  return row_keys_->rows.clone();
}

// A random salt of 32 bytes derives the key of one message from the ledger's key.
Result<std::string> Ledger::seal_sketch(const RowSketch& rows) {
  if (!row_keys_) return no_key();
  const Digest salt = random_bytes();
  const Secret32 key = derive<32>(row_keys_->seals.bytes(), salt, bytes_of(kSealContext));
  const std::vector<std::uint8_t> sealed = seal(key, bytes_of(kSealContext), bytes_of(to_bytes(rows)));
  std::string bytes(salt.begin(), salt.end());
  bytes.append(sealed.begin(), sealed.end());
  return bytes;
}

Result<RowSketch> Ledger::open_sketch(std::string_view sealed) const {
  if (!row_keys_) return no_key();
  if (sealed.size() > kDigestBytes + kTagBytes) {
    const Bytes salt = bytes_of(sealed.substr(0, kDigestBytes));
    const Bytes rest = bytes_of(sealed.substr(kDigestBytes));
    const Secret32 key = derive<32>(row_keys_->seals.bytes(), salt, bytes_of(kSealContext));
    std::vector<std::uint8_t> plain(rest.size() - kTagBytes);
    if (open_sealed(key, bytes_of(kSealContext), rest, plain)) {
      std::optional<RowSketch> sketch = parse_sketch({reinterpret_cast<const char*>(plain.data()), plain.size()});
      if (sketch) return *std::move(sketch);
    }
  }
  return verification_failed("the ledger's sketch of a dataset's rows cannot be read: restore the ledger from a copy");
}

Result<std::optional<DatasetConflict>> Ledger::find_owner(Batch& batch, const std::string& name, bool is_public,
                                                          const std::optional<std::string>& payer,
                                                          const RowSketch& rows) const {
  using Kind = DatasetConflict::Kind;
  const LedgerState& state = batch.state();
  for (const LedgerState::Dataset& dataset : state.datasets()) {
    if (dataset.is_public() || dataset.name == name) continue;
    // The same budget pays for both in the end, so their costs add up there.
    if (payer && state.payer_of(dataset.budget).terms->name == *payer) continue;
    for (const LedgerState::Dataset::Content& content : dataset.contents) {
      if (content.fingerprint != rows.fingerprint) {
        NF_TRY(const std::string sealed, batch.sketch(content));
        NF_TRY(const RowSketch known, open_sketch(sealed));
        if (!compare(known, rows).is_shared()) continue;
      }
      const LedgerState::Dataset& owner = owner_of(state, dataset);
      const Kind kind = is_public ? Kind::kDeclaredPublic : owner.retired ? Kind::kRetired : Kind::kOtherDataset;
      return std::optional(DatasetConflict{kind, name, owner.name, owner.retired.value_or("")});
    }
  }
  return std::optional<DatasetConflict>();
}

Result<DatasetOutcome> Ledger::add_dataset(const NewDataset& dataset, const RowSketch& rows) {
  NF_TRY_VOID(check_name("the name of a dataset", dataset.name));
  const bool shares = !dataset.same_as.empty();
  const bool is_public = !dataset.budget && !shares;
  std::optional<BudgetEntry> budget;
  if (dataset.budget && !shares) {
    NF_TRY(budget, prepare_budget(*dataset.budget));
  }
  NF_TRY(const std::string sealed, seal_sketch(rows));
  std::optional<DatasetOutcome> outcome;
  const auto work = [&](Batch& batch) -> Result<void> {
    const LedgerState& state = batch.state();
    DatasetEntry entry{dataset.name,     dataset.description, "", dataset.same_as, dataset.person,
                       rows.fingerprint, blake2b(sealed)};
    bool makes_budget = false;
    if (shares) {
      NF_TRY(const LedgerState::Dataset* const owner, state.need_dataset(dataset.same_as));
      if (!owner->is_public() && owner->person != dataset.person) {
        outcome = DatasetConflict{
            .kind = DatasetConflict::Kind::kOtherPerson, .dataset = owner->name, .person = owner->person};
        return success();
      }
      entry.budget = owner->budget;
    } else if (budget) {
      entry.budget = budget->terms.name;
      const LedgerState::Budget* const known = state.find(entry.budget);
      makes_budget = known == nullptr;
      if (known != nullptr) NF_TRY_VOID(check_agrees(*known->terms, budget->terms));
    }
    // Every refusal comes before the first entry, because a transaction keeps the entries that it was given.
    NF_TRY_VOID(state.check_dataset(entry, makes_budget));
    std::optional<std::string> payer;
    if (!entry.budget.empty()) {
      const std::string& paid_by = makes_budget ? budget->terms.parent : entry.budget;
      if (!paid_by.empty() && state.find(paid_by) != nullptr) payer = state.payer_of(paid_by).terms->name;
    }
    NF_TRY(std::optional<DatasetConflict> conflict, find_owner(batch, entry.name, is_public, payer, rows));
    if (conflict) {
      outcome = *std::move(conflict);
      return success();
    }
    if (makes_budget) NF_TRY_VOID(batch.append(*budget));
    const DatasetGrant grant{entry.name, entry.budget, true, makes_budget};
    NF_TRY(const std::uint64_t sequence, batch.append(std::move(entry)));
    batch.keep_sketch(sequence, sealed);
    outcome = grant;
    return success();
  };
  NF_TRY_VOID(write(work));
  return *std::move(outcome);
}

Result<DatasetOutcome> Ledger::claim_dataset(const DatasetUse& use, const RowSketch& rows) {
  using Kind = DatasetConflict::Kind;
  NF_TRY(const std::string sealed, seal_sketch(rows));
  std::optional<DatasetOutcome> outcome;
  const auto work = [&](Batch& batch) -> Result<void> {
    const LedgerState& state = batch.state();
    const LedgerState::Dataset* const dataset = state.find_dataset(use.name);
    if (dataset == nullptr) {
      outcome = DatasetConflict{Kind::kUnknown, use.name};
      return success();
    }
    if (dataset->is_public() != use.is_public) {
      outcome = DatasetConflict{Kind::kNotPublic, use.name};
      return success();
    }
    if (!dataset->is_public() && dataset->person != use.person) {
      outcome = DatasetConflict{.kind = Kind::kOtherPerson, .dataset = use.name, .person = dataset->person};
      return success();
    }
    const LedgerState::Dataset& owner = owner_of(state, *dataset);
    for (const LedgerState::Dataset* one : {dataset, &owner}) {
      if (!one->retired) continue;
      outcome = DatasetConflict{Kind::kRetired, use.name, one->name, *one->retired};
      return success();
    }
    std::optional<std::string> payer;
    if (!dataset->is_public()) payer = state.payer_of(dataset->budget).terms->name;
    const bool known = std::any_of(dataset->contents.begin(), dataset->contents.end(),
                                   [&](const auto& content) { return content.fingerprint == rows.fingerprint; });
    // Public rows are compared every time: a private dataset may have been added since.
    if (!known || dataset->is_public()) {
      NF_TRY(std::optional<DatasetConflict> conflict, find_owner(batch, use.name, dataset->is_public(), payer, rows));
      if (conflict) {
        outcome = *std::move(conflict);
        return success();
      }
    }
    const DatasetGrant grant{dataset->name, dataset->budget, !known, false};
    if (!known) {
      NF_TRY(const std::uint64_t sequence,
             batch.append(ContentEntry{use.name, use.description, rows.fingerprint, blake2b(sealed)}));
      batch.keep_sketch(sequence, sealed);
    }
    outcome = grant;
    return success();
  };
  NF_TRY_VOID(write(work));
  return *std::move(outcome);
}

Result<void> Ledger::retire_dataset(const std::string& name, const std::string& reason) {
  return write([&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(RetireEntry{name, reason}));
    return success();
  });
}

}  // namespace noisefloor
