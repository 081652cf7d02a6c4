// A server that lies over several rounds, and clients that work with it: stories told at random to real clients, two
// rosters, clients that do not exist, proofs that are not, replays within an epoch and between epochs, and dropouts of
// its choice. What it could read is computed from all that it was given (reading.h). Each attack has a twin with rules
// that are too weak, on which it succeeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "noisefloor/random/uniform.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/reading.h"
#include "noisefloor/secagg/simulation.h"
#include "noisefloor/secagg/test_roster.h"

namespace noisefloor::secagg {
namespace {

constexpr std::uint64_t kDimension = 4;
constexpr unsigned kBits = 16;

struct Story {
  ClientSet sharing;
  ClientSet survivors;
};

struct Size {
  std::uint32_t clients;
  std::uint32_t corrupt;  // the first ones
  std::uint32_t degree;
  std::uint32_t threshold;
  std::uint32_t ghosts = 0;  // the last ones: the server lists keys for them that they never signed
};

// Real clients, each of which hears what the server wants it to hear. Clients accept every threshold, so that the
// protocol's own rules are what stops the server.
class Puppets {
 public:
  // Everyone is told of the same roster, unless the test does that.
  explicit Puppets(std::uint64_t seed, const Size& size, bool show = true)
      : size_(size),
        stream_(ReplayRandom::create(seed).value()),
        cohort_(Cohort::draw(size.clients, stream_)),
        round_(1) {
    policy_.corrupt = 0;
    policy_.epoch_rounds = 100;
    config_ = config_of(1);
    for (std::uint32_t i = 0; i < size_.clients; ++i) {
      clients_.push_back(Client::join(config_, cohort_.registry, i, cohort_.keys[i], policy_, stream_).value());
      entries_.push_back(parse_advertisement(*parse_envelope(clients_[i].advertisement())).value());
      channels_.push_back(
          channel_key(AgreementKey(cohort_.server.clone()).agree(entries_[i].channel_key).value(), digest_of(config_)));
      if (i + size_.ghosts >= size_.clients) entries_[i].signature = Signature{};
    }
    boxes_.resize(size_.clients);
    if (!show) return;
    std::vector<std::uint32_t> all(size_.clients);
    std::iota(all.begin(), all.end(), 0U);
    show_roster(roster(), all);
    if (size_.degree + 1 < size_.clients) return;
    for (std::uint32_t i = 0; i < size_.clients; ++i) {  // before anyone hears a story and ends the round
      epochs_.push_back(clients_[i].epoch().value());
      chains_.emplace_back(server_chain(channels_[i], context_, i));
    }
  }

  // Client 0 signs another mask key: it may do so as often as it likes.
  void change_keys_of_a_corrupt_client() {
    entries_[0].mask_key = AgreementKey(Secret32()).public_key();
    entries_[0].signature = cohort_.keys[0].sign(signed_keys(digest_of(config_), entries_[0]));
  }

  // Tells these clients of a roster.
  void show_roster(const TestRoster& roster, const std::vector<std::uint32_t>& to) {
    context_ = roster.context();
    graph_.emplace(roster.graph());
    for (const std::uint32_t i : to) {
      if (i + size_.ghosts >= size_.clients) continue;
      const auto answer = clients_[i].receive(roster.message(i, channels_[i]));
      if (answer.has_value()) take_boxes(i, answer.value());
    }
  }

  // The next round of the epoch that begins with the first one. Requires a complete graph.
  void next_round() {
    config_ = config_of(++round_);
    config_.epoch = epochs_[0].terms().id;
    clients_.clear();
    read_.clear();
    context_ = context_of(digest_of(config_), config_.epoch, everyone().bytes());
    graph_.emplace(size_.clients, size_.clients - 1, graph_seed(context_));
    for (std::uint32_t i = 0; i < size_.clients; ++i) {
      clients_.push_back(
          Client::resume(config_, cohort_.registry, epochs_[i], cohort_.keys[i], policy_, stream_).value());
      channels_[i] = chains_[i].take(round_ - 2);
      take_boxes(i, clients_[i].advertisement());
    }
  }

