// Every lie of a server that a client can see, and the reason with which it ends the round.
#include <gtest/gtest.h>

#include <algorithm>

#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/simulation.h"
#include "noisefloor/secagg/test_roster.h"

namespace noisefloor::secagg {
namespace {

constexpr std::uint32_t kClients = 6;

// An honest round up to any point, and the keys to tell lies with.
class Table {
 public:
  explicit Table(ThreatModel threat = ThreatModel::kLyingServer, std::uint32_t threshold = 4, std::uint64_t round = 1,
                 std::uint32_t clients = kClients, std::uint32_t degree = kClients - 1, bool with_inputs = true)
      : stream_(ReplayRandom::create(42).value()), cohort_(Cohort::draw(clients, stream_)) {
    policy.threat = threat;
    policy.corrupt = 0;
    policy.drop = 0;
    config = cohort_.config(round, {degree, threshold, 0, 0}, threat, 3, 4, 16);
    for (std::uint64_t skipped = 0; skipped < round; ++skipped)
      static_cast<void>(stream_.next_u64());  // other keys each round
    server_.emplace(Server::create(config, cohort_.registry, AgreementKey(cohort_.server.clone())).value());
    for (std::uint32_t i = 0; i < clients; ++i) {
      clients_.push_back(join(config, i).value());
      EXPECT_TRUE(!with_inputs || clients_[i].set_input(LaneVector(4, 16)).has_value());
      EXPECT_TRUE(server_->receive(clients_[i].advertisement()).has_value());
    }
    EXPECT_TRUE(server_->close().has_value());
  }

  Result<Client> join(const RoundConfig& by, std::uint32_t i) {
    return Client::join(by, cohort_.registry, i, cohort_.keys[i], policy, stream_);
  }

  Client& client(std::uint32_t i) { return clients_[i]; }
  Message honest(std::uint32_t i) { return server_->message_for(i).value(); }
  Secret32 channel(std::uint32_t i) const {
    const Advertisement keys = advertised(i);
    return channel_key(AgreementKey(cohort_.server.clone()).agree(keys.channel_key).value(), digest_of(config));
  }
  [[nodiscard]] Advertisement advertised(std::uint32_t i) const {
    return parse_advertisement(*parse_envelope(clients_[i].advertisement())).value();
  }
  using Roster = std::vector<Advertisement>;
  [[nodiscard]] Roster roster() const {
    Roster roster;
    for (std::uint32_t i = 0; i < clients_.size(); ++i) roster.push_back(advertised(i));
    return roster;
  }

  // Everyone answers the honest message of this stage.
  void advance() {
    for (std::uint32_t i = 0; i < clients_.size(); ++i) {
      EXPECT_TRUE(server_->receive(client(i).receive(honest(i)).value()).has_value());
    }
    EXPECT_TRUE(server_->close().has_value());
  }

  // Tells client i a lie, with the right tag.
  void tell_roster(std::uint32_t i, const Roster& lie) {
    last_ = client(i).receive(TestRoster(config, lie).message(i, channel(i)));
  }
  void tell_delivery(std::uint32_t i, const Delivery& lie) {
    last_ = client(i).receive(delivery_message(i, lie, channel(i)));
  }
  void tell_sharers(std::uint32_t i, const ClientSet& lie) {
    last_ = client(i).receive(sharers_message(i, lie, channel(i)));
  }
  void tell_survivors(std::uint32_t i, const ClientSet& lie) {
    last_ = client(i).receive(survivors_message(i, lie, channel(i)));
  }
  void tell_confirmations(std::uint32_t i, const std::vector<Confirmation>& lie) {
    last_ = client(i).receive(confirmations_message(i, lie, channel(i)));
  }
  void tell(std::uint32_t i, const Message& lie) { last_ = client(i).receive(lie); }
  [[nodiscard]] Digest nonce() const {
    Digest nonce{};
    const Secret32 drawn = challenge_nonce(cohort_.server, config.round);
    std::copy(drawn.bytes().begin(), drawn.bytes().end(), nonce.begin());
    return nonce;
  }
  [[nodiscard]] const Result<Message>& last() const { return *last_; }

  ClientSet everyone() const {
    ClientSet set(static_cast<std::uint32_t>(clients_.size()));
    for (std::uint32_t i = 0; i < clients_.size(); ++i) set.insert(i);
    return set;
  }
  ClientSet all_but(std::uint32_t missing) const {
    ClientSet set(static_cast<std::uint32_t>(clients_.size()));
    for (std::uint32_t i = 0; i < clients_.size(); ++i) {
      if (i != missing) set.insert(i);
    }
    return set;
  }
  Delivery delivery_for(std::uint32_t i) {
    const Message message = honest(i);
    return parse_delivery(parse_envelope(message)->body, degree_among(config, config.clients)).value();
  }

