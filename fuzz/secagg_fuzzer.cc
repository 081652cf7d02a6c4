// Any bytes as a message of a secure sum: never a crash; what is accepted has one text; and whatever a client or a
// server is sent, rightly tagged, it answers, refuses or ends the round with a reason. The first byte says to whom, the
// second which message, the third how far the round has come, and the fourth in which round (on a complete graph, on a
// sparse one, or one of an epoch) and whether the rest is a body, or edits of the honest one: two bytes where, one
// what.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/roster_tree.h"
#include "noisefloor/secagg/simulation.h"
#include "noisefloor/secagg/wire.h"

namespace {

using namespace noisefloor;
using namespace noisefloor::secagg;

enum class Kind : std::uint8_t { kComplete, kSparse, kEpoch };

constexpr std::uint64_t kDimension = 5;
constexpr unsigned kBits = 7;
constexpr std::size_t kHeader = 4;

// A round of a kind, the same every time.
class Table {
 public:
  explicit Table(Kind kind)
      : stream_(ReplayRandom::create(1).value()), cohort_(Cohort::draw(kind == Kind::kSparse ? 9 : 4, stream_)) {
    policy_.corrupt = 0;
    policy_.epoch_rounds = 1;
    const Topology topology = kind == Kind::kSparse ? Topology{4, 3, 0, 0} : Topology{3, 3, 0, 0};
    config_ = cohort_.config(1, topology, ThreatModel::kLyingServer, 3, kDimension, kBits);
    server_.emplace(Server::create(config_, cohort_.registry, key()).value());
    for (std::uint32_t i = 0; i < config_.clients; ++i) {
      clients_.push_back(Client::join(config_, cohort_.registry, i, cohort_.keys[i], policy_, stream_).value());
    }
    const Advertisement keys = parse_advertisement(*parse_envelope(clients_[0].advertisement())).value();
    channel_ = channel_key(key().agree(keys.channel_key).value(), digest_of(config_));
    if (kind == Kind::kEpoch) resume();
    for (Client& each : clients_) {
      NF_CHECK(each.set_input(LaneVector(kDimension, kBits)).has_value(), "an input of the right shape");
    }
  }

  // Goes on by this many messages of each client. Client 0 says nothing in the last of these stages, and does not hear
  // the server's answer.
  void advance(int stages) {
    for (int stage = 0; stage <= stages; ++stage) {
      for (std::uint32_t i = stage == stages ? 1 : 0; i < clients_.size(); ++i) {
        NF_CHECK(server_->receive(honest_answer(i, stage)).has_value(), "an honest message is taken");
      }
      if (stage < stages) NF_CHECK(server_->close().has_value(), "an honest round goes on");
    }
  }

  // `body` as a message to or from client 0, with the right tag unless it has none.
  [[nodiscard]] Message message(std::uint8_t type, Bytes body) const {
    Writer out;
    out.bytes(std::vector<std::uint8_t>{'N', 'S', 2, type}).number(std::uint32_t{0}).bytes(body);
    if (type > static_cast<std::uint8_t>(MessageType::kAdvertisement))
      out.bytes(one_time_tag(tag_key(channel_, type), out.written()));
    return out.take();
  }
  // What client 0 would say in this stage.
  Message honest_answer(std::uint32_t i, int stage) {
    if (stage == 0) return clients_[i].advertisement();
    auto answer = clients_[i].receive(server_->message_for(i).value());
    NF_CHECK(answer.has_value(), "an honest message is answered");
    return std::move(answer).value();
  }

  Client& client() { return clients_[0]; }
  Server& server() { return *server_; }

 private:
  [[nodiscard]] AgreementKey key() const { return AgreementKey(cohort_.server.clone()); }

  // Plays the opening of an epoch until everyone has heard the roster, and makes its next round.
  void resume() {
    for (const Client& each : clients_) NF_CHECK(server_->receive(each.advertisement()).has_value(), "it is taken");
    NF_CHECK(server_->close().has_value(), "there is a roster");
    std::vector<ClientEpoch> epochs;
    for (std::uint32_t i = 0; i < clients_.size(); ++i) {
      static_cast<void>(honest_answer(i, 1));
      epochs.push_back(clients_[i].epoch().value());
    }
    const Message told = server_->message_for(0).value();
    const RosterPart roster = parse_roster(parse_envelope(told)->body, config_.clients).value();
    const Digest context = context_of(digest_of(config_), roster.root, roster.present.bytes());
    channel_ = KeyChain(server_chain(channel_, context, 0)).take(0);
    ServerEpoch epoch = server_->epoch().value();
    config_ = cohort_.config(2, {3, 3, 0, 0}, ThreatModel::kLyingServer, 3, kDimension, kBits);
    config_.epoch = epoch.terms().id;
    clients_.clear();
    for (std::uint32_t i = 0; i < config_.clients; ++i) {
      clients_.push_back(
          Client::resume(config_, cohort_.registry, epochs[i], cohort_.keys[i], policy_, stream_).value());
    }
    server_.emplace(Server::resume(config_, cohort_.registry, key(), epoch).value());
  }

