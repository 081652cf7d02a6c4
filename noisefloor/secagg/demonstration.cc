#include "noisefloor/secagg/demonstration.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/secagg/fixed_point.h"
#include "noisefloor/secagg/messages.h"
#include "noisefloor/secagg/parameters.h"
#include "noisefloor/secagg/simulation.h"

namespace noisefloor::secagg {
namespace {

constexpr std::uint32_t kClients = kDemonstrationClients;
constexpr std::uint64_t kDimension = kDemonstrationDimension;

struct Scene {
  Cohort cohort;
  FixedPoint code;
  std::vector<std::vector<double>> updates;
  std::uint64_t round = 0;

  [[nodiscard]] std::vector<double> sum_of(const std::vector<std::uint32_t>& clients) const {
    std::vector<double> sum(kDimension);
    for (const std::uint32_t client : clients) {
      for (std::size_t i = 0; i < kDimension; ++i) sum[i] += updates[client][i];
    }
    return sum;
  }
};

Result<Scene> set_up(ReplayRandom& stream) {
  Cohort cohort = Cohort::draw(kClients, stream);
  NF_TRY(const FixedPoint code, FixedPoint::create({kDimension, 8.0, kDemonstrationStep, kClients}));
  std::vector<std::vector<double>> updates;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    std::vector<float> draws(kDimension);
    fill_gaussian(stream, draws, 1);
    updates.emplace_back(draws.begin(), draws.end());
  }
  return Scene{std::move(cohort), code, std::move(updates)};
}

struct SceneRound {
  RoundOutcome outcome;
  std::vector<double> masked;  // what the first client sent, read as if it were an update
};

// A round in which the clients of `silent` send nothing from their masked input on.
Result<SceneRound> run_round(Scene& scene, const std::vector<std::uint32_t>& silent, ReplayRandom& stream) {
  const Assumptions assumptions{kClients, 0, 0.2, ThreatModel::kLyingServer};
  NF_TRY(const Topology topology, find_topology(assumptions));
  const RoundConfig config = scene.cohort.config(++scene.round, topology, ThreatModel::kLyingServer, 3,
                                                 scene.code.dimension(), scene.code.bits());
  Policy policy;
  policy.corrupt = assumptions.corrupt;
  policy.drop = assumptions.drop;
  RecordingNetwork network;
  for (const std::uint32_t client : silent) network.silence(client, MessageType::kMaskedInput);
  NF_TRY(RoundOutcome outcome,
         simulate_round(
             scene.cohort, config, policy,
             [&](std::uint32_t client) { return scene.code.encode(stream, scene.updates[client]); }, stream, network));
  SceneRound round{std::move(outcome), {}};
  if (const Message* message = network.sent(0, MessageType::kMaskedInput)) {
    const auto envelope = parse_envelope(*message);
    constexpr std::size_t others = kClients - 1;  // everyone shares keys
    const auto input = envelope ? parse_masked_input(envelope->body, config, others) : std::nullopt;
    if (!input) return internal_error("the demonstration cannot read its own message");
    LaneVector vector(config.dimension, config.bits);
    vector.add_packed(input->packed);
    round.masked = scene.code.decode(vector).values;
  }
  return round;
}

Result<RecoveredSum> recovered(const Scene& scene, const RoundOutcome& outcome) {
  if (!outcome.sum) return internal_error("the demonstration ended without a sum");
  RecoveredSum found{outcome.survivors, scene.code.decode(*outcome.sum).values, scene.sum_of(outcome.survivors)};
  for (std::size_t i = 0; i < kDimension; ++i) {
    found.error = std::max(found.error, std::abs(found.sum[i] - found.true_sum[i]));
  }
  return found;
}

}  // namespace

Result<Demonstration> demonstrate(ReplayRandom& stream) {
  NF_TRY(Scene scene, set_up(stream));
  NF_TRY(SceneRound all, run_round(scene, {}, stream));
  NF_TRY(RecoveredSum everyone, recovered(scene, all.outcome));
  NF_TRY(const SceneRound dropped, run_round(scene, {2}, stream));
  NF_TRY(RecoveredSum one_dropped, recovered(scene, dropped.outcome));
  NF_TRY(const SceneRound few, run_round(scene, {1, 2}, stream));
  if (!few.outcome.aborted || few.outcome.sum) return internal_error("a round below its threshold gave a sum");
  return Demonstration{std::move(all.masked), scene.updates[0], std::move(everyone), std::move(one_dropped),
                       *few.outcome.aborted};
}

}  // namespace noisefloor::secagg