  // Every honest client goes through the rest of the round with the story of its number. Signatures of a story go to
  // everyone who was told it, with those of all corrupt clients.
  void play(const std::vector<Story>& stories, const std::vector<std::uint32_t>& story_of) {
    std::map<std::uint32_t, Signature> signatures;
    for (std::uint32_t i = size_.corrupt; i < size_.clients; ++i) {
      if (boxes_[i].empty()) continue;
      const Story& story = stories[story_of[i]];
      static_cast<void>(clients_[i].set_input(LaneVector(kDimension, kBits)));
      if (!hear(i, delivery_message(i, delivery_for(i, story.sharing), channels_[i])) ||
          !hear(i, sharers_message(i, story.sharing, channels_[i]))) {
        continue;
      }
      read_[i].sharing = story.sharing;
      const auto signature = clients_[i].receive(survivors_message(i, story.survivors, channels_[i]));
      if (signature.has_value()) signatures[i] = parse_confirmation(parse_envelope(signature.value())->body).value();
    }
    const std::vector<std::uint32_t> committee = graph_->committee();
    for (const auto& [i, own] : signatures) {
      const Story& story = stories[story_of[i]];
      std::vector<Confirmation> confirmations;
      for (const std::uint32_t member : committee) {
        if (member < size_.corrupt) {
          const std::string text = signed_survivors(context_, story.sharing, story.survivors);
          confirmations.push_back({member, cohort_.keys[member].sign(text)});
        } else if (signatures.contains(member) && story_of[member] == story_of[i]) {
          confirmations.push_back({member, signatures.at(member)});
        }
      }
      if (hear(i, confirmations_message(i, confirmations, channels_[i]))) read_[i].survivors = story.survivors;
    }
  }

  [[nodiscard]] std::vector<Places> read() const {
    Places corrupt;
    for (std::uint32_t i = 0; i < size_.corrupt; ++i) corrupt.insert(i);
    return Reading(*graph_, size_.threshold, corrupt, read_).groups();
  }
  // Whether anything can be read beside the sum of all honest survivors of the story that those were told who answered.
  [[nodiscard]] bool is_betrayed() const {
    const std::vector<Places> groups = read();
    if (groups.empty()) return false;
    for (const auto& [i, told] : read_) {
      if (!told.survivors.has_value()) continue;
      Places honest;
      for (std::uint32_t place = size_.corrupt; place < size_.clients; ++place) {
        if (told.survivors->contains(place)) honest.insert(place);
      }
      if (groups.size() != 1 || groups.front() != honest || told.survivors->size() < config_.minimum_cohort)
        return true;
    }
    return false;
  }

  [[nodiscard]] ClientSet everyone() const {
    ClientSet set(size_.clients);
    for (std::uint32_t i = 0; i < size_.clients; ++i) set.insert(i);
    return set;
  }
  [[nodiscard]] TestRoster roster() const { return {config_, entries_}; }
  [[nodiscard]] const RoundConfig& config() const { return config_; }
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] std::size_t answered() const {
    return static_cast<std::size_t>(
        std::count_if(read_.begin(), read_.end(), [](const auto& each) { return each.second.survivors.has_value(); }));
  }
  [[nodiscard]] bool has_shared(std::uint32_t i) const { return !boxes_[i].empty(); }
  Client& client(std::uint32_t i) { return clients_[i]; }
  [[nodiscard]] const Secret32& channel(std::uint32_t i) const { return channels_[i]; }

 private:
  [[nodiscard]] RoundConfig config_of(std::uint64_t round) const {
    return cohort_.config(round, {size_.degree, size_.threshold, 0, 0}, ThreatModel::kLyingServer, 3, kDimension,
                          kBits);
  }
  void take_boxes(std::uint32_t i, const Message& message) {
    Bytes body = parse_envelope(message)->body;
    const std::size_t degree = graph_->neighbours(i).size();
    if (config_.epoch != Digest{}) static_cast<void>(take_deposit(body, degree));
    boxes_[i] = parse_shares(body, degree).value();
  }
  bool hear(std::uint32_t i, const Message& message) { return clients_[i].receive(message).has_value(); }
  [[nodiscard]] Delivery delivery_for(std::uint32_t i, const ClientSet& sharing) const {
    const std::vector<std::uint32_t> neighbours = graph_->neighbours(i);
    Delivery delivery{{}, ClientSet(static_cast<std::uint32_t>(neighbours.size())), {}};
    const Secret32 nonce = challenge_nonce(cohort_.server, config_.round);
    std::copy(nonce.bytes().begin(), nonce.bytes().end(), delivery.nonce.begin());
    for (std::uint32_t at = 0; at < neighbours.size(); ++at) {
      const std::uint32_t other = neighbours[at];
      if (!sharing.contains(other) || boxes_[other].empty()) continue;
      const std::vector<std::uint32_t> theirs = graph_->neighbours(other);
      delivery.sharing.insert(at);
      delivery.sealed.push_back(
          boxes_[other][static_cast<std::size_t>(std::lower_bound(theirs.begin(), theirs.end(), i) - theirs.begin())]);
    }
    return delivery;
  }

