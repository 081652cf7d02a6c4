#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor {
namespace {

Error retired(const std::string& dataset, const std::string& reason) {
  return budget_exhausted(
      fmt::format("the dataset {} was retired and has no budget left: {}", shown(dataset), shown(reason)));
}

}  // namespace

const LedgerState::Dataset* LedgerState::find_dataset(std::string_view name) const {
  const auto place = datasets_by_name_.find(std::string(name));
  return place == datasets_by_name_.end() ? nullptr : &datasets_[place->second];
}

Result<const LedgerState::Dataset*> LedgerState::need_dataset(std::string_view name) const {
  if (const Dataset* dataset = find_dataset(name)) return dataset;
  std::string known;
  for (std::size_t i = 0; i < datasets_.size() && i < 10; ++i) known += (i > 0 ? ", " : "") + shown(datasets_[i].name);
  return invalid_argument(fmt::format("there is no dataset {}; {}", shown(name),
                                      known.empty() ? "add it with `dataset add`" : "there are: " + known));
}

const LedgerState::Budget& LedgerState::payer_of(std::string_view budget) const {
  const Budget* payer = find(budget);
  while (!payer->terms->parent.empty()) payer = find(payer->terms->parent);
  return *payer;
}

Result<void> LedgerState::check_open(const Budget& budget) const {
  for (const Budget* one = &budget; one != nullptr; one = find(one->terms->parent)) {
    if (one->retired) return retired(one->dataset, *one->retired);
  }
  return success();
}

Result<void> LedgerState::check_dataset(const DatasetEntry& e, bool budget_is_new) const {
  NF_TRY_VOID(check_kept_name("the name of a dataset", e.name));
  if (find_dataset(e.name) != nullptr) {
    return invalid_argument(fmt::format("there is a dataset {} already: choose another name", shown(e.name)));
  }
  if (datasets_.size() >= UINT32_MAX) return invalid_argument("the ledger has too many datasets");
  if (e.budget.empty()) {
    if (e.same_as.empty()) return success();
    return invalid_argument(fmt::format("a public dataset has no budget to share: {} cannot share the budget of {}",
                                        shown(e.name), shown(e.same_as)));
  }
  if (e.same_as.empty()) {
    if (budget_is_new) return success();
    NF_TRY(const Budget* const budget, need(e.budget));
    NF_TRY_VOID(check_open(*budget));
    if (budget->dataset.empty()) return success();
    return invalid_argument(
        fmt::format("the budget {} belongs to the dataset {}: datasets share a budget only if they hold the "
                    "same rows and are declared to",
                    shown(e.budget), shown(budget->dataset)));
  }
  NF_TRY(const Dataset* const owner, need_dataset(e.same_as));
  if (const Budget* budget = find(owner->budget); budget != nullptr && budget->terms->blocks) {
    return invalid_argument(
        fmt::format("the rows of {} are in blocks, each with a budget of its own: no other dataset can share them. Use "
                    "{} by its own name",
                    shown(e.same_as), shown(e.same_as)));
  }
  if (owner->retired) return retired(owner->name, *owner->retired);
  if (owner->budget == e.budget && !budget_is_new) return success();
  return invalid_argument(fmt::format("{} shares the rows of {}, and hence must share its budget {}", shown(e.name),
                                      shown(e.same_as),
                                      owner->is_public() ? "(it has none: it is public)" : shown(owner->budget)));
}

Result<void> LedgerState::add(const Entry& entry, const DatasetEntry& e) {
  NF_TRY_VOID(check_dataset(e, false));
  if (!e.budget.empty() && e.same_as.empty()) budgets_[by_name_.at(e.budget)].dataset = e.name;
  datasets_by_name_.emplace(e.name, static_cast<std::uint32_t>(datasets_.size()));
  datasets_.push_back({e.name, e.description, e.budget, e.same_as, e.person, entry.sequence});
  datasets_.back().contents.push_back({entry.sequence, e.fingerprint, e.sketch});
  return success();
}

Result<LedgerState::Dataset*> LedgerState::open_dataset(const std::string& name) {
  NF_TRY(const Dataset* const found, need_dataset(name));
  if (found->retired) return retired(found->name, *found->retired);
  return &datasets_[static_cast<std::size_t>(found - datasets_.data())];
}

Result<void> LedgerState::add(const Entry& entry, const ContentEntry& e) {
  NF_TRY(Dataset* const dataset, open_dataset(e.dataset));
  Budget* const budget = dataset->is_public() ? nullptr : &budgets_[by_name_.at(dataset->budget)];
  NF_TRY_VOID(check_content(budget, e));
  const auto known = [&](const Dataset::Content& content) {
    return content.fingerprint == e.fingerprint && content.block == e.block;
  };
  if (std::any_of(dataset->contents.begin(), dataset->contents.end(), known)) {
    return invalid_argument(fmt::format("the dataset {} was seen with these rows before", shown(e.dataset)));
  }
  dataset->contents.push_back({entry.sequence, e.fingerprint, e.sketch, e.block});
  if (budget != nullptr) add_content(*budget, entry.time, e);
  return success();
}

Result<void> LedgerState::add(const Entry& /*entry*/, const RetireEntry& e) {
  NF_TRY_VOID(check_kept_name("the reason", e.reason));
  NF_TRY(Dataset* const dataset, open_dataset(e.dataset));
  dataset->retired = e.reason;
  // A dataset that shares the rows of another is retired alone: the budget belongs to the other.
  if (!dataset->is_public() && dataset->same_as.empty()) budgets_[by_name_.at(dataset->budget)].retired = e.reason;
  return success();
}

}  // namespace noisefloor
