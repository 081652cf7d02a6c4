#include "noisefloor/ledger/reserving.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/block_accounts.h"
#include "noisefloor/ledger/what_fits.h"

namespace noisefloor::internal {
namespace {

// Returns the note with its configuration in one form, or an error that says what is wrong with it.
Result<Note> checked_note(const Note& note) {
  if (!note.pipeline.empty()) NF_TRY_VOID(check_kept_name("the pipeline", note.pipeline));
  if (!note.purpose.empty()) NF_TRY_VOID(check_kept_name("the purpose", note.purpose));
  if (note.techniques.size() > kMaxTechniques) {
    return invalid_argument(
        fmt::format("a use has at most {} techniques; got {}", kMaxTechniques, note.techniques.size()));
  }
  for (const std::string& technique : note.techniques) NF_TRY_VOID(check_kept_name("a technique", technique));
  Note result = note;
  if (!note.configuration.empty()) {
    if (note.configuration.size() > kMaxConfiguration) {
      return invalid_argument(fmt::format("the configuration must be at most {} bytes; got {}", kMaxConfiguration,
                                          note.configuration.size()));
    }
    // dump() recurses once for each level, so the depth is limited.
    bool deep = false;
    const auto shallow = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
      deep = deep || depth > kMaxConfigurationDepth;
      return !deep;
    };
    const auto json = nlohmann::json::parse(note.configuration, shallow, false);
    if (deep) {
      return invalid_argument(fmt::format("the configuration must be at most {} levels deep", kMaxConfigurationDepth));
    }
    if (!json.is_object()) return invalid_argument("the configuration must be a JSON object");
    result.configuration = json.dump();
  }
  return result;
}

Digest digest_of(const ReserveRequest& request, const std::string& event, const Note& note) {
  std::string text;
  const auto add = [&](std::string_view part) {
    text += fmt::format("{}:", part.size());
    text += part;
  };
  add(request.budget);
  add(event);
  add(request.delta ? fmt::format("{}", request.delta->value()) : "");
  add(request.item);
  add(note.pipeline);
  add(note.purpose);
  for (const std::string& technique : note.techniques) add(technique);
  add(note.configuration);
  if (!request.blocks.empty()) {
    text += fmt::format("blocks {}:", request.blocks.size());
    for (const std::string& block : request.blocks) add(block);
  }
  return blake2b(text);
}

const PlanItem* find_item(const BudgetTerms& terms, const std::string& name) {
  const auto place =
      std::find_if(terms.plan.begin(), terms.plan.end(), [&](const PlanItem& item) { return item.name == name; });
  return place == terms.plan.end() ? nullptr : &*place;
}

// Whether a use fits, as the outlook says it. kBudgetExhausted is no error here.
Result<bool> fits(Rehearsal& rehearsal, TimeMs time, const ReserveRequest& use, const BudgetTerms& terms,
                  Repeats repeats, const std::string& by) {
  LedgerState& state = rehearsal.state;
  Outlook& outlook = rehearsal.outlook;
  const auto known = state.find_key(use.budget, use.key);
  outlook.asked_before = outlook.asked_before && known;
  if (known) outlook.reservation = known;
  if (known && repeats == Repeats::kFit) return true;
  NF_TRY_VOID(check_request(use, terms));
  NF_TRY(Charge charge, charge_for(terms, use.statement.event, use.delta));
  NF_TRY(ReserveEntry entry, reserve_entry(use, to_json(use.statement.event), std::move(charge)));
  if (!state.has_roles()) entry.use.reset();
  const Result<void> done = known ? check_repeated(use, entry.request, *known, *state.find_spend(*known))
                                  : state.apply_new({state.next_sequence(), time, std::move(entry), by});
  if (done.has_value()) return true;
  if (done.error().code != ErrorCode::kBudgetExhausted) return done.error();
  outlook.refusal = refusal_of(state, use, done.error(), time).message;
  return false;
}

}  // namespace