  Size size_;
  ReplayRandom stream_;
  Cohort cohort_;
  std::uint64_t round_;
  Policy policy_;
  RoundConfig config_;
  std::vector<Client> clients_;
  std::vector<Advertisement> entries_;
  std::vector<Secret32> channels_;
  std::vector<std::vector<SealedShares>> boxes_;
  Digest context_{};
  std::optional<Graph> graph_;
  std::vector<ClientEpoch> epochs_;
  std::vector<KeyChain> chains_;
  std::map<std::uint32_t, Told> read_;
};

// --- Stories at random -----------------------------------------------------------------------------------------------

// Two or three stories: some clients are said not to have shared, or not to have survived; often a single one. Clients
// are told stories at random, more or less evenly.
void tell_at_random(Puppets& puppets, std::uint32_t clients, BitStream& dice) {
  const auto few = [&](ClientSet set) {
    const std::uint64_t percent = uniform_below(dice, 40);
    const auto victim = static_cast<std::uint32_t>(uniform_below(dice, clients));
    if (fair_coin(dice)) {
      set.erase(victim);
    } else {
      for (std::uint32_t i = 0; i < clients; ++i) {
        if (uniform_below(dice, 100) < percent) set.erase(i);
      }
    }
    return set;
  };
  std::vector<Story> stories;
  const ClientSet all = fair_coin(dice) ? puppets.everyone() : few(puppets.everyone());
  for (std::uint64_t i = 0; i < 2 + uniform_below(dice, 2); ++i) {
    const ClientSet sharing = uniform_below(dice, 4) == 0 ? few(all) : all;
    stories.push_back({sharing, fair_coin(dice) ? sharing : few(sharing)});
  }
  std::vector<std::uint32_t> story_of(clients);
  const std::uint64_t first = fair_coin(dice) ? 0 : 30 + uniform_below(dice, 70);  // percent with the first story
  for (std::uint32_t& each : story_of) {
    each = uniform_below(dice, 100) < first ? 0 : static_cast<std::uint32_t>(uniform_below(dice, stories.size()));
  }
  puppets.play(stories, story_of);
}

struct Campaign {
  int rounds = 0;
  int betrayed = 0;
  int answered = 0;  // rounds in which someone answered
};

// Rounds of one epoch after another, on complete graphs, or of fresh keys on sparse ones.
Campaign campaign(const Size& size, int count, std::uint64_t seed) {
  ReplayRandom dice = ReplayRandom::create(seed).value();
  Campaign result;
  const bool complete = size.degree + 1 == size.clients;
  while (result.rounds < count) {
    Puppets puppets(dice.next_u64(), size);
    for (int round = 0; round < (complete ? 8 : 1); ++round) {
      if (round > 0) puppets.next_round();
      tell_at_random(puppets, size.clients, dice);
      ++result.rounds;
      result.betrayed += puppets.is_betrayed() ? 1 : 0;
      result.answered += puppets.answered() > 0 ? 1 : 0;
    }
  }
  return result;
}

TEST(Enemy, ReadsNothingByTellingStoriesOverAnEpoch) {
  // 8 sites, two of them corrupt: a threshold of 6, more than half of 10, holds whatever they are told. With three
  // corrupt ones 5 does not.
  const Campaign strong = campaign({8, 2, 7, 6}, 80, 1);
  EXPECT_EQ(strong.betrayed, 0);
  EXPECT_GT(strong.answered, 10);
  const Campaign weak = campaign({8, 3, 7, 5}, 80, 1);
  EXPECT_GT(weak.betrayed, 0);
}

TEST(Enemy, ReadsNothingByTellingStoriesOnASparseGraph) {
  // Two corrupt clients of 16: they cannot be three among the neighbours, nor two in each of two gaps.
  const Campaign strong = campaign({16, 2, 8, 6}, 25, 2);
  EXPECT_EQ(strong.betrayed, 0);
  EXPECT_GT(strong.answered, 2);
  const Campaign weak = campaign({16, 5, 8, 5}, 25, 2);
  EXPECT_GT(weak.betrayed, 0);
}

TEST(SlowEnemy, ReadsNothingByTellingStories) {
  EXPECT_EQ(campaign({8, 2, 7, 6}, 2000, 3).betrayed, 0);
  EXPECT_EQ(campaign({5, 1, 4, 4}, 2000, 4).betrayed, 0);
  EXPECT_EQ(campaign({16, 2, 8, 6}, 400, 5).betrayed, 0);
  EXPECT_EQ(campaign({20, 3, 8, 6}, 400, 6).betrayed, 0);
}

// Some honest clients are told that a victim survived and some that it left, arranged as well as can be; three corrupt
// ones of eight confirm both stories. With a threshold above half of 8 + 3 there are not enough members for two.
TEST(Enemy, CannotConfirmTwoStoriesWithACorruptCommittee) {
  for (const std::uint32_t threshold : {5U, 6U}) {
    Puppets puppets(7, {8, 3, 7, threshold});
    constexpr std::uint32_t victim = 3;
    ClientSet without = puppets.everyone();
    without.erase(victim);
    puppets.play({{puppets.everyone(), puppets.everyone()}, {puppets.everyone(), without}}, {0, 0, 0, 0, 0, 0, 1, 1});
    const std::vector<Places> groups = puppets.read();
    const bool alone = std::find(groups.begin(), groups.end(), Places{victim}) != groups.end();
    EXPECT_EQ(alone, threshold == 5) << threshold;
  }
}

// --- Two rosters in one round ---------------------------------------------------------------------------------------

// Each half of the honest clients goes on by itself, with the corrupt ones, as if the other half had left: two sums of
// two clients each, out of one round. A threshold above half of 7 + 3 leaves neither half enough neighbours.
TEST(Enemy, CannotSumTwoHalvesInOneRound) {
  for (const std::uint32_t threshold : {4U, 6U}) {
    Puppets puppets(8, {7, 3, 6, threshold});
    std::vector<Story> stories;
    for (const std::uint32_t first : {3U, 5U}) {
      ClientSet half(7);
      for (const std::uint32_t i : {0U, 1U, 2U, first, first + 1}) half.insert(i);
      stories.push_back({half, half});
    }
    puppets.play(stories, {0, 0, 0, 0, 0, 1, 1});
    EXPECT_EQ(puppets.read().size(), threshold == 4 ? 2U : 0U);
  }
}

// Boxes of one roster do not open in the other: the context is in their keys. The server passes everyone's boxes on to
// everyone, and tells them that all go on.
TEST(Enemy, CannotMixTwoRosters) {
  Puppets puppets(9, {7, 1, 6, 5}, false);
  const TestRoster one = puppets.roster();
  puppets.change_keys_of_a_corrupt_client();
  const TestRoster two = puppets.roster();
  EXPECT_NE(one.context(), two.context());
  puppets.show_roster(one, {1, 2, 3});
  puppets.show_roster(two, {4, 5, 6});
  for (std::uint32_t i = 1; i < 7; ++i) EXPECT_TRUE(puppets.has_shared(i));
  puppets.play({{puppets.everyone(), puppets.everyone()}}, std::vector<std::uint32_t>(7, 0));
  EXPECT_EQ(puppets.answered(), 0U);
  EXPECT_TRUE(puppets.read().empty());
  for (std::uint32_t i = 1; i < 7; ++i) EXPECT_EQ(puppets.client(i).aborted(), AbortReason::kTooFewNeighbours);
}

// --- Clients that do not exist --------------------------------------------------------------------------------------

// The server lists keys for clients that never joined, so that a roster looks large. Nobody goes on beside one of them;
// and where clients have none as neighbours, it counts as one that left: nothing is read that would not be read anyway.
TEST(Enemy, GainsNothingByListingClientsThatDoNotExist) {
  int went_on = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Puppets puppets(seed, {24, 0, 4, 3, 2});
    for (std::uint32_t i = 0; i < 22; ++i) {
      const std::vector<std::uint32_t> neighbours = puppets.graph().neighbours(i);
      const bool beside =
          std::any_of(neighbours.begin(), neighbours.end(), [](std::uint32_t each) { return each >= 22; });
      EXPECT_EQ(puppets.has_shared(i), !beside);
      EXPECT_EQ(puppets.client(i).aborted().has_value(), beside);
    }
    // The server says that all went on, those who do not exist among them.
    ClientSet told = puppets.everyone();
    for (std::uint32_t i = 0; i < 22; ++i) {
      if (!puppets.has_shared(i)) told.erase(i);
    }
    puppets.play({{told, told}}, std::vector<std::uint32_t>(24, 0));
    EXPECT_FALSE(puppets.is_betrayed());
    EXPECT_TRUE(puppets.read().empty());  // the sum of everyone told would have those who do not exist in it
    went_on += puppets.answered() > 0 ? 1 : 0;
  }
  EXPECT_GT(went_on, 0);
}

