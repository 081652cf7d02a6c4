#include "noisefloor/secagg/client.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/aead.h"
#include "noisefloor/crypto/shamir.h"
#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"

namespace noisefloor::secagg {
namespace {

void fill(BitStream& stream, std::span<std::uint8_t> out) { stream.fill(std::as_writable_bytes(out)); }

Secret32 draw_secret(BitStream& stream) {
  Secret32 secret;
  fill(stream, secret.bytes());
  return secret;
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Corrupt clients are a share of the registry, and the server may leave out honest ones: what holds for every roster of
// the minimum size holds for the one that comes.
bool is_secure(const Policy& policy, const RoundConfig& config) {
  const Assumptions assumptions{.clients = config.clients,
                                .corrupt = policy.corrupt,
                                .drop = policy.drop,
                                .threat = config.threat,
                                .security_bits = policy.security_bits,
                                .minimum_roster = config.minimum_roster,
                                .grinding_bits = policy.grinding_bits};
  const auto topology = evaluate_topology(assumptions, config.degree, config.threshold);
  return topology.has_value() && topology.value().log2_insecure <= -policy.security_bits;
}

// Whether all clients and all keys of a roster are distinct, the former in order.
bool is_distinct(const Roster& roster) {
  std::vector<AgreementPublicKey> keys;
  keys.reserve(2 * roster.size());
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (i > 0 && roster[i - 1].client >= roster[i].client) return false;
    keys.push_back(roster[i].channel_key);
    keys.push_back(roster[i].mask_key);
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

}  // namespace

struct Client::Answer {
  Answer(Message message) : value(std::move(message)) {}  // NOLINT(google-explicit-constructor)
  Answer(AbortReason reason) : value(reason) {}           // NOLINT(google-explicit-constructor)
  std::variant<Message, AbortReason> value;
};

Result<Client> Client::join(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                            const SigningKey& key, const Policy& policy, BitStream& stream) {
  if (!check_config(config).has_value() || config.clients != registry.size() ||
      config.registry != digest_of(registry)) {
    return error_of(AbortReason::kConfigurationRefused);
  }
  if (number >= registry.size() || registry[number] != key.public_key()) return error_of(AbortReason::kUnknownClient);
  if (config.threat < policy.threat) return error_of(AbortReason::kThreatModelRefused);
  if (policy.last_round.has_value() && config.round <= *policy.last_round) return error_of(AbortReason::kOldRound);
  if (config.minimum_cohort < policy.minimum_cohort) return error_of(AbortReason::kCohortTooSmall);
  if (!is_secure(policy, config)) return error_of(AbortReason::kThresholdTooLow);
  Client client(config, registry, number, key, policy, stream);
  auto agreed = client.channel_keys_->agree(config.server);
  if (!agreed.has_value()) return error_of(AbortReason::kBadKey);
  client.channel_ = channel_key(agreed.value(), digest_of(config));
  return client;
}

Result<Client> Client::accept(Bytes invitation, const Registry& registry, std::uint32_t number, const SigningKey& key,
                              const Policy& policy, BitStream& stream) {
  const std::optional<Envelope> envelope = parse_envelope(invitation);
  if (!envelope.has_value() || envelope->type != MessageType::kInvitation) return error_of(AbortReason::kMalformed);
  const std::optional<Invitation> invited = parse_invitation(*envelope);
  if (!invited.has_value()) return error_of(AbortReason::kMalformed);
  if (!policy.server.has_value() ||
      !verify_signature(*policy.server, signed_invitation(invited->config), invited->signature)) {
    return error_of(AbortReason::kNotInvited);
  }
  return join(invited->config, registry, number, key, policy, stream);
}

Client::Client(const RoundConfig& config, const Registry& registry, std::uint32_t number, const SigningKey& key,
               const Policy& policy, BitStream& stream)
    : config_(config), registry_(&registry), number_(number), key_(&key), policy_(policy), stream_(&stream) {
  channel_keys_.emplace(draw_secret(stream));
  mask_keys_.emplace(draw_secret(stream));
  advertised_ = {number, channel_keys_->public_key(), mask_keys_->public_key(), {}};
  advertised_.signature = key.sign(signed_keys(digest_of(config), advertised_));
  advertisement_ = to_message(advertised_);
}

Result<void> Client::set_input(LaneVector input) {
  if (input.dimension() != config_.dimension || input.bits() != config_.bits) {
    return invalid_argument("the input has another dimension or modulus than the round's configuration");
  }
  input_ = std::move(input);
  return success();
}

Result<Message> Client::receive(Bytes message) {
  if (aborted_.has_value()) return error_of(*aborted_);
  const std::optional<Envelope> envelope = parse_envelope(message);
  if (!envelope.has_value()) return error_of(AbortReason::kMalformed);
  if (envelope->tag.empty() || envelope->client != number_ || !is_authentic(*envelope, channel_)) {
    return error_of(AbortReason::kNotAuthentic);
  }
  const Digest digest = blake2b(text_of(message));
  if (const auto before = answered_.find(envelope->type); before != answered_.end()) {
    if (before->second != digest) return abort(AbortReason::kOtherStory);
    if (before != std::prev(answered_.end())) return error_of(AbortReason::kNotDue);
    return last_answer_;
  }
  if (envelope->type != due_ || done_) return abort(AbortReason::kNotDue);
  Answer given = answer(*envelope);
  if (const auto* reason = std::get_if<AbortReason>(&given.value)) return abort(*reason);
  answered_.emplace(envelope->type, digest);
  last_answer_ = std::get<Message>(std::move(given.value));
  return last_answer_;
}

Client::Answer Client::answer(const Envelope& envelope) {
  switch (envelope.type) {
    case MessageType::kRoster:
      return share_keys(envelope.body);
    case MessageType::kDelivery:
      return mask_input(envelope.body);
    case MessageType::kSurvivors:
      return hear_survivors(envelope.body);
    case MessageType::kConfirmations:
      return hear_confirmations(envelope.body);
    default:
      return AbortReason::kNotDue;
  }
}

Client::Answer Client::share_keys(Bytes body) {
  const std::optional<Roster> roster = parse_roster(body, config_.clients);
  if (!roster.has_value()) return AbortReason::kMalformed;
  const auto clients = static_cast<std::uint32_t>(roster->size());
  if (clients < config_.minimum_roster) return AbortReason::kRosterTooSmall;
  if (clients - 1 < config_.threshold) return AbortReason::kTooFewNeighbours;
  if (!is_distinct(*roster)) return AbortReason::kDuplicate;
  if (roster->back().client >= config_.clients) return AbortReason::kUnknownClient;
  const auto own = std::find(roster->begin(), roster->end(), advertised_);
  if (own == roster->end()) return AbortReason::kOwnKeysChanged;

  const Digest config = digest_of(config_);
  roster_clients_ = clients;
  place_ = static_cast<std::uint32_t>(own - roster->begin());
  context_ = context_of(config, body);
  const Graph graph(clients, degree_among(config_, clients), graph_seed(context_));
  neighbours_ = graph.neighbours(place_);
  committee_ = graph.committee();
  for (const std::uint32_t place : committee_) committee_numbers_.push_back((*roster)[place].client);
  std::vector<std::uint32_t> points;
  for (const std::uint32_t place : neighbours_) {
    const Advertisement& keys = (*roster)[place];
    if (!verify_signature((*registry_)[keys.client], signed_keys(config, keys), keys.signature)) {
      return AbortReason::kBadSignature;
    }
    auto agreed = channel_keys_->agree(keys.channel_key);
    if (!agreed.has_value()) return AbortReason::kBadKey;
    known_.push_back({keys, std::move(agreed).value(), {}, {}});
    points.push_back(place + 1);
  }

  own_ = draw_secret(*stream_);
  const FillUniform uniform = [this](std::span<std::uint8_t> out) { fill(*stream_, out); };
  const auto mask_key_shares = share_secret(mask_keys_->secret(), config_.threshold, points, uniform);
  const auto own_mask_shares = share_secret(own_, config_.threshold, points, uniform);
  NF_CHECK(mask_key_shares.has_value() && own_mask_shares.has_value(), "threshold and points were checked");
  std::vector<SealedShares> sealed(known_.size());
  for (std::size_t i = 0; i < known_.size(); ++i) {
    Secret<2 * kShareBytes> both;
    const auto middle = std::copy_n(mask_key_shares.value()[i].bytes().begin(), kShareBytes, both.bytes().begin());
    std::copy_n(own_mask_shares.value()[i].bytes().begin(), kShareBytes, middle);
    const Secret32 key = share_key(known_[i].agreed, context_, number_, known_[i].keys.client);
    const std::vector<std::uint8_t> box = seal(key, {}, both.bytes());
    std::copy(box.begin(), box.end(), sealed[i].begin());
  }
  due_ = MessageType::kDelivery;
  return shares_message(number_, sealed, channel_);
}

Client::Answer Client::mask_input(Bytes body) {
  std::optional<Delivery> delivery = parse_delivery(body, roster_clients_, neighbours_);
  if (!delivery.has_value()) return AbortReason::kMalformed;
  if (!delivery->sharing.contains(place_)) return AbortReason::kLeftOut;
  if (delivery->sharing.size() < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
  if (delivery->sealed.size() < config_.threshold) return AbortReason::kTooFewNeighbours;
  if (!input_.has_value()) return AbortReason::kNoInput;

  std::vector<Mask> masks;
  masks.push_back({own_seed(own_, context_, number_), false});
  auto box = delivery->sealed.begin();
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!delivery->sharing.contains(neighbours_[i])) continue;
    Neighbour& neighbour = known_[i];
    const std::uint32_t other = neighbour.keys.client;
    Secret<2 * kShareBytes> both;
    const Secret32 key = share_key(neighbour.agreed, context_, other, number_);
    if (!open_sealed(key, {}, *box++, both.bytes())) return AbortReason::kSharesUnreadable;
    const auto first = both.bytes().first<kShareBytes>();
    const auto second = both.bytes().last<kShareBytes>();
    if (!is_share(first) || !is_share(second)) return AbortReason::kSharesUnreadable;
    std::copy(first.begin(), first.end(), neighbour.mask_key_share.emplace().bytes().begin());
    std::copy(second.begin(), second.end(), neighbour.own_mask_share.emplace().bytes().begin());
    const auto agreed = mask_keys_->agree(neighbour.keys.mask_key);
    if (!agreed.has_value()) return AbortReason::kBadKey;
    // The client with the lower place adds, the other subtracts.
    masks.push_back({pair_seed(agreed.value(), context_, number_, other), neighbours_[i] < place_});
  }
  apply_masks(masks, input_->lanes(), input_->lane_bytes());
  Message message = masked_input_message(number_, commitment(own_, context_, number_), *input_, channel_);
  sharing_ = std::move(delivery->sharing);
  input_.reset();
  mask_keys_.reset();
  own_ = Secret32();
  due_ = MessageType::kSurvivors;
  return message;
}

Client::Answer Client::hear_survivors(Bytes body) {
  survivors_ = ClientSet::parse(body, sharing_->clients());
  if (!survivors_.has_value()) return AbortReason::kMalformed;
  if (!sharing_->contains_all(*survivors_)) return AbortReason::kNewSurvivor;
  if (!survivors_->contains(place_)) return AbortReason::kLeftOut;
  if (survivors_->size() < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
  if (neighbours_in(*survivors_) < config_.threshold) return AbortReason::kTooFewNeighbours;
  if (config_.threat == ThreatModel::kCuriousServer) {
    done_ = true;
    return unmask();
  }
  due_ = MessageType::kConfirmations;
  return confirmation_message(number_, key_->sign(signed_survivors(context_, *sharing_, *survivors_)), channel_);
}

Client::Answer Client::hear_confirmations(Bytes body) {
  const auto confirmations = parse_confirmations(body, committee_);
  if (!confirmations.has_value()) return AbortReason::kMalformed;
  const std::string story = signed_survivors(context_, *sharing_, *survivors_);
  // All clients ask the same committee: two stories would need an honest member that signed both.
  std::uint32_t confirmed = 0;
  for (const Confirmation& each : *confirmations) {
    if (confirmed == config_.threshold) break;
    const auto at = std::lower_bound(committee_.begin(), committee_.end(), each.place) - committee_.begin();
    const std::uint32_t other = committee_numbers_[static_cast<std::size_t>(at)];
    if (survivors_->contains(each.place) && verify_signature((*registry_)[other], story, each.signature)) ++confirmed;
  }
  if (confirmed < config_.threshold) return AbortReason::kNotConfirmed;
  done_ = true;
  return unmask();
}

Client::Answer Client::unmask() const {
  std::vector<ShareBytes> shares;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!sharing_->contains(neighbours_[i])) continue;
    const Neighbour& neighbour = known_[i];
    shares.push_back(
        (survivors_->contains(neighbours_[i]) ? neighbour.own_mask_share : neighbour.mask_key_share)->clone());
  }
  return unmasking_message(number_, shares, channel_);
}

std::uint32_t Client::neighbours_in(const ClientSet& set) const {
  return static_cast<std::uint32_t>(
      std::count_if(neighbours_.begin(), neighbours_.end(), [&](std::uint32_t place) { return set.contains(place); }));
}

Error Client::abort(AbortReason reason) {
  aborted_ = reason;
  channel_keys_.reset();
  mask_keys_.reset();
  own_ = Secret32();
  channel_ = Secret32();
  wipe_private();
  input_.reset();
  known_.clear();
  last_answer_.clear();
  return error_of(reason);
}

void Client::wipe_private() {
  if (input_.has_value()) wipe(input_->lane_bytes());
  wipe(last_answer_);
}

}  // namespace noisefloor::secagg