  ReplayRandom stream_;
  Cohort cohort_;
  RoundConfig config_;
  Policy policy_;
  Secret32 channel_;  // of client 0
  std::optional<Server> server_;
  std::vector<Client> clients_;
};

void drive_parsers(Bytes bytes) {
  const auto same = [&](Bytes again) {
    NF_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "two texts");
  };
  const std::vector<std::uint32_t> neighbours = {1, 2, 4};
  const Secret32 channel;
  const auto body_of = [](const Message& message) { return parse_envelope(message)->body; };
  if (const auto config = parse_config(bytes)) same(to_bytes(*config));
  if (auto roster = parse_roster(bytes, 5); roster.has_value() && parse_neighbours(bytes, neighbours, *roster)) {
    same(body_of(roster_message(0, *roster, channel)));
    static_cast<void>(root_of(5, {{0, roster->root}, {3, roster->root}}, roster->proof));
  }
  Bytes shares = bytes;
  if (const auto deposit = take_deposit(shares, 3)) {
    if (const auto sealed = parse_shares(shares, 3)) same(body_of(shares_message(0, *deposit, *sealed, channel)));
  }
  if (const auto sealed = parse_shares(bytes, 3)) same(body_of(shares_message(0, *sealed, channel)));
  if (const auto delivery = parse_delivery(bytes, 5)) same(body_of(delivery_message(0, *delivery, channel)));
  if (const auto receipt = parse_receipt(bytes, 5)) same(body_of(receipt_message(0, *receipt, channel)));
  if (const auto set = ClientSet::parse(bytes, 5)) same(set->bytes());
  if (const auto signature = parse_confirmation(bytes)) same(*signature);
  if (const auto all = parse_confirmations(bytes, neighbours)) same(body_of(confirmations_message(0, *all, channel)));
  if (const auto given = parse_unmasking(bytes, 3, 1)) same(body_of(unmasking_message(0, *given, channel)));
  RoundConfig config;
  config.dimension = kDimension;
  config.bits = kBits;
  if (const auto input = parse_masked_input(bytes, config, 3)) {
    LaneVector vector(kDimension, kBits);
    vector.add_packed(input->packed);
    same(body_of(masked_input_message(0, input->commitment, input->prints, vector, channel)));
  }
  if (const auto envelope = parse_envelope(bytes)) {
    static_cast<void>(is_authentic(*envelope, channel));
    if (const auto keys = parse_advertisement(*envelope); keys.has_value() && envelope->tag.empty()) {
      if (envelope->type == MessageType::kAdvertisement) same(to_message(*keys));
    }
  }
}

// The honest body with some bytes changed.
std::vector<std::uint8_t> edited(const Message& honest, Bytes edits) {
  const Bytes body = parse_envelope(honest)->body;
  std::vector<std::uint8_t> result(body.begin(), body.end());
  Reader in(edits);
  while (in.left() >= 3 && !result.empty()) {
    const auto at = in.number<std::uint16_t>();
    result[at % result.size()] ^= in.number<std::uint8_t>();
  }
  return result;
}

void drive_client(Table& table, std::uint8_t type, int stages, bool edits, Bytes rest) {
  std::vector<std::uint8_t> body(rest.begin(), rest.end());
  if (edits && stages > 0) {
    const Message honest = table.server().message_for(0).value();
    type = honest[3];
    body = edited(honest, rest);
  }
  const Message message = table.message(type, body);
  const auto answer = table.client().receive(message);
  if (answer.has_value()) {
    NF_CHECK(table.client().receive(message).value() == answer.value(), "the same message gets the same answer");
  } else {
    NF_CHECK(!answer.error().message.empty(), "a refusal without a reason");
  }
}

void drive_server(Table& table, std::uint8_t type, int stages, bool edits, Bytes rest) {
  std::vector<std::uint8_t> body(rest.begin(), rest.end());
  if (edits) {
    const Message honest = table.honest_answer(0, stages);
    type = honest[3];
    body = edited(honest, rest);
  }
  const std::uint32_t before = table.server().arrived();
  const bool taken = table.server().receive(table.message(type, body)).has_value();
  NF_CHECK(table.server().arrived() == before + (taken ? 1 : 0), "a message that was turned away changes nothing");
  if (taken) NF_CHECK(!table.server().receive(table.message(type, body)).has_value(), "a message counts once");
  while (table.server().close().has_value() && table.server().stage() != Stage::kDone) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeader) return 0;
  const Bytes rest(data + kHeader, size - kHeader);
  const auto kind = static_cast<Kind>(data[3] % 3);
  const bool edits = data[3] >= 128;
  // A round of an epoch has no advertisements.
  const int stages = data[2] % (kind == Kind::kEpoch ? 5 : 6);
  if (data[0] % 3 == 0) {
    drive_parsers(rest);
    return 0;
  }
  Table table(kind);
  table.advance(stages);
  if (data[0] % 3 == 1) {
    drive_client(table, data[1], stages, edits, rest);
  } else {
    drive_server(table, data[1], stages, edits, rest);
  }
  return 0;
}