// --- Proofs that are not --------------------------------------------------------------------------------------------

TEST(Enemy, CannotProveAnotherRoster) {
  const auto refuses = [](const std::function<void(RosterPart&, std::vector<std::uint8_t>&)>& change) {
    ReplayRandom stream = ReplayRandom::create(12).value();
    const Cohort cohort = Cohort::draw(40, stream);
    const RoundConfig config = cohort.config(1, {6, 4, 0, 0}, ThreatModel::kLyingServer, 3, kDimension, kBits);
    Policy policy;
    policy.corrupt = 0;
    std::vector<Client> clients;
    std::vector<Advertisement> entries;
    for (std::uint32_t i = 0; i < 40; ++i) {
      clients.push_back(Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream).value());
      entries.push_back(parse_advertisement(*parse_envelope(clients[i].advertisement())).value());
    }
    const TestRoster roster(config, entries);
    const Secret32 channel =
        channel_key(AgreementKey(cohort.server.clone()).agree(entries[1].channel_key).value(), digest_of(config));
    const Message honest = roster.message(1, channel);
    const Bytes body = parse_envelope(honest)->body;
    RosterPart part = parse_roster(body, 40).value();
    EXPECT_TRUE(parse_neighbours(body, roster.graph().neighbours(1), part));
    std::vector<std::uint8_t> proof(part.proof.begin(), part.proof.end());
    change(part, proof);
    part.proof = proof;
    const auto answer = clients[1].receive(roster_message(1, part, channel));
    return !answer.has_value() && clients[1].aborted().has_value();
  };
  using Proof = std::vector<std::uint8_t>;
  EXPECT_FALSE(refuses([](RosterPart&, Proof&) {}));  // the honest one
  EXPECT_TRUE(refuses([](RosterPart&, Proof& proof) { proof.clear(); }));
  EXPECT_TRUE(refuses([](RosterPart&, Proof& proof) { proof.resize(proof.size() - 32); }));
  EXPECT_TRUE(refuses([](RosterPart&, Proof& proof) { proof.resize(proof.size() - 1); }));
  EXPECT_TRUE(refuses([](RosterPart&, Proof& proof) { proof.resize(proof.size() + 32); }));
  EXPECT_TRUE(refuses([](RosterPart&, Proof& proof) { proof.push_back(0); }));
  EXPECT_TRUE(refuses(
      [](RosterPart&, Proof& proof) { std::swap_ranges(proof.begin(), proof.begin() + 32, proof.begin() + 32); }));
  EXPECT_TRUE(refuses([](RosterPart&, Proof& proof) { std::reverse(proof.begin(), proof.end()); }));
  for (const std::size_t at : {0U, 100U, 300U}) {
    EXPECT_TRUE(refuses([&](RosterPart&, Proof& proof) { proof[at % proof.size()] ^= 1; }));
  }
  EXPECT_TRUE(refuses([](RosterPart& part, Proof&) { part.root[5] ^= 1; }));
  // The root itself as the only hash, as if the leaf stood right below it.
  EXPECT_TRUE(refuses([](RosterPart& part, Proof& proof) { proof.assign(part.root.begin(), part.root.end()); }));
  // One client more or less: the graph is another one, and so are the neighbours that have to be proven.
  EXPECT_TRUE(refuses([](RosterPart& part, Proof&) { part.present.erase(30); }));
  EXPECT_TRUE(refuses([](RosterPart& part, Proof&) { part.present.erase(1); }));
  // Neighbours in each other's places, or one of them twice.
  EXPECT_TRUE(refuses([](RosterPart& part, Proof&) { std::swap(part.neighbours[0], part.neighbours[1]); }));
  EXPECT_TRUE(refuses([](RosterPart& part, Proof&) { part.neighbours[1] = part.neighbours[0]; }));
}

