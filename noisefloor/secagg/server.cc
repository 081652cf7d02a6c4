#include "noisefloor/secagg/server.h"

#include <algorithm>
#include <set>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask.h"
#include "noisefloor/crypto/shamir.h"
#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/share_decoder.h"

namespace noisefloor::secagg {
namespace {

// Masks that are removed in one pass over the sum.
constexpr std::size_t kMasksAtOnce = 4096;

MessageType expected_in(Stage stage) {
  switch (stage) {
    case Stage::kShares:
      return MessageType::kShares;
    case Stage::kMaskedInputs:
      return MessageType::kMaskedInput;
    case Stage::kConfirmations:
      return MessageType::kConfirmation;
    case Stage::kUnmaskings:
      return MessageType::kUnmasking;
    default:
      return MessageType::kAdvertisement;
  }
}

}  // namespace

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::kAdvertisements:
      return "advertisements";
    case Stage::kShares:
      return "shares";
    case Stage::kMaskedInputs:
      return "masked-inputs";
    case Stage::kConfirmations:
      return "confirmations";
    case Stage::kUnmaskings:
      return "unmaskings";
    case Stage::kDone:
      return "done";
    case Stage::kAborted:
      return "aborted";
  }
  NF_UNREACHABLE("a stage outside the closed list");
}

Result<Server> Server::create(const RoundConfig& config, const Registry& registry, AgreementKey key) {
  NF_TRY_VOID(check_config(config));
  if (config.clients != registry.size() || config.registry != digest_of(registry)) {
    return invalid_argument("the configuration is for another registry of clients");
  }
  if (config.server != key.public_key()) return invalid_argument("the configuration names another key of the server");
  return Server(config, registry, std::move(key));
}

Server::Server(const RoundConfig& config, const Registry& registry, AgreementKey key)
    : config_(config),
      config_digest_(digest_of(config)),
      registry_(&registry),
      key_(std::move(key)),
      sharing_(0),
      survivors_(0),
      sum_(config.dimension, config.bits) {}

Result<void> Server::receive(Bytes message) {
  const std::optional<Envelope> envelope = parse_envelope(message);
  if (!envelope.has_value()) return error_of(AbortReason::kMalformed);
  if (stage_ >= Stage::kDone || envelope->type != expected_in(stage_)) return error_of(AbortReason::kNotDue);
  const auto refused = stage_ == Stage::kAdvertisements ? take_advertisement(*envelope) : take(*envelope);
  if (refused.has_value()) return error_of(*refused);
  ++arrived_;
  return success();
}

std::optional<AbortReason> Server::take_advertisement(const Envelope& envelope) {
  const std::optional<Advertisement> keys = parse_advertisement(envelope);
  if (!keys.has_value()) return AbortReason::kMalformed;
  if (keys->client >= registry_->size()) return AbortReason::kUnknownClient;
  if (joining_.contains(keys->client)) return AbortReason::kNotDue;
  if (!verify_signature((*registry_)[keys->client], signed_keys(config_digest_, *keys), keys->signature)) {
    return AbortReason::kBadSignature;
  }
  auto agreed = key_.agree(keys->channel_key);
  if (!agreed.has_value()) return AbortReason::kBadKey;
  Entry entry{*keys, channel_key(agreed.value(), config_digest_), {}, {}, {}, false, {}};
  joining_.emplace(keys->client, std::move(entry));
  return std::nullopt;
}