  // The client ended the round for this reason, answers nothing more, and says so every time.
  void expect_abort(std::uint32_t i, AbortReason reason) {
    ASSERT_TRUE(client(i).aborted().has_value());
    EXPECT_EQ(name_of(*client(i).aborted()), name_of(reason));
    EXPECT_FALSE(last().has_value());
    EXPECT_EQ(last().error().code, ErrorCode::kProtocol);
    EXPECT_EQ(client(i).receive(honest(i)).error(), error_of(reason));
  }

  Policy policy;
  RoundConfig config;

 private:
  ReplayRandom stream_;
  Cohort cohort_;
  std::vector<Client> clients_;
  std::optional<Server> server_;
  std::optional<Result<Message>> last_;
};

TEST(LyingServer, GetsAnswersToTheTruth) {
  Table table;
  for (int stage = 0; stage < 5; ++stage) table.advance();
  for (std::uint32_t i = 0; i < kClients; ++i) EXPECT_TRUE(table.client(i).done());
}

// --- The list: split survivors, both shares, swapped keys, lowered threshold, chosen neighbours, another model, an old
// --- round, a roster with duplicates.

TEST(LyingServer, CannotSplitTheSurvivors) {
  Table table;
  table.advance();
  table.advance();
  table.advance();
  // Half are told that client 5 survived, half that it did not; every signature is a true one.
  std::vector<Confirmation> confirmations;
  for (std::uint32_t i = 0; i < 5; ++i) {
    table.tell_survivors(i, i < 3 ? table.everyone() : table.all_but(5));
    const Message answer = table.last().value();
    confirmations.push_back({i, parse_confirmation(parse_envelope(answer)->body).value()});
  }
  std::vector<Confirmation> for_client_0(confirmations.begin() + 1, confirmations.end());
  table.tell_confirmations(0, for_client_0);
  table.expect_abort(0, AbortReason::kNotConfirmed);
}

// Without the consistency round nobody could tell: that is why there is one.
TEST(LyingServer, CouldSplitTheSurvivorsUnderTheWeakerThreatModel) {
  Table table(ThreatModel::kCuriousServer, 2);
  table.advance();
  table.advance();
  table.advance();
  for (std::uint32_t i = 0; i < 5; ++i) {
    table.tell_survivors(i, i < 3 ? table.everyone() : table.all_but(5));
    EXPECT_TRUE(table.last().has_value());
  }
}

TEST(LyingServer, CannotAskForBothShares) {
  for (const ThreatModel threat : {ThreatModel::kCuriousServer, ThreatModel::kLyingServer}) {
    Table table(threat);
    table.advance();
    table.advance();
    table.advance();
    Message survivors = table.honest(0);
    const Message answer = table.client(0).receive(survivors).value();
    EXPECT_EQ(table.client(0).receive(survivors).value(), answer);  // asked again: the same bytes
    table.tell_survivors(0, table.all_but(5));
    table.expect_abort(0, AbortReason::kOtherStory);
  }
}

TEST(LyingServer, CannotAskForBothSharesAfterTheAnswer) {
  Table table;
  for (int stage = 0; stage < 5; ++stage) table.advance();
  table.tell_survivors(0, table.all_but(5));
  ASSERT_TRUE(table.client(0).aborted().has_value());
  EXPECT_EQ(*table.client(0).aborted(), AbortReason::kOtherStory);
}

TEST(LyingServer, CannotSwapAKey) {
  const AgreementKey servers_own{Secret32()};
  for (const bool mask_key : {false, true}) {
    Table table;
    Table::Roster lie = table.roster();
    (mask_key ? lie[3].mask_key : lie[3].channel_key) = servers_own.public_key();
    table.tell_roster(0, lie);
    table.expect_abort(0, AbortReason::kBadSignature);
    table.tell_roster(3, lie);
    table.expect_abort(3, AbortReason::kNotInTheTree);
  }
}

TEST(LyingServer, CannotLowerTheThreshold) {
  Table table;
  RoundConfig lie = table.config;
  lie.threshold = 3;  // 2t > 6 does not hold
  EXPECT_EQ(table.join(lie, 0).error(), error_of(AbortReason::kThresholdTooLow));
  // With corrupt clients the honest threshold is too low as well.
  table.policy.corrupt = 0.5;
  EXPECT_EQ(table.join(table.config, 0).error(), error_of(AbortReason::kThresholdTooLow));
}

// Whoever is between client and server can make a configuration with a key of its own, and join() cannot tell.
TEST(LyingServer, CannotBePlayedBySomeoneElse) {
  ReplayRandom stream = ReplayRandom::create(8).value();
  const Cohort cohort = Cohort::draw(kClients, stream);
  const SigningKey server = SigningKey::from_seed({1});
  const SigningKey stranger = SigningKey::from_seed({2});
  const RoundConfig config = cohort.config(1, {5, 4, 0, 0}, ThreatModel::kLyingServer, 3, 4, 16);
  RoundConfig strange = config;
  strange.server = AgreementKey(Secret32()).public_key();
  Policy policy;
  policy.corrupt = 0;
  const auto accept = [&](const Message& message) {
    return Client::accept(message, cohort.registry, 0, cohort.keys[0], policy, stream);
  };
  EXPECT_TRUE(Client::join(strange, cohort.registry, 0, cohort.keys[0], policy, stream).has_value());
  EXPECT_EQ(accept(invitation(config, server)).error(), error_of(AbortReason::kNotInvited));  // no key is pinned
  policy.server = server.public_key();
  EXPECT_TRUE(accept(invitation(config, server)).has_value());
  EXPECT_EQ(accept(invitation(strange, stranger)).error(), error_of(AbortReason::kNotInvited));
  Message changed = invitation(strange, stranger);
  const Message signed_by_server = invitation(config, server);
  std::copy(signed_by_server.end() - 64, signed_by_server.end(), changed.end() - 64);
  EXPECT_EQ(accept(changed).error(), error_of(AbortReason::kNotInvited));
  changed.pop_back();
  EXPECT_EQ(accept(changed).error(), error_of(AbortReason::kMalformed));
}

TEST(LyingServer, CannotWeakenTheThreatModelOrTheCohort) {
  Table table;
  RoundConfig lie = table.config;
  lie.threat = ThreatModel::kCuriousServer;
  EXPECT_EQ(table.join(lie, 0).error(), error_of(AbortReason::kThreatModelRefused));
  lie = table.config;
  lie.minimum_cohort = 2;
  EXPECT_EQ(table.join(lie, 0).error(), error_of(AbortReason::kCohortTooSmall));
  lie = table.config;
  lie.clients = 5;
  EXPECT_EQ(table.join(lie, 0).error(), error_of(AbortReason::kConfigurationRefused));
  lie = table.config;
  lie.registry[0] ^= 1;  // clients that the server made up
  EXPECT_EQ(table.join(lie, 0).error(), error_of(AbortReason::kConfigurationRefused));
}

TEST(LyingServer, CannotChooseNeighbours) {
  // Shares from a client that is not a neighbour, or meant for another client, do not open; and nobody goes on with a
  // neighbour whose shares did not.
  Table table;
  table.advance();
  Delivery lie = table.delivery_for(0);
  lie.sealed[2] = table.delivery_for(1).sealed[2];
  table.tell_delivery(0, lie);
  ASSERT_TRUE(table.last().has_value());
  EXPECT_FALSE(parse_receipt(parse_envelope(table.last().value())->body, 5)->opened.contains(2));
  table.tell_sharers(0, table.everyone());
  table.expect_abort(0, AbortReason::kSharesUnreadable);
  // The client's own shares, sent back in another's name.
  lie = table.delivery_for(2);
  lie.sealed[0] = table.delivery_for(0).sealed[1];
  table.tell_delivery(2, lie);
  table.tell_sharers(2, table.everyone());
  table.expect_abort(2, AbortReason::kSharesUnreadable);
  // More or fewer shares than the graph says.
  lie = table.delivery_for(1);
  lie.sealed.push_back(lie.sealed[0]);
  table.tell_delivery(1, lie);
  table.expect_abort(1, AbortReason::kMalformed);
}

TEST(LyingServer, CannotChooseNeighboursOnASparseGraph) {
  Table table(ThreatModel::kCuriousServer, 3, 1, 40, 6);
  // The graph follows from the whole roster: with another one, the neighbours are others, and no shares of theirs open.
  Table::Roster lie = table.roster();
  lie.pop_back();
  table.policy.minimum_cohort = 2;
  table.tell_roster(0, lie);
  ASSERT_TRUE(table.last().has_value());
  for (std::uint32_t i = 1; i < 40; ++i) EXPECT_TRUE(table.client(i).receive(table.honest(i)).has_value());
  ClientSet sharing(6);
  for (std::uint32_t i = 0; i < 6; ++i) sharing.insert(i);
  table.tell_delivery(0, {table.nonce(), sharing, std::vector<SealedShares>(6)});
  table.expect_abort(0, AbortReason::kTooFewNeighbours);
  // Keys of a neighbour that the root does not stand for.
  const TestRoster truth(table.config, table.roster());
  Message message = truth.message(1, table.channel(1));
  RosterPart part = parse_roster(parse_envelope(message)->body, 40).value();
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t place : truth.graph().neighbours(1)) numbers.push_back(place);
  ASSERT_TRUE(parse_neighbours(parse_envelope(message)->body, numbers, part));
  part.neighbours[0].mask_key[0] ^= 1;
  Table again(ThreatModel::kCuriousServer, 3, 1, 40, 6);
  again.tell(1, roster_message(1, part, again.channel(1)));
  again.expect_abort(1, AbortReason::kNotInTheTree);
}

// Answers to several questions about the same shares would say more of them than one does.
TEST(LyingServer, CannotAskAnotherQuestionAboutShares) {
  Table table;
  table.advance();
  Delivery lie = table.delivery_for(0);
  lie.nonce[0] ^= 1;
  table.tell_delivery(0, lie);
  table.expect_abort(0, AbortReason::kOtherChallenge);
  table.tell_delivery(1, table.delivery_for(1));
  ASSERT_TRUE(table.last().has_value());
  lie = table.delivery_for(1);
  lie.sharing.erase(4);
  lie.sealed.pop_back();
  table.tell_delivery(1, lie);  // the same question a second time, about other shares
  table.expect_abort(1, AbortReason::kOtherStory);
}

TEST(LyingServer, CannotGiveClientsDifferentModels) {
  Table table;
  RoundConfig other = table.config;
  other.model[0] ^= 1;
  Client with_other = table.join(other, 0).value();
  // The others see keys that were not signed for their model, and the client with the other model sees the same in
  // theirs.
  Table::Roster lie = table.roster();
  lie[0] = parse_advertisement(*parse_envelope(with_other.advertisement())).value();
  table.tell_roster(1, lie);
  table.expect_abort(1, AbortReason::kBadSignature);
  // Even if signatures did not tell, masks would not cancel: the model enters every key.
  const Secret32 agreed;
  const Digest here = TestRoster(table.config, lie).context();
  const Digest there = TestRoster(other, lie).context();
  EXPECT_FALSE(equal_in_constant_time(pair_seed(agreed, here, 0, 1).bytes(), pair_seed(agreed, there, 0, 1).bytes()));
}

TEST(LyingServer, CannotReplayAnOldRound) {
  Table old(ThreatModel::kLyingServer, 4, 1);
  Table table(ThreatModel::kLyingServer, 4, 2);
  // The message as it was sent is turned away, because its tag was made with other keys.
  EXPECT_EQ(table.client(0).receive(old.honest(0)).error(), error_of(AbortReason::kNotAuthentic));
  EXPECT_FALSE(table.client(0).aborted().has_value());
  // With new tags, the client still finds that its own keys are not these.
  table.tell_roster(0, old.roster());
  table.expect_abort(0, AbortReason::kNotInTheTree);
  // Old keys of another client.
  Table::Roster lie = table.roster();
  lie[4] = old.roster()[4];
  table.tell_roster(1, lie);
  table.expect_abort(1, AbortReason::kBadSignature);
  // The whole round is replayed.
  table.policy.last_round = 2;
  EXPECT_EQ(table.join(table.config, 0).error(), error_of(AbortReason::kOldRound));
}

TEST(LyingServer, CannotSendARosterWithDuplicates) {
  const auto expect = [](const Table::Roster& lie, AbortReason reason) {
    Table table;
    table.tell_roster(0, lie);
    table.expect_abort(0, reason);
  };
  // No client is in a roster twice: its keys stand at its number. But one key may be there twice.
  const Table table;
  Table::Roster lie = table.roster();
  lie[5].mask_key = lie[4].mask_key;
  expect(lie, AbortReason::kDuplicate);
  lie = table.roster();
  lie[5].channel_key = lie[4].mask_key;
  expect(lie, AbortReason::kDuplicate);
  lie = table.roster();
  lie[5].mask_key = lie[0].mask_key;  // the client's own
  expect(lie, AbortReason::kDuplicate);
}

// --- More of the same kind -------------------------------------------------------------------------------------------

TEST(LyingServer, CannotShrinkTheCohort) {
  {
    Table table;
    Table::Roster lie = table.roster();
    lie.resize(2);
    table.tell_roster(0, lie);
    table.expect_abort(0, AbortReason::kRosterTooSmall);
    lie = table.roster();
    lie.resize(4);
    table.tell_roster(1, lie);
    table.expect_abort(1, AbortReason::kRosterTooSmall);
  }
  {
    Table table;
    table.advance();
    Delivery few = table.delivery_for(3);
    few.sharing = ClientSet(5);
    for (const std::uint32_t i : {0U, 1U, 2U}) few.sharing.insert(i);
    few.sealed.resize(3);
    table.tell_delivery(3, few);
    table.expect_abort(3, AbortReason::kTooFewNeighbours);
  }
  {
    Table table;
    table.advance();
    table.advance();
    ClientSet lie(kClients);
    for (const std::uint32_t i : {0U, 1U}) lie.insert(i);
    table.tell_sharers(0, lie);
    table.expect_abort(0, AbortReason::kCohortTooSmall);
    lie.insert(2);
    table.tell_sharers(1, lie);
    table.expect_abort(1, AbortReason::kTooFewNeighbours);
    table.tell_sharers(2, table.all_but(2));
    table.expect_abort(2, AbortReason::kLeftOut);
  }
  {
    Table table;
    table.advance();
    table.advance();
    table.advance();
    ClientSet lie(kClients);
    for (const std::uint32_t i : {0U, 1U}) lie.insert(i);
    table.tell_survivors(0, lie);
    table.expect_abort(0, AbortReason::kCohortTooSmall);
    lie.insert(2);
    table.tell_survivors(1, lie);
    table.expect_abort(1, AbortReason::kTooFewNeighbours);
    table.tell_survivors(2, table.all_but(2));
    table.expect_abort(2, AbortReason::kLeftOut);
  }
}

TEST(LyingServer, CannotAddASurvivor) {
  Table table;
  table.advance();
  table.advance();
  table.tell_sharers(0, table.all_but(5));
  ASSERT_TRUE(table.last().has_value());
  table.tell_survivors(0, table.everyone());
  table.expect_abort(0, AbortReason::kNewSurvivor);
}

TEST(LyingServer, CannotForgeConfirmations) {
  Table table;
  table.advance();
  table.advance();
  table.advance();
  for (std::uint32_t i = 0; i < kClients; ++i) table.tell_survivors(i, table.everyone());
  // Made-up signatures, and one true signature in everyone's name.
  const Signature true_one = parse_confirmation(parse_envelope(table.last().value())->body).value();
  std::vector<Confirmation> lie;
  for (std::uint32_t i = 1; i < kClients; ++i) lie.push_back({i, true_one});
  table.tell_confirmations(0, lie);
  table.expect_abort(0, AbortReason::kNotConfirmed);
  // The same one twice, out of order, or the client's own.
  lie.back() = lie[0];
  table.tell_confirmations(1, lie);
  table.expect_abort(1, AbortReason::kMalformed);
}

TEST(LyingServer, CannotSendMessagesOutOfOrder) {
  Table table;
  table.tell_survivors(0, table.everyone());
  table.expect_abort(0, AbortReason::kNotDue);
  table.tell_confirmations(1, {});
  table.expect_abort(1, AbortReason::kNotDue);
}

TEST(LyingServer, GetsNoMaskedInputWithoutInput) {
  Table table(ThreatModel::kLyingServer, 4, 1, kClients, kClients - 1, false);
  EXPECT_FALSE(table.client(0).set_input(LaneVector(5, 16)).has_value());
  EXPECT_FALSE(table.client(0).set_input(LaneVector(4, 17)).has_value());
  table.advance();
  table.advance();
  table.tell_sharers(0, table.everyone());
  table.expect_abort(0, AbortReason::kNoInput);
}

TEST(LyingServer, IsTurnedAwayWithoutAuthenticMessages) {
  Table table;
  Message message = table.honest(0);
  for (std::size_t at = 0; at < message.size(); at += 7) {
    Message changed = message;
    changed[at] ^= 1U;
    EXPECT_FALSE(table.client(0).receive(changed).has_value()) << at;
  }
  EXPECT_EQ(table.client(1).receive(message).error(), error_of(AbortReason::kNotAuthentic));
  EXPECT_EQ(table.client(0).receive(table.client(0).advertisement()).error(), error_of(AbortReason::kNotAuthentic));
  EXPECT_FALSE(table.client(0).aborted().has_value());
  EXPECT_TRUE(table.client(0).receive(message).has_value());
}

}  // namespace
}  // namespace noisefloor::secagg