// --- Replays ---------------------------------------------------------------------------------------------------------

// Keeps all messages of a round, or sends those of another one before every message.
class Parrot : public Network {
 public:
  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    return with_old(client, std::move(message));
  }
  std::vector<Message> to_client(std::uint32_t client, Message message) override {
    return with_old(client, std::move(message));
  }
  void repeat(std::map<std::uint32_t, std::vector<Message>> old) { old_ = std::move(old); }
  std::map<std::uint32_t, std::vector<Message>> heard;

 private:
  std::vector<Message> with_old(std::uint32_t client, Message message) {
    std::vector<Message> arriving = old_[client];
    heard[client].push_back(message);
    arriving.push_back(std::move(message));
    return arriving;
  }
  std::map<std::uint32_t, std::vector<Message>> old_;
};

// Sites with an epoch that begins with a round of this number.
class Sites {
 public:
  static constexpr std::uint32_t kClients = 6;

  explicit Sites(std::uint64_t first) : first_(first) {
    policy_.corrupt = 0;
    policy_.epoch_rounds = 50;
    begin(first);
  }
  // A new epoch among the same sites.
  void begin(std::uint64_t round) {
    const RoundConfig config = config_of(round);
    Server server = Server::create(config, cohort_.registry, AgreementKey(cohort_.server.clone())).value();
    std::vector<Client> clients;
    for (std::uint32_t i = 0; i < kClients; ++i) {
      clients.push_back(Client::join(config, cohort_.registry, i, cohort_.keys[i], policy_, stream_).value());
    }
    EXPECT_TRUE(play_round(server, clients, input, opening).value().sum.has_value());
    epochs_.clear();
    for (Client& each : clients) epochs_.push_back(each.epoch().value());
    hub_.emplace(server.epoch().value());
  }
  RoundOutcome run(std::uint64_t round, Network& network) {
    RoundConfig config = config_of(round);
    config.epoch = hub_->terms().id;
    Server server = Server::resume(config, cohort_.registry, AgreementKey(cohort_.server.clone()), *hub_).value();
    std::vector<Client> clients;
    for (std::uint32_t i = 0; i < kClients; ++i) {
      clients.push_back(
          Client::resume(config, cohort_.registry, epochs_[i], cohort_.keys[i], policy_, stream_).value());
    }
    return play_round(server, clients, input, network).value();
  }
  // The configuration of a round of the epoch before this one.
  Result<Client> resume_old(const Digest& epoch, std::uint64_t round) {
    RoundConfig config = config_of(round);
    config.epoch = epoch;
    return Client::resume(config, cohort_.registry, epochs_[0], cohort_.keys[0], policy_, stream_);
  }
  Result<Client> accept(Bytes invitation, Policy policy) {
    policy.corrupt = 0;
    policy.epoch_rounds = 50;
    return Client::accept(invitation, cohort_.registry, epochs_[0], cohort_.keys[0], policy, stream_);
  }
  [[nodiscard]] RoundConfig config_of(std::uint64_t round) const {
    return cohort_.config(round, {kClients - 1, 4, 0, 0}, ThreatModel::kLyingServer, 3, kDimension, 40);
  }
  [[nodiscard]] const EpochTerms& terms() const { return hub_->terms(); }
  static LaneVector input(std::uint32_t client) {
    LaneVector vector(kDimension, 40);
    for (std::uint64_t k = 0; k < kDimension; ++k) vector.set(k, 100 * client + k);
    return vector;
  }
  static LaneVector sum_of(const std::vector<std::uint32_t>& clients) {
    LaneVector sum(kDimension, 40);
    for (std::uint64_t k = 0; k < kDimension; ++k) {
      std::uint64_t total = 0;
      for (const std::uint32_t client : clients) total += 100 * client + k;
      sum.set(k, total);
    }
    return sum;
  }
  Parrot opening;

