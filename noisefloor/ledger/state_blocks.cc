#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/block_accounts.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor {

namespace internal {

Result<void> check_blocked_terms(const BudgetTerms& terms) {
  NF_TRY_VOID(check_block_terms(*terms.blocks));
  if (!terms.blocks->column.empty()) NF_TRY_VOID(check_kept_name("the column of the dates", terms.blocks->column));
  if (!terms.parent.empty()) return blocks_cannot_be_split(terms.name);
  if (terms.rule == Rule::kPlanned) {
    return invalid_argument(
        fmt::format("the budget {} renews by blocks, and a plan is made once: choose another rule", shown(terms.name)));
  }
  if (terms.unit == PrivacyUnit::kPerson) {
    return invalid_argument(
        fmt::format("the budget {} protects persons, whose rows may lie in any number of blocks: the blocks' budgets "
                    "would add up for them. Protect rows, or have one budget without blocks",
                    shown(terms.name)));
  }
  if (terms.adjacency == Adjacency::kReplaceOne && terms.blocks->by == BlockKind::kDate) {
    return invalid_argument(
        fmt::format("the budget {} is for exchanging rows, and a row may be exchanged for one with a date in another "
                    "block: that removes a row there and adds one here. Use add-remove, or blocks by batch",
                    shown(terms.name)));
  }
  NF_TRY(const std::vector<Account> stages, open_stages(terms, 1));
  return success();
}

BudgetTerms stage_terms(const BudgetTerms& terms, std::uint32_t parts) {
  BudgetTerms stage = terms;
  if (parts >= terms.blocks->unlock) return stage;
  const double share = static_cast<double>(parts) / static_cast<double>(terms.blocks->unlock);
  // Rounding up or down is of no matter here: the whole budget is never scaled.
  if (const Result<Epsilon> epsilon = Epsilon::make(terms.epsilon.value() * share); epsilon.has_value()) {
    stage.epsilon = epsilon.value();
  }
  if (const Result<Delta> delta = Delta::make(terms.delta.value() * share); delta.has_value()) {
    stage.delta = delta.value();
  }
  stage.rho = terms.rho * share;
  return stage;
}

Result<std::vector<Account>> open_stages(const BudgetTerms& terms, std::uint32_t parts) {
  std::vector<Account> stages;
  for (; parts <= terms.blocks->unlock; ++parts) {
    NF_TRY(Account account, Account::open(stage_terms(terms, parts)));
    stages.push_back(std::move(account));
  }
  return stages;
}

Error blocks_cannot_be_split(const std::string& budget) {
  return invalid_argument(
      fmt::format("the budget {} renews by blocks: it is neither split nor a part of another one. Reserve from it, and "
                  "name the blocks",
                  shown(budget)));
}

}  // namespace internal

namespace {

std::string unlocked_of(const BlockTerms& terms, const LedgerState::Block& block, TimeMs time) {
  if (terms.unlock == 1) return "";
  const auto next = next_unlock(terms, block.begin, time);
  return fmt::format(", {} of {} parts of its budget being unlocked{}", block.parts, terms.unlock,
                     next ? ", and the next one on " + show_time(*next) : "");
}

}  // namespace

Result<LedgerState::Block> LedgerState::block_at(const Budget& budget, const std::string& name, TimeMs time) {
  const BlockTerms& terms = *budget.terms->blocks;
  NF_TRY_VOID(check_block(terms, name));
  Block block{0};
  if (const auto place = budget.blocks.find(name); place != budget.blocks.end()) {
    block = place->second;
  } else if (terms.by == BlockKind::kBatch) {
    return invalid_argument(
        fmt::format("the batch {} of the budget {} has not arrived: name batches whose rows this ledger has seen",
                    shown(name), shown(budget.terms->name)));
  } else {
    NF_TRY(block.begin, begin_of_block(terms, name));
  }
  const std::uint32_t parts = unlocked_parts(terms, block.begin, time);
  if (parts == 0) {
    return budget_exhausted(fmt::format("the block {} of the budget {} has not begun: it begins on {}", shown(name),
                                        shown(budget.terms->name), show_time(block.begin)));
  }
  if (block.stages.empty()) {
    block.parts = parts;
    NF_TRY(block.stages, internal::open_stages(*budget.terms, parts));
    return block;
  }
  // A clock that was ahead has unlocked more than it should have. What was spent then stays spent, and nothing more is
  // unlocked until the time has come.
  if (parts < block.parts) {
    return budget_exhausted(fmt::format(
        "the block {} of the budget {} was used by a clock that was ahead, when {} parts of its budget were unlocked; "
        "now {} are: wait until then",
        shown(name), shown(budget.terms->name), block.parts, parts));
  }
  block.stages.erase(block.stages.begin(), block.stages.begin() + (parts - block.parts));
  block.parts = parts;
  return block;
}