std::optional<AbortReason> Server::take(const Envelope& envelope) {
  const std::optional<std::uint32_t> place = place_of(envelope.client);
  if (!place.has_value()) return AbortReason::kUnknownClient;
  Entry& entry = entries_[*place];
  if (!is_recipient(*place)) return AbortReason::kNotDue;
  if (!is_authentic(envelope, entry.channel)) return AbortReason::kNotAuthentic;
  switch (envelope.type) {
    case MessageType::kShares: {
      if (sharing_.contains(*place)) return AbortReason::kNotDue;
      auto sealed = parse_shares(envelope.body, neighbours_[*place].size());
      if (!sealed.has_value()) return AbortReason::kMalformed;
      entry.sealed = *std::move(sealed);
      sharing_.insert(*place);
      return std::nullopt;
    }
    case MessageType::kMaskedInput: {
      if (survivors_.contains(*place)) return AbortReason::kNotDue;
      const auto input = parse_masked_input(envelope.body, config_);
      if (!input.has_value()) return AbortReason::kMalformed;
      entry.commitment = input->commitment;
      sum_.add_packed(input->packed);
      survivors_.insert(*place);
      return std::nullopt;
    }
    case MessageType::kConfirmation: {
      if (entry.confirmation.has_value()) return AbortReason::kNotDue;
      const std::optional<Signature> signature = parse_confirmation(envelope.body);
      if (!signature.has_value()) return AbortReason::kMalformed;
      // Only the committee's signatures are passed on.
      if (std::binary_search(committee_.begin(), committee_.end(), *place) &&
          !verify_signature((*registry_)[entry.keys.client], signed_survivors(context_, sharing_, survivors_),
                            *signature)) {
        return AbortReason::kBadSignature;
      }
      entry.confirmation = signature;
      return std::nullopt;
    }
    default:
      return take_unmasking(*place, envelope.body);
  }
}

std::optional<AbortReason> Server::take_unmasking(std::uint32_t place, Bytes body) {
  if (entries_[place].answered) return AbortReason::kNotDue;
  std::vector<std::uint32_t> owners;
  for (const std::uint32_t other : neighbours_[place]) {
    if (sharing_.contains(other)) owners.push_back(other);
  }
  const auto shares = parse_unmasking(body, owners.size());
  if (!shares.has_value()) return AbortReason::kMalformed;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    std::vector<Share>& held = entries_[owners[i]].shares;
    held.push_back({place + 1, {}});
    std::copy((*shares)[i].begin(), (*shares)[i].end(), held.back().bytes.bytes().begin());
  }
  entries_[place].answered = true;
  return std::nullopt;
}

Result<void> Server::close() {
  if (aborted_.has_value()) return error_of(*aborted_);
  if (stage_ == Stage::kDone) return error_of(AbortReason::kNotDue);
  aborted_ = next();
  arrived_ = 0;
  if (!aborted_.has_value()) return success();
  stage_ = Stage::kAborted;
  entries_.clear();
  return error_of(*aborted_);
}

std::optional<AbortReason> Server::next() {
  std::optional<AbortReason> failed;
  switch (stage_) {
    case Stage::kAdvertisements:
      failed = make_roster();
      stage_ = Stage::kShares;
      return failed;
    case Stage::kShares:
      stage_ = Stage::kMaskedInputs;
      return check_enough(sharing_);
    case Stage::kMaskedInputs:
      for (Entry& entry : entries_) entry.sealed = {};
      stage_ = config_.threat == ThreatModel::kLyingServer ? Stage::kConfirmations : Stage::kUnmaskings;
      return check_enough(survivors_);
    case Stage::kConfirmations:
      stage_ = Stage::kUnmaskings;
      return confirmations().size() < config_.threshold ? std::optional(AbortReason::kNotConfirmed) : std::nullopt;
    default:
      failed = remove_masks();
      stage_ = Stage::kDone;
      return failed;
  }
}