 private:
  std::uint64_t first_;
  ReplayRandom stream_ = ReplayRandom::create(31).value();
  Cohort cohort_ = Cohort::draw(kClients, stream_);
  Policy policy_;
  std::vector<ClientEpoch> epochs_;
  std::optional<ServerEpoch> hub_;
};

// Every message of an earlier round comes again, to both sides, before each message of a later one: of the same epoch,
// of the round that began it, and of another epoch of the same sites. All are turned away, and nobody ends the round.
TEST(Enemy, CannotReplayMessagesWithinAnEpochOrBetweenEpochs) {
  Sites sites(10);
  Parrot first;
  EXPECT_TRUE(sites.run(11, first).sum.has_value());
  const auto expect_unmoved = [&](std::uint64_t round, const std::map<std::uint32_t, std::vector<Message>>& old) {
    Parrot parrot;
    parrot.repeat(old);
    const RoundOutcome outcome = sites.run(round, parrot);
    ASSERT_TRUE(outcome.sum.has_value());
    EXPECT_EQ(outcome.survivors.size(), Sites::kClients);
    EXPECT_EQ(*outcome.sum, Sites::sum_of(outcome.survivors));
    EXPECT_TRUE(outcome.client_aborts.empty());
    EXPECT_TRUE(outcome.culprits.empty());
  };
  expect_unmoved(12, first.heard);
  expect_unmoved(13, sites.opening.heard);
  sites.begin(20);
  expect_unmoved(21, first.heard);
  expect_unmoved(22, sites.opening.heard);
}