Result<void> complete_terms(BudgetTerms& terms) {
  if (terms.rule == Rule::kRdp && terms.orders.empty()) terms.orders = default_budget_orders();
  if (terms.rule == Rule::kZcdp) {
    NF_TRY(const Rho rho, zcdp_budget_of(terms));
    terms.rho = rho.value();
  }
  return check_terms(terms);
}

Result<void> check_request(const ReserveRequest& request, const BudgetTerms& terms) {
  NF_TRY_VOID(check_kept_name("the key", request.key));
  if (request.statement.adjacency != terms.adjacency || request.statement.unit != terms.unit) {
    return invalid_argument(
        fmt::format("the budget {} is for {} of one {}, and this use is for {} of one {}: use a budget for the same",
                    shown(terms.name), name_of(terms.adjacency), name_of(terms.unit),
                    name_of(request.statement.adjacency), name_of(request.statement.unit)));
  }
  if (terms.blocks && request.blocks.empty()) {
    return invalid_argument(fmt::format("the budget {} renews by blocks ({}): say which ones the use touches",
                                        shown(terms.name), in_words(*terms.blocks)));
  }
  if (!terms.blocks && !request.blocks.empty()) {
    return invalid_argument(fmt::format("the budget {} has no blocks: name none", shown(terms.name)));
  }
  if (terms.blocks) {
    NF_TRY(const std::vector<std::string> touched, blocks_in(*terms.blocks, request.blocks));
  }
  if (terms.rule != Rule::kPlanned) {
    if (!request.item.empty()) {
      return invalid_argument(fmt::format("the budget {} has no plan, and hence no item {}: name no item",
                                          shown(terms.name), shown(request.item)));
    }
    return success();
  }
  const PlanItem* item = find_item(terms, request.item);
  if (item == nullptr) {
    std::string known;
    for (std::size_t i = 0; i < terms.plan.size() && i < 10; ++i)
      known += (i > 0 ? ", " : "") + shown(terms.plan[i].name);
    return invalid_argument(
        fmt::format("the plan of {} has no item {}; it has {}", shown(terms.name), shown(request.item), known));
  }
  if (item->event != request.statement.event) {
    return invalid_argument(fmt::format("the item {} was planned with another event: a planned use cannot be changed",
                                        shown(request.item)));
  }
  return success();
}

Result<ReserveEntry> reserve_entry(const ReserveRequest& request, std::string event, Charge charge) {
  NF_TRY(Note note, checked_note(request.note));
  const Digest digest = digest_of(request, event, note);
  std::optional<double> delta;
  if (request.delta) delta = request.delta->value();
  return ReserveEntry{request.budget,    request.key, digest,          std::move(event), request.item, delta,
                      std::move(charge), {},          std::move(note), request.blocks,   request.use};
}

Result<void> check_repeated(const ReserveRequest& request, const Digest& digest, std::uint64_t known,
                            const LedgerState::Spend& spend) {
  const auto stands_for = [&](std::string_view what) {
    return fmt::format("the key {} stands for {}reservation {}", shown(request.key), what, known);
  };
  if (spend.request != digest) {
    return invalid_argument(stands_for("another request, ") + ": use a new key");
  }
  if (spend.status == SpendStatus::kAborted) {
    return invalid_argument(stands_for("") + ", which was aborted: use a new key");
  }
  if (spend.status == SpendStatus::kOpen) {
    return budget_exhausted(
        stands_for("") +
        ", which is open. It counts as spent, because noise may have been drawn for it: use a new key to spend again");
  }
  return success();
}

Result<FullestBlock> fullest_of(const LedgerState::Budget& budget, const ReserveRequest& request, TimeMs time) {
  if (!budget.terms->blocks) return FullestBlock{{}, *budget.terms, budget.account};
  NF_TRY(const std::vector<std::string> touched, blocks_in(*budget.terms->blocks, request.blocks));
  std::optional<FullestBlock> fullest;
  for (const std::string& one : touched) {
    NF_TRY(const LedgerState::Block block, LedgerState::block_at(budget, one, time));
    const Account& stage = block.stages.front();
    // By the share of the whole: 1/3 of 1/3 is less than 1/2 of the whole.
    const auto left_share = [&](const Account& account, std::uint32_t parts) {
      return (1 - account.spent_share()) * parts / budget.terms->blocks->unlock;
    };
    if (!fullest || left_share(stage, block.parts) < left_share(fullest->account, fullest->parts)) {
      fullest = FullestBlock{one, stage_terms(*budget.terms, block.parts), stage, block.parts};
    }
  }
  return *std::move(fullest);
}