std::optional<AbortReason> Server::make_roster() {
  const auto clients = static_cast<std::uint32_t>(joining_.size());
  if (clients < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
  if (clients < config_.minimum_roster) return AbortReason::kRosterTooSmall;
  if (clients - 1 < config_.threshold) return AbortReason::kTooFewNeighbours;
  Roster roster;
  for (auto& [number, entry] : joining_) {
    roster.push_back(entry.keys);
    entries_.push_back(std::move(entry));
  }
  joining_.clear();
  roster_ = to_bytes(roster);
  context_ = context_of(config_digest_, roster_);
  const Graph graph(clients, degree_among(config_, clients), graph_seed(context_));
  for (std::uint32_t place = 0; place < clients; ++place) neighbours_.push_back(graph.neighbours(place));
  committee_ = graph.committee();
  fatal_ = fatal_neighbours();
  sharing_ = ClientSet(clients);
  survivors_ = ClientSet(clients);
  return std::nullopt;
}

std::optional<AbortReason> Server::check_enough(const ClientSet& set) const {
  if (set.size() < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    const std::vector<std::uint32_t>& others = neighbours_[place];
    const auto there =
        std::count_if(others.begin(), others.end(), [&](std::uint32_t each) { return set.contains(each); });
    if (sharing_.contains(place) && there < static_cast<std::ptrdiff_t>(config_.threshold)) {
      return AbortReason::kTooFewNeighbours;
    }
  }
  return std::nullopt;
}

std::optional<Secret32> Server::recover(std::uint32_t place) {
  const Entry& entry = entries_[place];
  const bool survived = survivors_.contains(place);
  std::vector<HeldShare> shares;
  for (const Share& share : entry.shares) shares.push_back({share.point, share.bytes.bytes()});
  const auto is_right = [&](const Secret32& secret) {
    return survived ? commitment(secret, context_, entry.keys.client) == entry.commitment
                    : AgreementKey(secret.clone()).public_key() == entry.keys.mask_key;
  };
  auto decoded = decode_shares(shares, config_.threshold, is_right);
  if (!decoded.has_value()) {
    // The honest holders alone fix the polynomials: they are what the owner dealt, and not what it committed to.
    // One wrong share among a threshold of them would look the same: two to spare rule that out.
    if (shares.size() >= config_.threshold + 2 && are_consistent(shares, config_.threshold))
      perjurers_.push_back(entry.keys.client);
    return std::nullopt;
  }
  // With more wrong shares than half of those to spare, other polynomials would explain them as well.
  if (2 * decoded->wrong.size() > shares.size() - config_.threshold) return std::move(decoded->secret);
  for (const std::size_t wrong : decoded->wrong) {
    disputes_.push_back({entries_[shares[wrong].point - 1].keys.client, entry.keys.client});
  }
  return std::move(decoded->secret);
}

std::uint32_t Server::fatal_neighbours() const {
  const auto clients = static_cast<std::uint32_t>(entries_.size());
  const std::uint32_t degree = degree_among(config_, clients);
  if (config_.threat == ThreatModel::kCuriousServer) return config_.threshold;
  const std::uint32_t group = degree + 1 == clients ? clients : degree;
  return 2 * config_.threshold > group ? 2 * config_.threshold - group : 1;
}

std::vector<std::uint32_t> Server::culprits() const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Dispute& each : disputes_) pairs.insert(std::minmax(each.holder, each.owner));
  std::map<std::uint32_t, std::uint32_t> against;
  for (const auto& [one, other] : pairs) {
    ++against[one];
    ++against[other];
  }
  std::vector<std::uint32_t> found = perjurers_;
  for (const auto& [client, others] : against) {
    if (others >= fatal_) found.push_back(client);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<AbortReason> Server::remove_masks() {
  // Recovers all secrets first: unless every mask can be removed, none is.
  std::vector<Secret32> secrets(entries_.size());
  std::optional<AbortReason> failed;
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (!sharing_.contains(place)) continue;
    if (entries_[place].shares.size() < config_.threshold) return AbortReason::kTooFewShares;
    std::optional<Secret32> secret = recover(place);
    if (secret.has_value()) {
      secrets[place] = *std::move(secret);
    } else {
      failed = AbortReason::kBadShares;  // the others are still recovered, to find who sent what is wrong
    }
  }
  if (failed.has_value()) return failed;
  std::vector<Mask> masks;
  masks.reserve(kMasksAtOnce);
  const auto remove = [&](MaskSeed seed, bool subtract) {
    masks.push_back({std::move(seed), subtract});
    if (masks.size() < kMasksAtOnce) return;
    apply_masks(masks, sum_.lanes(), sum_.lane_bytes());
    masks.clear();
  };
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (!sharing_.contains(place)) continue;
    const std::uint32_t client = entries_[place].keys.client;
    if (survivors_.contains(place)) {
      remove(own_seed(secrets[place], context_, client), true);
      continue;
    }
    const AgreementKey key(std::move(secrets[place]));
    for (const std::uint32_t other : neighbours_[place]) {
      if (!survivors_.contains(other)) continue;
      const auto agreed = key.agree(entries_[other].keys.mask_key);
      if (!agreed.has_value()) return AbortReason::kBadKey;
      // The neighbour added it if its place is the lower one.
      remove(pair_seed(agreed.value(), context_, client, entries_[other].keys.client), other < place);
    }
  }
  apply_masks(masks, sum_.lanes(), sum_.lane_bytes());
  return std::nullopt;
}