// An epoch that was renewed is over: its rounds are refused by number and by name, whatever the server signs.
TEST(Enemy, CannotGoBackToAnEpochThatWasRenewed) {
  Sites sites(10);
  const Digest old = sites.terms().id;
  sites.begin(20);
  EXPECT_NE(sites.terms().id, old);
  EXPECT_EQ(sites.resume_old(old, 11).error(), error_of(AbortReason::kEpochRefused));
  EXPECT_EQ(sites.resume_old(old, 21).error(), error_of(AbortReason::kEpochRefused));
  EXPECT_EQ(sites.resume_old(sites.terms().id, 19).error(), error_of(AbortReason::kOldRound));
  EXPECT_TRUE(sites.resume_old(sites.terms().id, 21).has_value());
}

// Rounds of an epoch have invitations too. One that the pinned server did not sign changes nothing: it cannot use up
// the numbers of rounds to come.
TEST(Enemy, CannotBurnAnEpochWithoutTheServersKey) {
  Sites sites(10);
  const SigningKey server = SigningKey::from_seed({1});
  const SigningKey stranger = SigningKey::from_seed({2});
  Policy policy;
  RoundConfig last = sites.config_of(60);
  last.epoch = sites.terms().id;
  EXPECT_EQ(sites.accept(invitation(last, server), policy).error(), error_of(AbortReason::kNotInvited));
  policy.server = server.public_key();
  EXPECT_EQ(sites.accept(invitation(last, stranger), policy).error(), error_of(AbortReason::kNotInvited));
  RoundConfig next = sites.config_of(11);
  next.epoch = sites.terms().id;
  const Message honest = invitation(next, server);
  EXPECT_TRUE(sites.accept(honest, policy).has_value());
  EXPECT_EQ(sites.accept(honest, policy).error(), error_of(AbortReason::kOldRound));  // once
}

// --- Dropouts of its choice -----------------------------------------------------------------------------------------

// One client more is kept away in every round of an epoch, at a stage of the server's choice: there are sums of as many
// as the threshold asks for, and then there are none. Never is there a sum of fewer.
TEST(Enemy, ShrinksNoSumBelowTheThresholdRoundByRound) {
  for (const MessageType from : {MessageType::kShares, MessageType::kReceipt, MessageType::kMaskedInput}) {
    Sites sites(10);
    std::size_t last = Sites::kClients + 1;
    for (std::uint64_t gone = 0; gone < Sites::kClients; ++gone) {
      RecordingNetwork network;
      for (std::uint32_t i = 0; i < gone; ++i) network.silence(i, from);
      const RoundOutcome outcome = sites.run(11 + gone, network);
      // Each of five needs four others.
      EXPECT_EQ(outcome.sum.has_value(), gone <= 1) << static_cast<int>(from) << gone;
      if (!outcome.sum.has_value()) continue;
      EXPECT_LT(outcome.survivors.size(), last);
      EXPECT_EQ(*outcome.sum, Sites::sum_of(outcome.survivors));
      last = outcome.survivors.size();
    }
    EXPECT_EQ(last, 5U);
    Network network;  // what was refused did no harm
    EXPECT_TRUE(sites.run(20, network).sum.has_value());
  }
}

}  // namespace
}  // namespace noisefloor::secagg
