#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/crypto/aead.h"
#include "noisefloor/crypto/hkdf.h"
#include "noisefloor/ledger/ledger_batch.h"

namespace noisefloor {
namespace {

constexpr std::string_view kSealContext = "noisefloor row sketch";

Error no_key() {
  return invalid_argument("this ledger is open for reading only: open it with its key to use datasets");
}

// An existing budget may become the budget of a dataset if the description states the same terms.
Result<void> check_agrees(const BudgetTerms& has, const BudgetTerms& stated) {
  const bool same = has.epsilon == stated.epsilon && has.delta == stated.delta && has.adjacency == stated.adjacency &&
                    has.unit == stated.unit && has.blocks == stated.blocks;
  if (same) return success();
  const auto words = [](const BudgetTerms& t) {
    return fmt::format("epsilon {} and delta {} for {} of one {}{}", t.epsilon.value(), t.delta.value(),
                       name_of(t.adjacency), name_of(t.unit), t.blocks ? " in " + in_words(*t.blocks) : "");
  };
  return invalid_argument(
      fmt::format("the budget {} has {} in the ledger, and the dataset's description says {}: correct the "
                  "description, or give the budget another name",
                  shown(has.name), words(has), words(stated)));
}

// Whether they hold the same records, as far as a budget is concerned. Blocks without rows have nothing in common.
bool holds_some(const RowSketch& known, const RowSketch& rows) {
  return known.rows > 0 && rows.rows > 0 && compare(known, rows).is_shared();
}

// The fingerprint of a block's rows, so that equal fingerprints do not show which blocks are empty or alike.
Digest fingerprint_of(const BlockRows& rows) {
  std::string text = "noisefloor block v1\n" + rows.block + "\n";
  text.append(rows.rows.fingerprint.begin(), rows.rows.fingerprint.end());
  return blake2b(text);
}

// What the ledger has against a use of the dataset's name, whatever the rows; nothing if it has nothing.
std::optional<DatasetConflict> conflict_with(const LedgerState& state, const DatasetUse& use);

// The dataset whose budget pays for `dataset`: another one if `dataset` shares its rows.
const LedgerState::Dataset& owner_of(const LedgerState& state, const LedgerState::Dataset& dataset) {
  const LedgerState::Dataset* owner = &dataset;
  while (!owner->same_as.empty()) owner = state.find_dataset(owner->same_as);
  return *owner;
}

std::optional<DatasetConflict> conflict_with(const LedgerState& state, const DatasetUse& use) {
  using Kind = DatasetConflict::Kind;
  const LedgerState::Dataset* const dataset = state.find_dataset(use.name);
  if (dataset == nullptr) return DatasetConflict{Kind::kUnknown, use.name};
  if (dataset->is_public() != use.is_public) return DatasetConflict{Kind::kNotPublic, use.name};
  if (!dataset->is_public() && dataset->person != use.person) {
    return DatasetConflict{.kind = Kind::kOtherPerson, .dataset = use.name, .person = dataset->person};
  }
  const LedgerState::Budget* const budget = state.find(dataset->budget);
  const std::optional<BlockTerms> blocks = budget == nullptr ? std::nullopt : budget->terms->blocks;
  if (blocks != use.blocks) {
    return DatasetConflict{.kind = Kind::kOtherBlocks, .dataset = use.name, .blocks = blocks};
  }
  const LedgerState::Dataset& owner = owner_of(state, *dataset);
  for (const LedgerState::Dataset* one : {dataset, &owner}) {
    if (one->retired) return DatasetConflict{Kind::kRetired, use.name, one->name, *one->retired};
  }
  return std::nullopt;
}

}  // namespace

Result<Secret32> Ledger::row_key() const {
  if (!row_keys_) return no_key();
  return row_keys_->rows.clone();
}

// A random salt of 32 bytes derives the key of one message from the ledger's key.
Result<std::string> Ledger::seal_sketch(const RowSketch& rows, const std::optional<RowSketch>& undated) {
  if (!row_keys_) return no_key();
  const Digest salt = random_bytes();
  const Secret32 key = derive<32>(row_keys_->seals.bytes(), salt, bytes_of(kSealContext));
  std::string plain = to_bytes(rows);
  if (undated) plain += to_bytes(*undated);
  const std::vector<std::uint8_t> sealed = seal(key, bytes_of(kSealContext), bytes_of(plain));
  std::string bytes(salt.begin(), salt.end());
  bytes.append(sealed.begin(), sealed.end());
  return bytes;
}

Result<Ledger::KeptRows> Ledger::open_sketch(std::string_view sealed) const {
  if (!row_keys_) return no_key();
  if (sealed.size() > kDigestBytes + kTagBytes) {
    const Bytes salt = bytes_of(sealed.substr(0, kDigestBytes));
    const Bytes rest = bytes_of(sealed.substr(kDigestBytes));
    const Secret32 key = derive<32>(row_keys_->seals.bytes(), salt, bytes_of(kSealContext));
    std::vector<std::uint8_t> plain(rest.size() - kTagBytes);
    if (open_sealed(key, bytes_of(kSealContext), rest, plain)) {
      const std::string_view text{reinterpret_cast<const char*>(plain.data()), plain.size()};
      if (std::optional<RowSketch> sketch = parse_sketch(text)) return KeptRows{*std::move(sketch)};
      // All sketches have the same length, and blocks by date have two.
      std::optional<RowSketch> rows = parse_sketch(text.substr(0, text.size() / 2));
      std::optional<RowSketch> undated = parse_sketch(text.substr(text.size() / 2));
      if (rows && undated) return KeptRows{*std::move(rows), std::move(undated)};
    }
  }
  return verification_failed("the ledger's sketch of a dataset's rows cannot be read: restore the ledger from a copy");
}

Result<std::optional<DatasetConflict>> Ledger::find_owner(Batch& batch, const std::string& name, bool is_public,
                                                          const std::optional<std::string>& payer,
                                                          const RowSketch& rows, const RowSketch* undated) const {
  using Kind = DatasetConflict::Kind;
  const LedgerState& state = batch.state();
  for (const LedgerState::Dataset& dataset : state.datasets()) {
    if (dataset.is_public() || dataset.name == name) continue;
    // The same budget pays for both in the end, so their costs add up there.
    if (payer && state.payer_of(dataset.budget).terms->name == *payer) continue;
    for (const LedgerState::Dataset::Content& content : dataset.contents) {
      if (content.fingerprint != rows.fingerprint) {
        NF_TRY(const std::string sealed, batch.sketch(content));
        NF_TRY(const KeptRows known, open_sketch(sealed));
        if (!holds_some(known.rows, rows) &&
            !(known.undated && undated != nullptr && holds_some(*known.undated, *undated))) {
          continue;
        }
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
  NF_TRY(const std::string sealed, seal_sketch(rows));
  std::optional<DatasetOutcome> outcome;
  const auto work = [&](Batch& batch) -> Result<void> {
    const LedgerState& state = batch.state();
    if (std::optional<DatasetConflict> conflict = conflict_with(state, use)) {
      outcome = *std::move(conflict);
      return success();
    }
    const LedgerState::Dataset* const dataset = state.find_dataset(use.name);
    if (const LedgerState::Budget* budget = state.find(dataset->budget); budget != nullptr && budget->terms->blocks) {
      return invalid_argument(
          fmt::format("the rows of {} are in blocks: name those that the use touches", shown(use.name)));
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

Result<std::optional<std::string>> Ledger::find_other_block(Batch& batch, const LedgerState::Dataset& dataset,
                                                            const BlockRows& rows) const {
  for (const LedgerState::Dataset::Content& content : dataset.contents) {
    if (content.block.empty() || content.block == rows.block) continue;
    NF_TRY(const std::string sealed, batch.sketch(content));
    NF_TRY(const KeptRows known, open_sketch(sealed));
    if (holds_some(known.undated ? *known.undated : known.rows, rows.undated ? *rows.undated : rows.rows)) {
      return std::optional(content.block);
    }
  }
  return std::optional<std::string>();
}

Result<DatasetOutcome> Ledger::claim_blocks(const DatasetUse& use, std::span<const BlockRows> blocks) {
  std::vector<std::string> sealed;
  for (const BlockRows& one : blocks) {
    NF_TRY(std::string bytes, seal_sketch(one.rows, one.undated));
    sealed.push_back(std::move(bytes));
  }
  std::optional<DatasetOutcome> outcome;
  const auto work = [&](Batch& batch) -> Result<void> {
    const LedgerState& state = batch.state();
    if (std::optional<DatasetConflict> conflict = conflict_with(state, use)) {
      outcome = *std::move(conflict);
      return success();
    }
    const LedgerState::Dataset* const dataset = state.find_dataset(use.name);
    if (!use.blocks) return invalid_argument(fmt::format("the dataset {} has no blocks", shown(use.name)));
    const std::string payer = state.payer_of(dataset->budget).terms->name;
    // All blocks are compared before anything is written, and with each other.
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const BlockRows& one = blocks[i];
      const bool known = std::any_of(dataset->contents.begin(), dataset->contents.end(), [&](const auto& content) {
        return content.block == one.block && content.fingerprint == fingerprint_of(one);
      });
      if (known) continue;
      NF_TRY(std::optional<DatasetConflict> conflict,
             find_owner(batch, use.name, false, payer, one.rows, one.undated ? &*one.undated : nullptr));
      NF_TRY(std::optional<std::string> other, find_other_block(batch, *dataset, one));
      for (const std::size_t before : fresh) {
        const BlockRows& b = blocks[before];
        if (holds_some(b.undated ? *b.undated : b.rows, one.undated ? *one.undated : one.rows)) other = b.block;
      }
      if (!conflict && other) {
        conflict = DatasetConflict{.kind = DatasetConflict::Kind::kOtherBlock,
                                   .dataset = use.name,
                                   .owner = *std::move(other),
                                   .block = one.block};
      }
      if (conflict) {
        outcome = *std::move(conflict);
        return success();
      }
      fresh.push_back(i);
    }
    const DatasetGrant grant{dataset->name, dataset->budget, !fresh.empty(), false};
    for (const std::size_t i : fresh) {
      NF_TRY(const std::uint64_t sequence,
             batch.append(ContentEntry{use.name, use.description, fingerprint_of(blocks[i]), blake2b(sealed[i]),
                                       blocks[i].block}));
      batch.keep_sketch(sequence, sealed[i]);
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
