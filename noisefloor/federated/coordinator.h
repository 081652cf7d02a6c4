// The coordinator of a run: it invites sites to a round, adds up what they send, moves the model, and goes on.
//
// Guarantee:     each upload is applied at most once, and exactly once if its site got a receipt and its round counted:
//                a receipt leaves only with an upload that is on the disk (step.h). Killed anywhere and recovered, it
//                goes on with the same model and the same bytes. A round counts if the minimum cohort has answered in
//                time; any other round is void, costs a spare one, and changes nothing. Rounds only grow. Uploads of
//                another size, another signature, or with numbers that a sum cannot hold change nothing.
//                With central noise, the noise of a round is drawn after the coordinator's budget has granted it, and
//                once: if the grant is there and the result is not, the round is void.
// Memory:        O(parameters + sites), except for robust rules, which need all vectors of a round.
// Waiting:       a round waits for all invited sites, but for no site that let the last limit pass unanswered.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/federated/round_budget.h"
#include "noisefloor/federated/run_spec.h"
#include "noisefloor/federated/step.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::federated {

enum class RunState : std::uint8_t { kRunning, kComplete, kIncomplete };

// What became of a round.
struct RoundRecord {
  std::uint64_t round = 0;
  bool counted = false;
  std::vector<std::uint32_t> survivors;  // whose uploads are in the mean; ascending
  Digest model{};                        // of the broadcast after it
  friend bool operator==(const RoundRecord&, const RoundRecord&) = default;
};
[[nodiscard]] std::vector<std::uint8_t> to_bytes(const RoundRecord& record);
[[nodiscard]] std::optional<RoundRecord> parse_round_record(std::span<const std::uint8_t> bytes);

class Coordinator {
 public:
  // What it is given. Everything must outlive it.
  struct Parts {
    const RunSpec* spec;
    const SigningKey* key;
    RoundBudget* budget = nullptr;  // for central noise
  };

  // Begins the run, or goes on with what is stored. Fails if the spec does not hold, if the model has another size, if
  // the key is not the spec's coordinator, or if what is stored belongs to another run or cannot be read.
  [[nodiscard]] static Result<Coordinator> open(const Parts& parts, std::span<const float> initial,
                                                const Stored& stored);

  // Call this once, first.
  [[nodiscard]] Effects start(BitStream& stream);
  [[nodiscard]] Effects receive(std::span<const std::uint8_t> message, BitStream& stream);
  [[nodiscard]] Effects wake(std::uint64_t tag, BitStream& stream);

  [[nodiscard]] RunState state() const { return state_; }
  [[nodiscard]] std::uint64_t round() const { return round_; }      // the present one
  [[nodiscard]] std::uint64_t counted() const { return counted_; }  // rounds that counted
  [[nodiscard]] const std::vector<float>& model() const { return model_; }
  [[nodiscard]] const std::optional<RoundRecord>& last_record() const { return last_; }
  // Second stories: messages that were signed by a site and differ from what it sent under the same key.
  [[nodiscard]] std::uint64_t second_stories() const { return second_stories_; }

  // Keys of what it stores, for programs that look at it.
  [[nodiscard]] static std::string record_key(std::uint64_t round);

 private:
  struct Heard {
    std::uint64_t round = 0;
    Digest upload{};
    std::uint64_t counted = 0;
  };

  Coordinator(const Parts& parts, Strategy strategy, UploadLayout layout);

  [[nodiscard]] Result<void> load(const Stored& stored);
  void save_state(Effects& effects) const;
  void save_heard(std::uint32_t site, Effects& effects) const;
  void begin_round(Effects& effects, BitStream& stream);
  void close_if_all_answered(Effects& effects, BitStream& stream);
  void close_round(Effects& effects, BitStream& stream);
  // The mean of this round; nothing if the round is void.
  [[nodiscard]] std::optional<UploadLayout::Mean> mean_of_round(BitStream& stream);
  void finish(RunState state, Effects& effects);
  void invite(std::uint32_t site, Effects& effects) const;
  void send_finish(std::uint32_t site, Effects& effects) const;
  void take_upload(const RunEnvelope& envelope, Effects& effects, BitStream& stream);
  void take_decline(const RunEnvelope& envelope, Effects& effects, BitStream& stream);
  void add(std::uint32_t site, const std::vector<float>& lanes);
  void forget_round();
  [[nodiscard]] bool can_take(const std::vector<float>& lanes) const;
  [[nodiscard]] std::vector<std::uint8_t> broadcast() const;
  [[nodiscard]] MessageKey key_for(std::uint32_t site) const;

  Parts parts_;
  const RunSpec* spec_;
  Strategy strategy_;
  UploadLayout layout_;
  std::optional<RowNoise> row_noise_;

  RunState state_ = RunState::kRunning;
  std::uint64_t round_ = 0;  // 0: before the first
  std::uint64_t counted_ = 0;
  std::vector<float> model_;
  StrategyState strategy_state_;
  double clip_ = 0;            // of central noise
  std::vector<float> centre_;  // the last result of centred clipping
  std::set<std::uint32_t> invited_;
  std::set<std::uint32_t> gone_;    // declined for good
  std::set<std::uint32_t> silent_;  // let the last limit pass: not waited for
  std::vector<Heard> heard_;
  std::optional<RoundRecord> last_;

  // This round.
  std::set<std::uint32_t> received_;
  std::set<std::uint32_t> declined_;
  std::optional<ExactSum> sum_;
  std::optional<ClientSum> client_sum_;
  std::vector<std::pair<std::uint32_t, std::vector<float>>> vectors_;  // for robust rules
  std::uint64_t second_stories_ = 0;
  bool exhausted_ = false;  // the coordinator's budget
};

}  // namespace noisefloor::federated