Result<void> LedgerState::spend(Budget& budget, TimeMs time, const ReserveEntry& e) {
  const std::string& name = budget.terms->name;
  if (!budget.terms->blocks) {
    if (e.blocks.empty()) return budget.account.spend(e.charge, e.item);
    return invalid_argument(fmt::format("the budget {} has no blocks: name none", shown(name)));
  }
  const BlockTerms& terms = *budget.terms->blocks;
  NF_TRY(const std::vector<std::string> touched, blocks_in(terms, e.blocks));
  std::vector<Block> after;
  after.reserve(touched.size());
  for (const std::string& one : touched) {
    NF_TRY(Block block, block_at(budget, one, time));
    for (Account& stage : block.stages) {
      if (const Result<void> spent = stage.spend(e.charge, e.item); !spent.has_value()) {
        if (spent.error().code != ErrorCode::kBudgetExhausted) return spent.error();
        return budget_exhausted(
            fmt::format("{} (block {}{})", spent.error().message, shown(one), unlocked_of(terms, block, time)));
      }
    }
    ++block.spends;
    after.push_back(std::move(block));
  }
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const Account& whole = after[i].stages.back();
    if (whole.spent_share() > budget.account.spent_share()) budget.account = whole;
    budget.blocks.insert_or_assign(touched[i], std::move(after[i]));
  }
  return success();
}

Result<void> LedgerState::take_back(Budget& budget, const Open& open) {
  if (open.blocks.empty()) return budget.account.take_back(open.charge, open.item);
  NF_TRY(const std::vector<std::string> touched, blocks_in(*budget.terms->blocks, open.blocks));
  NF_TRY(Account fullest, Account::open(*budget.terms));
  std::vector<Block> after;
  after.reserve(touched.size());
  for (const std::string& one : touched) {
    Block block = budget.blocks.at(one);
    for (Account& stage : block.stages) NF_TRY_VOID(stage.take_back(open.charge, open.item));
    after.push_back(std::move(block));
  }
  for (std::size_t i = 0; i < touched.size(); ++i) budget.blocks.at(touched[i]) = std::move(after[i]);
  for (const auto& [name, block] : budget.blocks) {
    if (block.stages.empty()) continue;
    const Account& whole = block.stages.back();
    if (whole.spent_share() > fullest.spent_share()) fullest = whole;
  }
  budget.account = std::move(fullest);
  return success();
}

Result<void> LedgerState::check_content(const Budget* budget, const ContentEntry& e) {
  const bool has_blocks = budget != nullptr && budget->terms->blocks.has_value();
  if (!has_blocks) {
    if (e.block.empty()) return success();
    return invalid_argument(fmt::format("the dataset {} has no blocks", shown(e.dataset)));
  }
  if (!e.block.empty()) return check_block(*budget->terms->blocks, e.block);
  return invalid_argument(fmt::format("the dataset {} has blocks: say which one has these rows", shown(e.dataset)));
}

void LedgerState::add_content(Budget& budget, TimeMs time, const ContentEntry& e) {
  if (budget.terms->blocks && budget.terms->blocks->by == BlockKind::kBatch) {
    budget.blocks.try_emplace(e.block, Block{time});
  }
}

void LedgerState::expect_batches(std::string_view budget, std::span<const std::string> names, TimeMs time) {
  const auto place = by_name_.find(std::string(budget));
  if (place == by_name_.end()) return;
  Budget& found = budgets_[place->second];
  if (!found.terms->blocks || found.terms->blocks->by != BlockKind::kBatch) return;
  for (const std::string& name : names) found.blocks.try_emplace(name, Block{time});
}

}  // namespace noisefloor
