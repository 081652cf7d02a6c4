// Takes the whole view of the server, and checks that each masked input is uniform given the rest.
#include <gtest/gtest.h>

#include "noisefloor/crypto/shamir.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/simulation.h"
#include "tests/support/statistics.h"

namespace noisefloor::secagg {
namespace {

constexpr std::uint32_t kClients = 5;
constexpr std::uint64_t kDimension = 64;
constexpr unsigned kBits = 3;
constexpr std::uint32_t kThreshold = 3;
constexpr std::uint32_t kDropped = 4;

// Everything that the server gets in a round where client 4 shares its keys and is not heard of again, except that its
// masked input arrives too late.
struct View {
  std::vector<LaneVector> inputs;   // what was put in: the same in every round
  std::vector<LaneVector> residue;  // each masked input, minus every mask that the server can compute
};

class Eavesdropper : public RecordingNetwork {
 public:
  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (client == kDropped && envelope.type == MessageType::kMaskedInput) {
      late = message;
      return {};
    }
    return RecordingNetwork::to_server(client, std::move(message));
  }
  std::vector<Message> to_client(std::uint32_t client, Message message) override {
    if (parse_envelope(message)->type == MessageType::kRoster) roster = message;
    return Network::to_client(client, std::move(message));
  }
  Message late;
  Message roster;
};

// The secret that the shares of a client give, taken from the unmaskings of the survivors; the graph is complete.
Secret32 recovered(const Eavesdropper& seen, std::uint32_t owner) {
  std::vector<HeldShare> shares;
  for (std::uint32_t holder = 0; holder < kClients && shares.size() < kThreshold; ++holder) {
    if (holder == owner || holder == kDropped) continue;
    const Bytes body = parse_envelope(*seen.sent(holder, MessageType::kUnmasking))->body;
    const std::size_t at = owner < holder ? owner : owner - 1;
    shares.push_back({holder + 1, body.subspan(kShareBytes * at, kShareBytes)});
  }
  return recover_secret(shares, kThreshold).value();
}

View run(std::uint64_t seed, bool without_pair_masks) {
  ReplayRandom stream = ReplayRandom::create(seed).value();
  const Cohort cohort = Cohort::draw(kClients, stream);
  const RoundConfig config =
      cohort.config(1, {kClients - 1, kThreshold, 0, 0}, ThreatModel::kCuriousServer, 3, kDimension, kBits);
  const Policy policy{.threat = ThreatModel::kCuriousServer, .corrupt = 0, .drop = 0, .last_round = {}};
  View view;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    view.inputs.emplace_back(kDimension, kBits);
    for (std::uint64_t k = 0; k < kDimension; ++k) view.inputs[i].set(k, i == 0 ? 5 : i);
  }
  Eavesdropper seen;
  const RoundOutcome outcome =
      simulate_round(
          cohort, config, policy, [&](std::uint32_t i) { return view.inputs[i]; }, stream, seen)
          .value();
  EXPECT_TRUE(outcome.sum.has_value());

  const RosterPart part = parse_roster(parse_envelope(seen.roster)->body, kClients).value();
  const Digest context = context_of(digest_of(config), part.root, part.present.bytes());
  std::vector<Advertisement> roster;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    roster.push_back(parse_advertisement(*parse_envelope(*seen.sent(i, MessageType::kAdvertisement))).value());
  }
  const AgreementKey dropped(recovered(seen, kDropped));
  EXPECT_EQ(dropped.public_key(), roster[kDropped].mask_key);
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Message& message = i == kDropped ? seen.late : *seen.sent(i, MessageType::kMaskedInput);
    LaneVector residue(kDimension, kBits);
    residue.add_packed(parse_masked_input(parse_envelope(message)->body, config, kClients - 1)->packed);
    std::vector<Mask> known;
    for (std::uint32_t other = 0; other < kClients; ++other) {
      // Masks with the one that dropped out are known.
      if (other == i || (i != kDropped && other != kDropped)) continue;
      const std::uint32_t neighbour = i == kDropped ? other : i;
      const Secret32 agreed = dropped.agree(roster[neighbour].mask_key).value();
      known.push_back({pair_seed(agreed, context, neighbour, kDropped), i < other});
    }
    if (i != kDropped) known.push_back({own_seed(recovered(seen, i), context, i), true});
    apply_masks(known, residue.lanes(), residue.lane_bytes());
    view.residue.push_back(without_pair_masks && i != kDropped ? view.inputs[i] : residue);
  }
  return view;
}

// p-value of all values of Σ_{i in subset} residue_i, over rounds, against the uniform law.
class Uniformity {
 public:
  void add(const View& view, std::uint32_t subset) {
    for (std::uint64_t k = 0; k < kDimension; ++k) {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < kClients; ++i) {
        if ((subset >> i & 1U) != 0) sum += view.residue[i].get(k);
      }
      ++counts_[static_cast<std::int64_t>(sum % (1U << kBits))];
      ++draws_;
    }
  }
  [[nodiscard]] double p_value() const {
    return testing::chi_square_p_value(counts_, draws_, 0, (1 << kBits) - 1,
                                       [](std::int64_t) { return 1.0 / (1 << kBits); });
  }

 private:
  std::map<std::int64_t, std::uint64_t> counts_;
  std::uint64_t draws_ = 0;
};

// α = 1e-6 for each of the 29 sets of clients; detects a bias of 3 % of any value. With every mask removed that the
// server knows, each input of a survivor is uniform, and so is the sum of every set of clients except all survivors
// together: their sum is the one thing there is to see. The late input is uniform, alone and with all others: its own
// mask stays.
TEST(Secrecy, MakesMaskedInputsUniformGivenTheWholeView) {
  std::map<std::uint32_t, Uniformity> subsets;
  constexpr std::uint32_t survivors = (1U << kDropped) - 1;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const View view = run(seed, false);
    for (std::uint32_t subset = 1; subset < 1U << kClients; ++subset) {
      if (subset != survivors) subsets[subset].add(view, subset);
    }
    for (std::uint64_t k = 0; k < kDimension; ++k) {
      std::uint64_t masked = 0;
      std::uint64_t plain = 0;
      for (std::uint32_t i = 0; i < kDropped; ++i) {
        masked += view.residue[i].get(k);
        plain += view.inputs[i].get(k);
      }
      ASSERT_EQ(masked % (1U << kBits), plain % (1U << kBits));
    }
  }
  for (const auto& [subset, values] : subsets) EXPECT_GT(values.p_value(), testing::kAlpha) << subset;
}

TEST(Secrecy, FailsWithoutAMask) {
  Uniformity values;
  for (std::uint64_t seed = 0; seed < 200; ++seed) values.add(run(seed, true), 1);
  EXPECT_LT(values.p_value(), testing::kAlpha);
}

}  // namespace
}  // namespace noisefloor::secagg