std::optional<std::uint32_t> Server::place_of(std::uint32_t client) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), client,
                       [](const Entry& entry, std::uint32_t number) { return entry.keys.client < number; });
  if (found == entries_.end() || found->keys.client != client) return std::nullopt;
  return static_cast<std::uint32_t>(found - entries_.begin());
}

bool Server::is_recipient(std::uint32_t place) const {
  switch (stage_) {
    case Stage::kShares:
      return true;
    case Stage::kMaskedInputs:
      return sharing_.contains(place);
    case Stage::kConfirmations:
      return survivors_.contains(place);
    case Stage::kUnmaskings:
      return survivors_.contains(place) &&
             (config_.threat == ThreatModel::kCuriousServer || entries_[place].confirmation.has_value());
    default:
      return false;
  }
}

std::vector<std::uint32_t> Server::recipients() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (is_recipient(place)) result.push_back(entries_[place].keys.client);
  }
  return result;
}

Result<Message> Server::message_for(std::uint32_t client) const {
  const std::optional<std::uint32_t> place = place_of(client);
  if (!place.has_value() || !is_recipient(*place)) return error_of(AbortReason::kNotDue);
  const Secret32& channel = entries_[*place].channel;
  switch (stage_) {
    case Stage::kShares:
      return roster_message(client, roster_, channel);
    case Stage::kMaskedInputs: {
      Delivery delivery{sharing_, {}};
      for (const std::uint32_t other : neighbours_[*place]) {
        if (!sharing_.contains(other)) continue;
        const std::vector<std::uint32_t>& theirs = neighbours_[other];
        const auto at = std::lower_bound(theirs.begin(), theirs.end(), *place) - theirs.begin();
        delivery.sealed.push_back(entries_[other].sealed[static_cast<std::size_t>(at)]);
      }
      return delivery_message(client, delivery, channel);
    }
    case Stage::kUnmaskings:
      if (config_.threat == ThreatModel::kLyingServer) return confirmations_message(client, confirmations(), channel);
      [[fallthrough]];
    default:
      return survivors_message(client, survivors_, channel);
  }
}

std::vector<Confirmation> Server::confirmations() const {
  std::vector<Confirmation> result;
  for (const std::uint32_t place : committee_) {
    const auto& signature = entries_[place].confirmation;
    if (signature.has_value() && result.size() < config_.threshold) result.push_back({place, *signature});
  }
  return result;
}

const LaneVector& Server::sum() const {
  NF_CHECK(stage_ == Stage::kDone, "there is a sum when the round is done");
  return sum_;
}

std::vector<std::uint32_t> Server::survivors() const {
  NF_CHECK(stage_ > Stage::kMaskedInputs && stage_ != Stage::kAborted, "survivors are known after the masked inputs");
  std::vector<std::uint32_t> result;
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (survivors_.contains(place)) result.push_back(entries_[place].keys.client);
  }
  return result;
}

}  // namespace noisefloor::secagg
