#include "noisefloor/training/plan_following.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxPlanBytes = std::size_t{16} << 20;

}  // namespace

Result<FollowedPlan> read_plan(const std::string& path, const TrainingFile& file) {
  NF_TRY(std::string text, read_file(path, kMaxPlanBytes));
  NF_TRY(SignedPlan read, parse_plan_file(text));
  if (file.digest() != read.plan.training) {
    return invalid_argument(
        fmt::format("{} is not the file that the plan was made for, or has changed since: make another plan",
                    shown(file.location)));
  }
  return FollowedPlan{std::move(read.plan), read.key, std::move(text), std::filesystem::path(path).parent_path()};
}

void follow_plan(const PlanFile& plan, Training& training) {
  training.descent.clip = FlatClip{plan.clip};
  training.descent.batch_size = plan.batch;
  training.descent.steps = plan.steps;
  training.privacy.budget = plan.budget;
  if (!plan.start_from.empty()) training.model.start_from = plan.start_from;
}

std::string key_of(const PlanFile& plan) { return "plan-" + to_hex(digest_of(plan)).substr(0, 32); }

Result<void> expect_rows(const PlanFile& plan, Rows rows) {
  if (rows == plan.rows) return success();
  return invalid_argument(
      fmt::format("the plan is for {} rows of training data, and their public number is {}: make another plan",
                  plan.rows.value(), rows.value()));
}

Result<void> expect_signer(const FollowedPlan& plan, Ledger& ledger) {
  return ledger.read([&](const LedgerState& state) -> Result<void> {
    if (const LedgerState::Member* const signer = state.find_member(plan.key)) {
      return LedgerState::check_in_force(*signer, state.last_time());
    }
    return verification_failed("the plan was signed with the key of another ledger: use that ledger");
  });
}

Result<void> keep_plan(const FollowedPlan& plan, const OutputFiles& files) {
  NF_TRY_VOID(write_file(files.plan(), plan.text));
  const std::filesystem::path graph = plan.folder / kUtilityTableName;
  std::error_code error;
  if (!std::filesystem::exists(graph, error)) return success();
  if (std::filesystem::equivalent(graph, files.utility_table(), error)) return success();
  std::filesystem::copy_file(graph, files.utility_table(), std::filesystem::copy_options::overwrite_existing, error);
  if (error) return io_error(fmt::format("the utility graph could not be copied: {}", error.message()));
  return success();
}

const char* name_of(PlanDecision decision) {
  switch (decision) {
    case PlanDecision::kDone:
      return "done";
    case PlanDecision::kNextPhase:
      return "next phase";
    case PlanDecision::kStop:
      break;
  }
  return "stop";
}

std::optional<PlanVerdict> verdict_on(const PlanFile& plan, const std::optional<Quality>& test) {
  if (!plan.target_accuracy || !test) return std::nullopt;
  const double accuracy = test->accuracy.value_or(0);
  const PlanDecision decision = accuracy >= *plan.target_accuracy ? PlanDecision::kDone
                                : plan.phase < plan.phases        ? PlanDecision::kNextPhase
                                                                  : PlanDecision::kStop;
  return PlanVerdict{*plan.target_accuracy, accuracy, decision};
}

}  // namespace noisefloor
