#include "noisefloor/federated/run_spec.h"

#include <fmt/format.h>

#include <set>

namespace noisefloor::federated {

namespace {

Result<void> check_row_noise(const RunSpec& spec, std::size_t lanes, bool is_robust) {
  const RowNoiseOptions& noise = *spec.row_noise;
  NF_TRY_VOID(RowNoise::create(noise));
  if (spec.central || is_robust || spec.strategy.kind == StrategyKind::kScaffold || lanes != spec.upload.parameters) {
    return invalid_argument(
        "noise for rows inside the sum goes with equal weights and the mean, and not with central "
        "noise, robust rules, fednova or scaffold");
  }
  if (noise.parameters != spec.upload.parameters || noise.sites < spec.sites.size()) {
    return invalid_argument("the noise inside the sum is for another model, or for fewer sites");
  }
  if (!spec.upload.denominator) {
    return invalid_argument("noise inside the sum needs a fixed denominator: the expected number of rows");
  }
  if (spec.minimum_cohort < noise.minimum_survivors) {
    return invalid_argument(fmt::format("the minimum cohort of {} is below the {} sites whose noise is needed",
                                        spec.minimum_cohort, noise.minimum_survivors));
  }
  return success();
}

}  // namespace

Result<void> check_spec(const RunSpec& spec) {
  if (spec.sites.empty()) return invalid_argument("the run has no site: name at least one");
  if (spec.sites.size() > ExactSum::kMaxVectors) {
    return invalid_argument(
        fmt::format("a run has at most {} sites, and this one has {}", ExactSum::kMaxVectors, spec.sites.size()));
  }
  if (std::set<PublicKey>(spec.sites.begin(), spec.sites.end()).size() != spec.sites.size()) {
    return invalid_argument("two sites have the same key: give each its own");
  }
  if (spec.rounds == 0) return invalid_argument("a run needs at least one round");
  if (spec.rounds > 1'000'000 || spec.spare > 1'000'000) {
    return invalid_argument("a run has at most 1000000 rounds, and as many spare ones");
  }
  if (spec.minimum_cohort > spec.sites.size()) {
    return invalid_argument(fmt::format("the minimum cohort of {} is above the number of sites, {}",
                                        spec.minimum_cohort, spec.sites.size()));
  }
  if (spec.round_limit_ms == 0 || spec.resend_ms == 0) return invalid_argument("time limits must be above 0");
  if (spec.upload.strategy != spec.strategy.kind)
    return invalid_argument("the upload is laid out for another strategy");
  NF_TRY_VOID(Strategy::create(spec.strategy, spec.upload.parameters));
  NF_TRY(const UploadLayout layout, UploadLayout::create(spec.upload));
  const bool is_robust = spec.robust.rule != RobustRule::kMean;
  if (is_robust && layout.lanes() != spec.upload.parameters) {
    return invalid_argument("robust rules go with equal weights, and not with fednova: a liar could state any weight");
  }
  if (is_robust && spec.strategy.kind == StrategyKind::kScaffold) {
    return invalid_argument("scaffold needs the mean, and not a robust rule: its control would follow other updates");
  }
  if (is_robust && spec.central) return invalid_argument("central noise goes with the mean: choose rule mean");
  NF_TRY_VOID(check_robust(spec.robust, std::max<std::uint64_t>(spec.minimum_cohort, 1)));
  if (spec.central) {
    NF_TRY_VOID(check_client_sum(*spec.central));
    if (layout.lanes() != spec.upload.parameters || spec.strategy.kind == StrategyKind::kScaffold) {
      return invalid_argument("central noise goes with equal weights, and not with fednova or scaffold");
    }
    if (spec.central->noise && spec.site_cost) {
      return invalid_argument("central noise is paid for by the coordinator's ledger: leave the sites' cost out");
    }
  } else if (spec.minimum_cohort == 0) {
    return invalid_argument("only rounds with central noise may be empty: state a minimum cohort of at least 1");
  }
  if (spec.sampling && spec.sampling->value() * static_cast<double>(spec.sites.size()) < 1) {
    return invalid_argument(fmt::format("a sampling rate of {} draws fewer than one of {} sites: raise it",
                                        spec.sampling->value(), spec.sites.size()));
  }
  if (!spec.central && spec.sampling) {
    return invalid_argument("sites are drawn at random for central noise only: leave the sampling rate out");
  }
  if (!spec.central && !spec.row_noise && spec.upload.denominator) {
    return invalid_argument("a fixed denominator belongs to noise on the sum: leave it out");
  }
  if (spec.row_noise) NF_TRY_VOID(check_row_noise(spec, layout.lanes(), is_robust));
  return success();
}

MessageSizes sizes_of(const RunSpec& spec) {
  const std::uint64_t controls = spec.strategy.kind == StrategyKind::kScaffold ? spec.upload.parameters : 0;
  const std::uint64_t extra = (spec.upload.weighting == Weighting::kByCount ? 1U : 0U) +
                              (spec.strategy.kind == StrategyKind::kFedNova ? 1U : 0U);
  return {.broadcast_bytes = 4 * spec.upload.parameters + 8 * controls, .lanes = spec.upload.parameters + extra};
}

std::optional<DpStatement> central_cost(const RunSpec& spec) {
  if (!spec.central) return std::nullopt;
  DpEvent event = client_event(*spec.central);
  if (spec.sampling) event = PoissonSampledEvent{*spec.sampling, event};
  return DpStatement{Adjacency::kAddRemove, PrivacyUnit::kPerson, event};
}

}  // namespace noisefloor::federated
