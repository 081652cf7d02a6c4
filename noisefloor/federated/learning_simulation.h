// A federated run on real rows in one process: the coordinator and the sites are the machines of a real run
// (coordinator.h, site.h), and their messages travel on a simulated network.
//
// Network:       a message takes a latency and its bytes over a rate; a local step takes a time, longer at a straggler.
//                A site that is away in a round gets no message of that round. Liars send what attacks.h makes of all
//                that honest sites send in the round.
// Budgets:       each site asks its own budget before each round, as real ones do (round_budget.h), and declines when
//                that is spent. A budget here is the number of rounds whose certified ε, composed, is within the
//                target.
// Guarantee:     the same options give the same result, bit by bit, whatever the number of threads.
// Secure sums:   with kSecagg each site sends its sum of rounded gradients and its share of the noise, and the
//                coordinator adds up in clear, modulo 2^24, what it would see the sum of alone in a secure sum: the
//                same numbers, without masks.
// Not private:   noise is repeated from the seed, and quality is measured without noise. ε says what such a run would
//                cost with noise that nobody can repeat. Use this on rows that are public, or made up.
// Thread safety: none; it uses threads inside, and calls `observe` from the caller's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/federated/attacks.h"
#include "noisefloor/federated/coordinator.h"
#include "noisefloor/federated/local_descent.h"
#include "noisefloor/federated/robust.h"
#include "noisefloor/federated/strategy.h"
#include "noisefloor/federated/upload.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor::federated {

// Who adds noise, and so whom one has to trust.
enum class PrivacyMode : std::uint8_t {
  kNone,
  kLocal,    // each site, at each of its steps; unit: row
  kSecagg,   // all sites together, each a share, inside a secure sum; unit: row. A round is one step
  kCentral,  // the coordinator, once a round on the sum over sites; unit: a site with all its rows
};
inline constexpr std::array<std::pair<std::string_view, PrivacyMode>, 4> kPrivacyModes{
    {{"none", PrivacyMode::kNone},
     {"local", PrivacyMode::kLocal},
     {"secagg", PrivacyMode::kSecagg},
     {"central", PrivacyMode::kCentral}}};
[[nodiscard]] std::string_view name_of(PrivacyMode mode);

enum class Personal : std::uint8_t {
  kNone,
  kFineTune,   // each site goes on from the final model, for itself
  kLastLayer,  // the last layer stays at the site (FedPer)
  kLastBias,   // only its bias does
  kDitto,      // a model of its own beside the common one
};
inline constexpr std::array<std::pair<std::string_view, Personal>, 5> kPersonal{{{"none", Personal::kNone},
                                                                                 {"fine-tune", Personal::kFineTune},
                                                                                 {"last-layer", Personal::kLastLayer},
                                                                                 {"last-bias", Personal::kLastBias},
                                                                                 {"ditto", Personal::kDitto}}};
[[nodiscard]] std::string_view name_of(Personal personal);

// How sites learn together, or what to compare that with.
enum class Cooperation : std::uint8_t {
  kFederated,
  kLocalOnly,  // each site for itself, as many steps
  kPooled,     // all rows in one place
};

struct SimulatedNetwork {
  double latency_ms = 20;
  double megabytes_per_second = 10;
  double step_ms = 1;
};

struct SimulatedFaults {
  double away = 0;          // probability that a site misses a round
  double stragglers = 0;    // share of sites that are slow
  double slowdown = 10;     // by this factor
  std::uint32_t liars = 0;  // the last sites
  Attack attack = Attack::kSignFlip;
  double strength = 4;
};

struct LearningOptions {
  Cooperation cooperation = Cooperation::kFederated;
  StrategyOptions strategy;  // its local steps and rate are filled in from `local`
  Weighting weighting = Weighting::kByCount;
  RobustOptions robust;
  Personal personal = Personal::kNone;
  double ditto = 0.1;  // λ
  std::uint64_t fine_tune_steps = 40;

