#include "noisefloor/secagg/server.h"

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/mask.h"
#include "noisefloor/crypto/shamir.h"
#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"

namespace noisefloor::secagg {
namespace {

// Masks that are removed in one pass over the sum.
constexpr std::size_t kMasksAtOnce = 4096;
// Shares kept beyond the threshold, in case some are wrong.
constexpr std::size_t kSpareShares = 16;

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
      entry.confirmation = parse_confirmation(envelope.body);
      return entry.confirmation.has_value() ? std::nullopt : std::optional(AbortReason::kMalformed);
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
    if (held.size() >= config_.threshold + kSpareShares) continue;
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
      return std::nullopt;
    default:
      failed = remove_masks();
      stage_ = Stage::kDone;
      return failed;
  }
}

std::optional<AbortReason> Server::make_roster() {
  const auto clients = static_cast<std::uint32_t>(joining_.size());
  if (clients < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
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

std::optional<Secret32> Server::recover(std::uint32_t place) const {
  const Entry& entry = entries_[place];
  const std::size_t count = entry.shares.size();
  // The commitment shows a wrong share; then others are tried, a threshold of them in a row.
  for (std::size_t first = 0; first < (count == config_.threshold ? 1 : count); ++first) {
    std::vector<HeldShare> chosen;
    for (std::size_t i = 0; i < config_.threshold; ++i) {
      const Share& share = entry.shares[(first + i) % count];
      chosen.push_back({share.point, share.bytes.bytes()});
    }
    auto secret = recover_secret(chosen, config_.threshold);
    if (!secret.has_value()) continue;
    const bool is_right = survivors_.contains(place)
                              ? commitment(secret.value(), context_, entry.keys.client) == entry.commitment
                              : AgreementKey(secret.value().clone()).public_key() == entry.keys.mask_key;
    if (is_right) return std::move(secret).value();
  }
  return std::nullopt;
}

std::optional<AbortReason> Server::remove_masks() {
  // Recovers all secrets first: unless every mask can be removed, none is.
  std::vector<Secret32> secrets(entries_.size());
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (!sharing_.contains(place)) continue;
    if (entries_[place].shares.size() < config_.threshold) return AbortReason::kTooFewShares;
    std::optional<Secret32> secret = recover(place);
    if (!secret.has_value()) return AbortReason::kBadShares;
    secrets[place] = *std::move(secret);
  }
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
      if (config_.threat == ThreatModel::kLyingServer) {
        std::vector<Confirmation> confirmations;
        for (const std::uint32_t other : neighbours_[*place]) {
          const auto& signature = entries_[other].confirmation;
          if (signature.has_value()) confirmations.push_back({other, *signature});
        }
        return confirmations_message(client, confirmations, channel);
      }
      [[fallthrough]];
    default:
      return survivors_message(client, survivors_, channel);
  }
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
