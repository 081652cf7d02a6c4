// One site of a run: it answers invitations, as far as its own budget allows.
//
// Guarantee:     nothing that depends on the site's data leaves before the site's own budget has granted the round; and
//                for one round there is one upload, whatever crashes, is sent again or is restored from a backup. A
//                round that was granted and whose upload is not on the disk is spent and skipped. A site joins a round
//                only if it is later than all that it joined, and not sooner than the run's rest after the last one:
//                the coordinator is not trusted with that. An invitation of another run, epoch or coordinator changes
//                nothing.
//                What it keeps to itself (SCAFFOLD's c_i, a personal layer) moves on only when the coordinator says
//                that the upload which belongs to it was applied.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/federated/round_budget.h"
#include "noisefloor/federated/run_spec.h"
#include "noisefloor/federated/step.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::federated {

struct RoundTask {
  std::uint64_t round;
  std::span<const float> model;
  std::span<const double> control;    // SCAFFOLD's c; empty for other strategies
  std::span<const std::uint8_t> own;  // what this work kept of the last round that counted; empty at first
};

struct Contribution {
  std::vector<float> lanes;       // as upload.h lays them out, with the site's noise where the mode wants it
  std::vector<std::uint8_t> own;  // to keep, if the upload is applied
};

// The descent on the site's own data.
class LocalWork {
 public:
  LocalWork() = default;
  LocalWork(const LocalWork&) = delete;
  LocalWork& operator=(const LocalWork&) = delete;
  virtual ~LocalWork() = default;

  // The budget has granted the round when this is called; it is called once for each round.
  [[nodiscard]] virtual Result<Contribution> contribute(const RoundTask& task, BitStream& stream) = 0;
};

// What a site does with an upload that it has not got a receipt for, when it is killed.
enum class OutboxPolicy : std::uint8_t {
  kKeep,    // the upload is on the disk before it leaves, and is sent again
  kIntent,  // it is in memory only: less to write; the round is skipped after a crash
};

class Site {
 public:
  // Everything must outlive it.
  struct Parts {
    const RunSpec* spec;  // of a manifest that the site has approved
    std::uint32_t number;
    const SigningKey* key;
    LocalWork* work;
    RoundBudget* budget = nullptr;  // needed if rounds cost the site something
    OutboxPolicy outbox = OutboxPolicy::kKeep;
    std::uint64_t most_rounds = 1'000'000'000;  // that it takes part in
    // What a round costs this site, where that is not the same for all: it depends on how many rows the site has.
    std::optional<DpStatement> cost = {};

    [[nodiscard]] const std::optional<DpStatement>& cost_of_round() const { return cost ? cost : spec->site_cost; }
  };

  // Fails if the spec does not hold, if the key is not that of the site's number, or if what is stored cannot be read
  // or is of a later epoch.
  [[nodiscard]] static Result<Site> open(const Parts& parts, const Stored& stored);

  // Call this once, first.
  [[nodiscard]] Effects start(BitStream& stream);
  [[nodiscard]] Effects receive(std::span<const std::uint8_t> message, BitStream& stream);
  [[nodiscard]] Effects wake(std::uint64_t tag, BitStream& stream);

  // The last round that it was granted; 0 before the first.
  [[nodiscard]] std::uint64_t last_round() const { return seen_; }
  [[nodiscard]] std::uint64_t rounds_joined() const { return joined_; }
  [[nodiscard]] bool finished() const { return finished_; }
  // Why it declined last.
  [[nodiscard]] const std::optional<DeclineReason>& declined() const { return declined_; }
  [[nodiscard]] const std::vector<std::uint8_t>& own() const { return own_; }

 private:
  explicit Site(const Parts& parts) : parts_(parts), spec_(parts.spec) {}

  [[nodiscard]] Result<void> load(const Stored& stored);
  void save(Effects& effects) const;
  void take_invitation(const RunEnvelope& envelope, Effects& effects, BitStream& stream);
  // Keeps or drops what belongs to the last upload, now that it is known whether it was applied.
  void settle(std::uint64_t counted);
  void decline(const MessageKey& key, DeclineReason reason, Effects& effects);
  void send_upload(Effects& effects);

  Parts parts_;
  const RunSpec* spec_;

  std::uint64_t seen_ = 0;
  Digest broadcast_{};  // of that round
  std::uint64_t joined_ = 0;
  bool received_ = false;  // a receipt came for that round
  bool finished_ = false;
  std::optional<DeclineReason> final_;  // it declines everything from then on
  std::optional<DeclineReason> declined_;
  std::vector<std::uint8_t> upload_;  // of that round; empty if lost
  std::vector<std::uint8_t> own_;
  std::uint64_t pending_round_ = 0;  // whose upload `pending_` belongs to; 0: none
  std::vector<std::uint8_t> pending_;
};

}  // namespace noisefloor::federated