  std::uint64_t rounds = 1;
  std::uint64_t spare = 0;
  std::uint32_t minimum_cohort = 1;  // with kSecagg 0 stands for all sites
  std::uint64_t rest = 0;
  std::uint64_t round_limit_ms = 60'000;

  std::uint64_t batch = 32;  // rows of a step: of a site's, or with kSecagg of all sites together
  std::uint64_t steps = 0;   // of a round, at every site; 0: `epochs` passes over the site's own rows
  double epochs = 1;
  double rate = 0.1;
  double weight_decay = 0;

  PrivacyMode mode = PrivacyMode::kNone;
  std::optional<ClipNorm> clip = {};          // of a row's gradient, or of a site's update (kCentral)
  std::optional<NoiseMultiplier> noise = {};  // none: the least that keeps `epsilon`, for each site by itself
  std::optional<Epsilon> epsilon = {};        // what each site's budget (or the coordinator's) allows; none: any
  Delta delta = kNoDelta;
  std::uint32_t colluders = 0;                // kSecagg: so many sites may leave their noise out
  bool adaptive_clip = false;                 // kCentral
  std::optional<SamplingRate> sampling = {};  // kCentral: sites in a round

  SimulatedNetwork network;
  SimulatedFaults faults;
  std::uint64_t seed = 0;
  std::size_t threads = 1;
  std::uint64_t evaluate_every = 1;  // rounds; the last one always is

  static constexpr Delta kNoDelta = Delta::of(0);
};

struct SimulatedSite {
  std::string name;
  const Dataset* rows;
};

// The rows to measure by. Either one set for all, or one for each site, in their order; those of a site may be empty.
struct SimulatedTests {
  std::vector<const Dataset*> sets;
  bool by_site = false;
};

// Figures over all test rows (each predicted by the model that its site would use), and over sites.
struct FederatedQuality {
  double loss = 0;
  std::optional<double> accuracy;
  std::optional<double> macro;  // mean over sites of their accuracy
  std::optional<double> worst;  // the lowest accuracy of a site
  std::vector<Quality> sites;   // of each site; the same for all if the tests are common and the model is
};

struct SimulatedRound {
  std::uint64_t round = 0;  // 0: before the first
  bool counted = false;
  std::uint32_t survivors = 0;
  std::optional<FederatedQuality> quality;
  std::vector<double> epsilon;  // spent so far by each site; one number where the coordinator spends; empty without
  std::uint64_t bytes_up = 0;   // so far, by all sites together
  std::uint64_t bytes_down = 0;
  double seconds = 0;  // of simulated time
};

struct LearningResult {
  RunState state = RunState::kComplete;
  std::vector<SimulatedRound> rounds;
  std::vector<float> model;             // the common one; empty where there is none (kLocalOnly)
  FederatedQuality quality;             // at the end, of personal models where there are any
  std::vector<double> noise;            // multiplier of each site, or the coordinator's; empty without
  std::vector<std::uint64_t> joined;    // rounds that each site took part in (and paid for)
  std::vector<std::uint64_t> declined;  // rounds that a site declined
  std::size_t parameters = 0;
};

// Sees each round when it is over; false stops the run.
using ObserveRound = std::function<bool(const SimulatedRound& round)>;

// Fails for options that do not fit each other or the data, with the remedy.
[[nodiscard]] Result<LearningResult> simulate_learning(const LearningOptions& options,
                                                       const std::vector<SimulatedSite>& sites,
                                                       const SimulatedTests& tests, const ModelMaker& maker,
                                                       const std::vector<float>& initial,
                                                       const ObserveRound& observe = {});

// How many of the last parameters stay at a site. Fails if none would be left to share.
[[nodiscard]] Result<std::size_t> own_parameters(Personal personal, const TrainableModel& model,
                                                 std::span<const float> weights);

// ε of so many rounds that each cost this, composed; infinite without noise, 0 for no round.
[[nodiscard]] Result<double> epsilon_of_rounds(const DpStatement& round, std::uint64_t rounds, Delta delta);

}  // namespace noisefloor::federated