Error refusal_of(const LedgerState& state, const ReserveRequest& request, const Error& why, TimeMs time) {
  const LedgerState::Budget* const budget = state.find(request.budget);
  const bool known_key = state.find_key(request.budget, request.key).has_value();
  if (budget == nullptr || known_key || !state.check_open(*budget).has_value()) return why;
  // What would fit the budget need not fit the quota, which says by itself what is left of it.
  if (why.message.starts_with("the quota of ")) return budget_exhausted(why.message + ". Nothing was spent");
  const Result<FullestBlock> fullest = fullest_of(*budget, request, time);
  if (!fullest.has_value()) return budget_exhausted(why.message + ". Nothing was spent");
  const Account& account = fullest.value().account;
  // The amount is there: something else stands against it, such as the time.
  const Result<Charge> charge = charge_for(*budget->terms, request.statement.event, request.delta);
  if (charge.has_value() && account.fits(charge.value(), request.item)) {
    return budget_exhausted(why.message + ". Nothing was spent");
  }
  std::string message = fmt::format("the budget {} does not allow this: {}. Left: {}.", shown(request.budget),
                                    why.message, account.left());
  const std::vector<std::string> close =
      what_fits(fullest.value().terms, account, request.statement.event, request.delta);
  for (std::size_t i = 0; i < close.size(); ++i) message += (i == 0 ? " It would fit with " : ", or ") + close[i];
  if (!close.empty()) message += ".";
  if (close.empty() && budget->terms->rule != Rule::kPlanned) {
    message += " Nothing close to it fits: use earlier releases, or ask the owner of the data for a larger total.";
  }
  if (budget->terms->rule == Rule::kZcdp && contains<PoissonSampledEvent>(request.statement.event)) {
    message += " (zCDP takes no account of sampling: a budget with the rule rdp charges far less for it.)";
  }
  return budget_exhausted(message + " Nothing was spent");
}

Result<Rehearsal> rehearse(LedgerState state, TimeMs time, std::span<const ReserveRequest> uses,
                           const BudgetTerms& if_new, Repeats repeats, const std::string& by) {
  Rehearsal rehearsal{{}, std::move(state)};
  Outlook& outlook = rehearsal.outlook;
  outlook.budget_is_there = rehearsal.state.find(if_new.name) != nullptr;
  outlook.makes_budget = !outlook.budget_is_there && !uses.empty();
  time = std::max(time, rehearsal.state.last_time());
  if (!outlook.budget_is_there) {
    BudgetTerms terms = if_new;
    NF_TRY_VOID(complete_terms(terms));
    NF_TRY_VOID(
        rehearsal.state.apply_new({rehearsal.state.next_sequence(), time, BudgetEntry{std::move(terms), {}}, by}));
  }
  const LedgerState::Budget& budget = *rehearsal.state.find(if_new.name);
  for (const ReserveRequest& use : uses) rehearsal.state.expect_batches(if_new.name, use.blocks, time);
  outlook.left = budget.account.left();
  if (!uses.empty()) {
    const Result<FullestBlock> fullest = fullest_of(budget, uses.front(), time);
    if (fullest.has_value()) outlook.left = fullest.value().account.left();
  }
  outlook.asked_before = !uses.empty();
  for (const ReserveRequest& use : uses) {
    NF_TRY(const bool fit, fits(rehearsal, time, use, *budget.terms, repeats, by));
    if (!fit) return rehearsal;
  }
  outlook.fits = true;
  return rehearsal;
}

}  // namespace noisefloor::internal
