#include "noisefloor/secagg/client.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/aead.h"
#include "noisefloor/crypto/shamir.h"
#include "noisefloor/crypto/share_check.h"
#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/roster_tree.h"
#include "noisefloor/secagg/round_noise.h"

namespace noisefloor::secagg {
namespace {

void fill(BitStream& stream, std::span<std::uint8_t> out) { stream.fill(std::as_writable_bytes(out)); }

Secret32 draw_secret(BitStream& stream) {
  Secret32 secret;
  fill(stream, secret.bytes());
  return secret;
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool keeps_noise(const Policy& policy, const RoundConfig& config) {
  if (!config.noise.has_value()) return !policy.noise.has_value();
  if (policy.noise.has_value() && config.noise->multiplier < *policy.noise) return false;
  return config.noise->colluders >= corrupt_clients(policy.corrupt, config.clients) && noise_of(config).has_value();
}

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

// Whether all keys that the client sees are distinct.
bool are_distinct(const Advertisement& own, const std::vector<Advertisement>& others) {
  std::vector<AgreementPublicKey> keys{own.channel_key, own.mask_key};
  for (const Advertisement& each : others) {
    keys.push_back(each.channel_key);
    keys.push_back(each.mask_key);
  }
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

// The registry's numbers of those who are present, by place.
std::vector<std::uint32_t> numbers_of(const ClientSet& present) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; number < present.clients(); ++number) {
    if (present.contains(number)) numbers.push_back(number);
  }
  return numbers;
}

// Whether the neighbours' keys and the client's own are those of the roster's tree.
bool are_in_the_tree(const RosterPart& roster, const Advertisement& own) {
  std::vector<ProvenLeaf> leaves{{own.client, roster_leaf(to_bytes(own))}};
  for (const Advertisement& each : roster.neighbours) leaves.push_back({each.client, roster_leaf(to_bytes(each))});
  std::sort(leaves.begin(), leaves.end(), [](const ProvenLeaf& a, const ProvenLeaf& b) { return a.number < b.number; });
  return root_of(roster.present.clients(), std::move(leaves), roster.proof) == roster.root;
}

}  // namespace

struct Client::Answer {
  Answer(Message message) : value(std::move(message)) {}  // NOLINT(google-explicit-constructor)
  Answer(AbortReason reason) : value(reason) {}           // NOLINT(google-explicit-constructor)
  std::variant<Message, AbortReason> value;
};

Result<Client> Client::join(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                            const SigningKey& key, const Policy& policy, SecureRandom& stream) {
  if (config.replayed) return error_of(AbortReason::kReplayRefused);
  return join_by(config, registry, number, key, policy, stream);
}

Result<Client> Client::join(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                            const SigningKey& key, const Policy& policy, ReplayRandom& stream) {
  if (!config.replayed) return error_of(AbortReason::kReplayRefused);
  return join_by(config, registry, number, key, policy, stream);
}

// Whether a client of this number and policy may take part in a round of this configuration.
Result<void> Client::check(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                           const SigningKey& key, const Policy& policy) {
  if (!check_config(config).has_value() || config.clients != registry.size() ||
      config.registry != digest_of(registry)) {
    return error_of(AbortReason::kConfigurationRefused);
  }
  if (number >= registry.size() || registry[number] != key.public_key()) return error_of(AbortReason::kUnknownClient);
  if (config.threat < policy.threat) return error_of(AbortReason::kThreatModelRefused);
  if (policy.last_round.has_value() && config.round <= *policy.last_round) return error_of(AbortReason::kOldRound);
  if (config.minimum_cohort < policy.minimum_cohort) return error_of(AbortReason::kCohortTooSmall);
  if (!keeps_noise(policy, config)) return error_of(AbortReason::kNoiseRefused);
  if (!is_secure(policy, config)) return error_of(AbortReason::kThresholdTooLow);
  return success();
}

Result<Client> Client::join_by(const RoundConfig& config, const Registry& registry, std::uint32_t number,
                               const SigningKey& key, const Policy& policy, BitStream& stream) {
  NF_TRY_VOID(check(config, registry, number, key, policy));
  if (config.epoch != Digest{}) return error_of(AbortReason::kEpochRefused);
  Client client(config, registry, number, key, policy, stream);
  client.draw_keys();
  auto agreed = client.channel_keys_->agree(config.server);
  if (!agreed.has_value()) return error_of(AbortReason::kBadKey);
  client.channel_ = channel_key(agreed.value(), digest_of(config));
  return client;
}

Result<Client> Client::resume(const RoundConfig& config, const Registry& registry, ClientEpoch& epoch,
                              const SigningKey& key, const Policy& policy, SecureRandom& stream) {
  if (config.replayed) return error_of(AbortReason::kReplayRefused);
  return resume_by(config, registry, epoch, key, policy, stream);
}

Result<Client> Client::resume(const RoundConfig& config, const Registry& registry, ClientEpoch& epoch,
                              const SigningKey& key, const Policy& policy, ReplayRandom& stream) {
  if (!config.replayed) return error_of(AbortReason::kReplayRefused);
  return resume_by(config, registry, epoch, key, policy, stream);
}

Result<Client> Client::resume_by(const RoundConfig& config, const Registry& registry, ClientEpoch& epoch,
                                 const SigningKey& key, const Policy& policy, BitStream& stream) {
  NF_TRY_VOID(check(config, registry, epoch.number_, key, policy));
  EpochTerms& terms = epoch.terms_;
  if (config.epoch != terms.id || config.registry != terms.registry) return error_of(AbortReason::kEpochRefused);
  if (config.round < terms.next_round) return error_of(AbortReason::kOldRound);
  if (!terms.can_follow(config.round) || config.round - terms.first_round > policy.epoch_rounds) {
    return error_of(AbortReason::kEpochRefused);
  }
  const std::vector<std::uint32_t> numbers = numbers_of(terms.present);
  const auto clients = static_cast<std::uint32_t>(numbers.size());
  if (clients < config.minimum_roster) return error_of(AbortReason::kRosterTooSmall);
  if (degree_among(config, clients) + 1 != clients) return error_of(AbortReason::kEpochRefused);
  if (clients - 1 < config.threshold) return error_of(AbortReason::kTooFewNeighbours);

  Client client(config, registry, epoch.number_, key, policy, stream);
  const std::uint64_t index = terms.index_of(config.round);
  terms.next_round = config.round + 1;
  client.began_epoch_ = true;
  client.channel_ = epoch.server_->take(index);
  client.context_ = context_of(digest_of(config), terms.id, terms.present.bytes());
  client.stand_on(Graph(clients, clients - 1, graph_seed(client.context_)), numbers);
  for (ClientEpoch::Member& other : epoch.others_) {
    client.known_.push_back({{other.number, {}, {}, {}}, other.chain.take(index), {}, {}, {}});
  }
  client.deposit_ = draw_secret(stream);
  client.advertisement_ = client.share_secrets();
  return client;
}

Result<ClientEpoch> Client::epoch() {
  const bool is_complete = neighbours_.size() + 1 == roster_clients_;
  if (began_epoch_ || aborted_.has_value() || known_.empty() || !is_complete) {
    return error_of(AbortReason::kEpochRefused);
  }
  began_epoch_ = true;
  ClientEpoch epoch;
  epoch.terms_ = {epoch_id(context_), config_.registry, config_.round, config_.round + 1, present_};
  epoch.number_ = number_;
  for (const Neighbour& each : known_) {
    epoch.others_.push_back({each.keys.client, KeyChain(pair_chain(each.agreed, context_, number_, each.keys.client))});
  }
  epoch.server_.emplace(server_chain(channel_, context_, number_));
  return epoch;
}

Result<RoundConfig> Client::invited_to(Bytes invitation, const Policy& policy) {
  const std::optional<Envelope> envelope = parse_envelope(invitation);
  if (!envelope.has_value() || envelope->type != MessageType::kInvitation) return error_of(AbortReason::kMalformed);
  const std::optional<Invitation> invited = parse_invitation(*envelope);
  if (!invited.has_value()) return error_of(AbortReason::kMalformed);
  if (!policy.server.has_value() ||
      !verify_signature(*policy.server, signed_invitation(invited->config), invited->signature)) {
    return error_of(AbortReason::kNotInvited);
  }
  return invited->config;
}

Client::Client(const RoundConfig& config, const Registry& registry, std::uint32_t number, const SigningKey& key,
               const Policy& policy, BitStream& stream)
    : config_(config), registry_(&registry), number_(number), key_(&key), policy_(policy), stream_(&stream) {}

void Client::draw_keys() {
  channel_keys_.emplace(draw_secret(*stream_));
  mask_keys_.emplace(draw_secret(*stream_));
  advertised_ = {number_, channel_keys_->public_key(), mask_keys_->public_key(), {}};
  advertised_.signature = key_->sign(signed_keys(digest_of(config_), advertised_));
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
  wipe(last_answer_);
  last_answer_ = std::get<Message>(std::move(given.value));
  return last_answer_;
}

Client::Answer Client::answer(const Envelope& envelope) {
  switch (envelope.type) {
    case MessageType::kRoster:
      return hear_roster(envelope.body);
    case MessageType::kDelivery:
      return open_shares(envelope.body);
    case MessageType::kSharers:
      return mask_input(envelope.body);
    case MessageType::kSurvivors:
      return hear_survivors(envelope.body);
    case MessageType::kConfirmations:
      return hear_confirmations(envelope.body);
    default:
      return AbortReason::kNotDue;
  }
}

Client::Answer Client::hear_roster(Bytes body) {
  std::optional<RosterPart> roster = parse_roster(body, config_.clients);
  if (!roster.has_value()) return AbortReason::kMalformed;
  if (!roster->present.contains(number_)) return AbortReason::kLeftOut;
  const std::vector<std::uint32_t> numbers = numbers_of(roster->present);
  const auto clients = static_cast<std::uint32_t>(numbers.size());
  if (clients < config_.minimum_roster) return AbortReason::kRosterTooSmall;
  if (clients - 1 < config_.threshold) return AbortReason::kTooFewNeighbours;

  const Digest config = digest_of(config_);
  context_ = context_of(config, roster->root, roster->present.bytes());
  present_ = roster->present;
  stand_on(Graph(clients, degree_among(config_, clients), graph_seed(context_)), numbers);
  std::vector<std::uint32_t> neighbours;
  for (const std::uint32_t place : neighbours_) neighbours.push_back(numbers[place]);
  if (!parse_neighbours(body, neighbours, *roster)) return AbortReason::kMalformed;
  if (!are_in_the_tree(*roster, advertised_)) return AbortReason::kNotInTheTree;
  if (!are_distinct(advertised_, roster->neighbours)) return AbortReason::kDuplicate;
  for (const Advertisement& keys : roster->neighbours) {
    if (!verify_signature((*registry_)[keys.client], signed_keys(config, keys), keys.signature)) {
      return AbortReason::kBadSignature;
    }
    auto agreed = channel_keys_->agree(keys.channel_key);
    if (!agreed.has_value()) return AbortReason::kBadKey;
    known_.push_back({keys, std::move(agreed).value(), {}, {}, {}});
  }
  return share_secrets();
}

void Client::stand_on(const Graph& graph, const std::vector<std::uint32_t>& numbers) {
  roster_clients_ = graph.clients();
  place_ = static_cast<std::uint32_t>(std::lower_bound(numbers.begin(), numbers.end(), number_) - numbers.begin());
  neighbours_ = graph.neighbours(place_);
  committee_ = graph.committee();
  for (const std::uint32_t place : committee_) committee_numbers_.push_back(numbers[place]);
}

Message Client::share_secrets() {
  std::vector<std::uint32_t> points;
  for (const std::uint32_t place : neighbours_) points.push_back(place + 1);
  own_ = draw_secret(*stream_);
  const FillUniform uniform = [this](std::span<std::uint8_t> out) { fill(*stream_, out); };
  const auto mask_key_shares =
      share_secret(deposit_.has_value() ? *deposit_ : mask_keys_->secret(), config_.threshold, points, uniform);
  const auto own_mask_shares = share_secret(own_, config_.threshold, points, uniform);
  const auto blinding = draw_blinding(config_.threshold, points, uniform);
  NF_CHECK(mask_key_shares.has_value() && own_mask_shares.has_value() && blinding.has_value(),
           "threshold and points were checked");
  std::vector<SealedShares> sealed(known_.size());
  for (std::size_t i = 0; i < known_.size(); ++i) {
    Secret<kBoxBytes> box;
    auto at = box.bytes().begin();
    for (const Bytes part : {Bytes(mask_key_shares.value()[i].bytes()), Bytes(own_mask_shares.value()[i].bytes()),
                             Bytes(blinding.value()[i].bytes())}) {
      at = std::copy(part.begin(), part.end(), at);
    }
    const Secret32 key = share_key(known_[i].agreed, context_, number_, known_[i].keys.client);
    const std::vector<std::uint8_t> closed = seal(key, {}, box.bytes());
    std::copy(closed.begin(), closed.end(), sealed[i].begin());
  }
  due_ = MessageType::kDelivery;
  if (!deposit_.has_value()) return shares_message(number_, sealed, channel_);
  Deposit deposit{deposit_commitment(*deposit_, context_, number_), {}};
  std::vector<MaskSeed> hidden;
  for (Neighbour& each : known_) {
    each.seed = pair_seed(each.agreed, context_, number_, each.keys.client);
    hidden.push_back(deposited(*each.seed, *deposit_, context_, number_, each.keys.client));
  }
  for (const MaskSeed& seed : hidden) deposit.seeds.emplace_back(seed.bytes());
  return shares_message(number_, deposit, sealed, channel_);
}

Client::Answer Client::open_shares(Bytes body) {
  const std::optional<Delivery> delivery = parse_delivery(body, static_cast<std::uint32_t>(neighbours_.size()));
  if (!delivery.has_value()) return AbortReason::kMalformed;
  // One question for everyone: answers to several would say something of the secrets.
  if (challenge_commitment(delivery->nonce) != config_.challenge) return AbortReason::kOtherChallenge;
  const CheckCoefficients coefficients = challenge_coefficients(delivery->nonce, context_);
  Receipt receipt{ClientSet(static_cast<std::uint32_t>(neighbours_.size()))};
  auto sealed = delivery->sealed.begin();
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    if (!delivery->sharing.contains(i)) continue;
    Neighbour& neighbour = known_[i];
    Secret<kBoxBytes> box;
    const Secret32 key = share_key(neighbour.agreed, context_, neighbour.keys.client, number_);
    if (!open_sealed(key, {}, *sealed++, box.bytes())) continue;
    const Bytes first = Bytes(box.bytes()).first(kShareBytes);
    const Bytes second = Bytes(box.bytes()).subspan(kShareBytes, kShareBytes);
    const Bytes blinding = Bytes(box.bytes()).last(kCheckBytes);
    if (!is_share(first) || !is_share(second) || !is_check_value(blinding)) continue;
    std::copy(first.begin(), first.end(), neighbour.mask_key_share.emplace().bytes().begin());
    std::copy(second.begin(), second.end(), neighbour.own_mask_share.emplace().bytes().begin());
    receipt.opened.insert(i);
    receipt.answers.push_back(check_value(first, second, blinding, coefficients));
  }
  if (receipt.answers.size() < config_.threshold) return AbortReason::kTooFewNeighbours;
  due_ = MessageType::kSharers;
  return receipt_message(number_, receipt, channel_);
}

