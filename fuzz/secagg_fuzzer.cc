// Any bytes as a message of a secure sum: never a crash; what is accepted has one text; and whatever a client or a
// server is sent, rightly tagged, it answers, refuses or ends the round with a reason. The first byte says to whom, the
// second which message, the third how far the round has come.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/simulation.h"
#include "noisefloor/secagg/wire.h"

namespace {

using namespace noisefloor;
using namespace noisefloor::secagg;

constexpr std::uint32_t kClients = 4;

// A round of four, the same every time.
class Table {
 public:
  Table()
      : stream_(ReplayRandom::create(1).value()),
        cohort_(Cohort::draw(kClients, stream_)),
        config_(cohort_.config(1, {kClients - 1, 3, 0, 0}, ThreatModel::kLyingServer, 3, 5, 7)),
        server_(Server::create(config_, cohort_.registry, AgreementKey(cohort_.server.clone())).value()) {
    policy_.corrupt = 0;
    for (std::uint32_t i = 0; i < kClients; ++i) {
      clients_.push_back(Client::join(config_, cohort_.registry, i, cohort_.keys[i], policy_, stream_).value());
      NF_CHECK(clients_[i].set_input(LaneVector(5, 7)).has_value(), "an input of the right shape");
    }
  }

  // Client 0 says nothing in the last of these stages, and does not hear the server's answer.
  void advance(int stages) {
    for (int stage = 0; stage <= stages; ++stage) {
      for (std::uint32_t i = stage == stages ? 1 : 0; i < kClients; ++i) {
        if (stage == 0) {
          NF_CHECK(server_.receive(clients_[i].advertisement()).has_value(), "an honest message is taken");
        } else {
          auto answer = clients_[i].receive(server_.message_for(i).value());
          NF_CHECK(answer.has_value() && server_.receive(answer.value()).has_value(), "an honest message is taken");
        }
      }
      if (stage < stages) NF_CHECK(server_.close().has_value(), "an honest round goes on");
    }
  }

  // `body` as a message to or from client 0, with the right tag unless it has none.
  Message message(std::uint8_t type, Bytes body) {
    const Advertisement keys = parse_advertisement(*parse_envelope(clients_[0].advertisement())).value();
    const Secret32 channel =
        channel_key(AgreementKey(cohort_.server.clone()).agree(keys.channel_key).value(), digest_of(config_));
    Writer out;
    out.bytes(std::vector<std::uint8_t>{'N', 'S', 2, type}).number(std::uint32_t{0}).bytes(body);
    if (type > static_cast<std::uint8_t>(MessageType::kAdvertisement))
      out.bytes(one_time_tag(tag_key(channel, type), out.written()));
    return out.take();
  }

  Client& client() { return clients_[0]; }
  Server& server() { return server_; }

 private:
  ReplayRandom stream_;
  Cohort cohort_;
  RoundConfig config_;
  Policy policy_;
  Server server_;
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
  if (const auto roster = parse_roster(bytes, 5)) same(to_bytes(*roster));
  if (const auto sealed = parse_shares(bytes, 3)) same(body_of(shares_message(0, *sealed, channel)));
  if (const auto delivery = parse_delivery(bytes, 5, neighbours))
    same(body_of(delivery_message(0, *delivery, channel)));
  if (const auto set = ClientSet::parse(bytes, 5)) same(set->bytes());
  if (const auto signature = parse_confirmation(bytes)) same(*signature);
  if (const auto all = parse_confirmations(bytes, neighbours)) same(body_of(confirmations_message(0, *all, channel)));
  if (const auto shares = parse_unmasking(bytes, 3)) NF_CHECK(shares->size() == 3, "three shares");
  RoundConfig config;
  config.dimension = 5;
  config.bits = 7;
  if (const auto input = parse_masked_input(bytes, config)) {
    LaneVector vector(5, 7);
    vector.add_packed(input->packed);
    same(body_of(masked_input_message(0, input->commitment, vector, channel)));
  }
  if (const auto envelope = parse_envelope(bytes)) {
    static_cast<void>(is_authentic(*envelope, channel));
    if (envelope->type == MessageType::kAdvertisement) {
      if (const auto keys = parse_advertisement(*envelope)) same(to_message(*keys));
    }
  }
}

void drive_client(std::uint8_t type, int stages, Bytes body) {
  Table table;
  table.advance(stages);
  const Message message = table.message(type, body);
  const auto answer = table.client().receive(message);
  if (answer.has_value()) {
    NF_CHECK(table.client().receive(message).value() == answer.value(), "the same message gets the same answer");
  } else {
    NF_CHECK(!answer.error().message.empty(), "a refusal without a reason");
  }
}

void drive_server(std::uint8_t type, int stages, Bytes body) {
  Table table;
  table.advance(stages);
  const std::uint32_t before = table.server().arrived();
  const bool taken = table.server().receive(table.message(type, body)).has_value();
  NF_CHECK(table.server().arrived() == before + (taken ? 1 : 0), "a message that was turned away changes nothing");
  if (taken) NF_CHECK(!table.server().receive(table.message(type, body)).has_value(), "a message counts once");
  static_cast<void>(table.server().close());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Bytes body(data + 3, size - 3);
  const int stages = data[2] % 5;
  switch (data[0] % 3) {
    case 0:
      drive_parsers(body);
      break;
    case 1:
      drive_client(data[1], stages, body);
      break;
    default:
      drive_server(data[1], stages, body);
      break;
  }
  return 0;
}