Client::Answer Client::mask_input(Bytes body) {
  sharing_ = ClientSet::parse(body, roster_clients_);
  if (!sharing_.has_value()) return AbortReason::kMalformed;
  if (!sharing_->contains(place_)) return AbortReason::kLeftOut;
  if (sharing_->size() < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
  if (neighbours_in(*sharing_) < config_.threshold) return AbortReason::kTooFewNeighbours;
  if (!input_.has_value()) return AbortReason::kNoInput;

  std::vector<Mask> masks;
  masks.push_back({own_seed(own_, context_, number_), false});
  std::vector<std::uint8_t> prints;
  prints.reserve(kPrintBytes * known_.size());
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!sharing_->contains(neighbours_[i])) continue;
    Neighbour& neighbour = known_[i];
    if (!neighbour.mask_key_share.has_value()) return AbortReason::kSharesUnreadable;
    if (!neighbour.seed.has_value()) {
      const auto agreed = mask_keys_->agree(neighbour.keys.mask_key);
      if (!agreed.has_value()) return AbortReason::kBadKey;
      neighbour.seed = pair_seed(agreed.value(), context_, number_, neighbour.keys.client);
    }
    const MaskPrint print = print_of(*neighbour.seed, context_);
    prints.insert(prints.end(), print.begin(), print.end());
    // The client with the lower place adds, the other subtracts.
    masks.push_back({neighbour.seed->clone(), neighbours_[i] < place_});
  }
  apply_masks(masks, input_->lanes(), input_->lane_bytes());
  Message message = masked_input_message(number_, commitment(own_, context_, number_), prints, *input_, channel_);
  wipe(input_->lane_bytes());
  input_.reset();
  mask_keys_.reset();
  deposit_.reset();
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
  Unmasking unmasking;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!sharing_->contains(neighbours_[i])) continue;
    const Neighbour& neighbour = known_[i];
    if (survivors_->contains(neighbours_[i])) {
      unmasking.shares.push_back(neighbour.own_mask_share->bytes());
    } else {
      unmasking.shares.push_back(neighbour.mask_key_share->bytes());
      unmasking.seeds.push_back(neighbour.seed->bytes());
    }
  }
  return unmasking_message(number_, unmasking, channel_);
}

std::uint32_t Client::neighbours_in(const ClientSet& set) const {
  return static_cast<std::uint32_t>(
      std::count_if(neighbours_.begin(), neighbours_.end(), [&](std::uint32_t place) { return set.contains(place); }));
}

Error Client::abort(AbortReason reason) {
  aborted_ = reason;
  channel_keys_.reset();
  mask_keys_.reset();
  deposit_.reset();
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
