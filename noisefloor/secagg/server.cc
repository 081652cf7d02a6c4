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
    case Stage::kReceipts:
      return MessageType::kReceipt;
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
    case Stage::kReceipts:
      return "receipts";
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

Digest Server::challenge(const AgreementKey& key, std::uint64_t round) {
  Digest nonce{};
  const Secret32 drawn = challenge_nonce(key.secret(), round);
  std::copy(drawn.bytes().begin(), drawn.bytes().end(), nonce.begin());
  return challenge_commitment(nonce);
}

namespace {

Result<void> check(const RoundConfig& config, const Registry& registry, const AgreementKey& key) {
  NF_TRY_VOID(check_config(config));
  if (config.clients != registry.size() || config.registry != digest_of(registry)) {
    return invalid_argument("the configuration is for another registry of clients");
  }
  if (config.server != key.public_key()) return invalid_argument("the configuration names another key of the server");
  if (config.challenge != Server::challenge(key, config.round)) {
    return invalid_argument("the configuration commits to another challenge: take Server::challenge");
  }
  return success();
}

}  // namespace

Result<Server> Server::create(const RoundConfig& config, const Registry& registry, AgreementKey key) {
  NF_TRY_VOID(check(config, registry, key));
  if (config.epoch != Digest{}) return invalid_argument("the configuration is of a round of an epoch: resume it");
  return Server(config, registry, std::move(key));
}

Result<Server> Server::resume(const RoundConfig& config, const Registry& registry, AgreementKey key,
                              ServerEpoch& epoch) {
  NF_TRY_VOID(check(config, registry, key));
  EpochTerms& terms = epoch.terms_;
  const auto clients = static_cast<std::uint32_t>(epoch.clients_.size());
  if (config.epoch != terms.id || config.registry != terms.registry || !terms.can_follow(config.round) ||
      clients < config.minimum_roster || clients - 1 < config.threshold ||
      degree_among(config, clients) + 1 != clients) {
    return error_of(AbortReason::kEpochRefused);
  }
  Server server(config, registry, std::move(key));
  const std::uint64_t index = terms.index_of(config.round);
  terms.next_round = config.round + 1;
  server.began_epoch_ = true;
  server.present_ = terms.present;
  server.context_ = context_of(server.config_digest_, terms.id, terms.present.bytes());
  for (ServerEpoch::Member& each : epoch.clients_) {
    Entry entry{};
    entry.keys.client = each.number;
    entry.channel = each.chain.take(index);
    server.entries_.push_back(std::move(entry));
  }
  server.draw_graph();
  server.stage_ = Stage::kShares;
  return server;
}

Result<ServerEpoch> Server::epoch() {
  const auto clients = static_cast<std::uint32_t>(entries_.size());
  if (began_epoch_ || clients == 0 || degree_among(config_, clients) + 1 != clients) {
    return error_of(AbortReason::kEpochRefused);
  }
  began_epoch_ = true;
  ServerEpoch epoch;
  epoch.terms_ = {epoch_id(context_), config_.registry, config_.round, config_.round + 1, present_};
  for (const Entry& each : entries_) {
    epoch.clients_.push_back({each.keys.client, KeyChain(server_chain(each.channel, context_, each.keys.client))});
  }
  return epoch;
}

Server::Server(const RoundConfig& config, const Registry& registry, AgreementKey key)
    : config_(config),
      config_digest_(digest_of(config)),
      registry_(&registry),
      key_(std::move(key)),
      present_(config.clients),
      sharing_(0),
      survivors_(0),
      sum_(config.dimension, config.bits) {
  const Secret32 nonce = challenge_nonce(key_.secret(), config.round);
  std::copy(nonce.bytes().begin(), nonce.bytes().end(), nonce_.begin());
}

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
  Entry entry{};
  entry.keys = *keys;
  entry.channel = channel_key(agreed.value(), config_digest_);
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
      Bytes body = envelope.body;
      const std::size_t neighbours = neighbours_[*place].size();
      const auto deposit = is_resumed() ? take_deposit(body, neighbours) : std::optional(Deposit{});
      auto sealed = parse_shares(body, neighbours);
      if (!deposit.has_value() || !sealed.has_value()) return AbortReason::kMalformed;
      entry.deposit = deposit->commitment;
      entry.deposited.resize(deposit->seeds.size());
      for (std::size_t i = 0; i < deposit->seeds.size(); ++i) {
        std::copy(deposit->seeds[i].begin(), deposit->seeds[i].end(), entry.deposited[i].bytes().begin());
      }
      entry.sealed = *std::move(sealed);
      sharing_.insert(*place);
      return std::nullopt;
    }
    case MessageType::kReceipt: {
      if (entry.receipt.has_value()) return AbortReason::kNotDue;
      auto receipt = parse_receipt(envelope.body, static_cast<std::uint32_t>(neighbours_[*place].size()));
      if (!receipt.has_value()) return AbortReason::kMalformed;
      for (std::uint32_t i = 0; i < neighbours_[*place].size(); ++i) {
        if (receipt->opened.contains(i) && !sharing_.contains(neighbours_[*place][i])) return AbortReason::kMalformed;
      }
      entry.receipt = std::move(receipt);
      return std::nullopt;
    }
    case MessageType::kMaskedInput: {
      if (survivors_.contains(*place)) return AbortReason::kNotDue;
      const auto input = parse_masked_input(envelope.body, config_, count_in(*place, sharing_));
      if (!input.has_value()) return AbortReason::kMalformed;
      entry.commitment = input->commitment;
      entry.prints.assign(input->prints.begin(), input->prints.end());
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
  std::vector<std::uint32_t> gone;
  for (const std::uint32_t other : neighbours_[place]) {
    if (!sharing_.contains(other)) continue;
    owners.push_back(other);
    if (!survivors_.contains(other)) gone.push_back(other);
  }
  const auto given = parse_unmasking(body, owners.size(), gone.size());
  if (!given.has_value()) return AbortReason::kMalformed;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    std::vector<Share>& held = entries_[owners[i]].shares;
    held.push_back({place + 1, {}});
    std::copy(given->shares[i].begin(), given->shares[i].end(), held.back().bytes.bytes().begin());
  }
  for (std::size_t i = 0; i < gone.size(); ++i) {
    MaskSeed& seed = entries_[place].seeds[gone[i]];
    std::copy(given->seeds[i].begin(), given->seeds[i].end(), seed.bytes().begin());
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
      stage_ = Stage::kReceipts;
      return sharing_.size() < config_.minimum_cohort ? std::optional(AbortReason::kCohortTooSmall) : std::nullopt;
    case Stage::kReceipts:
      failed = choose_sharers();
      for (Entry& entry : entries_) {
        entry.sealed = {};
        entry.receipt.reset();
      }
      stage_ = Stage::kMaskedInputs;
      return failed;
    case Stage::kMaskedInputs:
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
  std::vector<Digest> leaves(config_.clients, roster_leaf({}));
  for (auto& [number, entry] : joining_) {
    leaves[number] = roster_leaf(to_bytes(entry.keys));
    present_.insert(number);
    entries_.push_back(std::move(entry));
  }
  joining_.clear();
  tree_.emplace(std::move(leaves));
  context_ = context_of(config_digest_, tree_->root(), present_.bytes());
  draw_graph();
  return std::nullopt;
}

void Server::draw_graph() {
  const auto clients = static_cast<std::uint32_t>(entries_.size());
  const Graph graph(clients, degree_among(config_, clients), graph_seed(context_));
  for (std::uint32_t place = 0; place < clients; ++place) neighbours_.push_back(graph.neighbours(place));
  committee_ = graph.committee();
  fatal_ = fatal_neighbours();
  sharing_ = ClientSet(clients);
  survivors_ = ClientSet(clients);
}

std::size_t Server::count_in(std::uint32_t place, const ClientSet& set) const {
  const std::vector<std::uint32_t>& others = neighbours_[place];
  return static_cast<std::size_t>(
      std::count_if(others.begin(), others.end(), [&](std::uint32_t each) { return set.contains(each); }));
}

std::optional<AbortReason> Server::check_enough(const ClientSet& set) const {
  if (set.size() < config_.minimum_cohort) return AbortReason::kCohortTooSmall;
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (sharing_.contains(place) && count_in(place, set) < config_.threshold) return AbortReason::kTooFewNeighbours;
  }
  return std::nullopt;
}

void Server::dispute(std::uint32_t holder, std::uint32_t owner) {
  const Dispute found{entries_[holder].keys.client, entries_[owner].keys.client};
  if (std::find(disputes_.begin(), disputes_.end(), found) == disputes_.end()) disputes_.push_back(found);
}

// Checks the answers about each dealer's shares. Returns pairs of which one must go: (holder, dealer) whose box did not
// open. A dealer whose shares are of no use is no longer in sharing_.
std::set<std::pair<std::uint32_t, std::uint32_t>> Server::check_shares() {
  struct Dealt {
    std::vector<std::uint32_t> points;
    std::vector<std::uint64_t> values;
  };
  std::vector<Dealt> dealt(entries_.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> closed;
  for (std::uint32_t holder = 0; holder < entries_.size(); ++holder) {
    if (!entries_[holder].receipt.has_value()) continue;
    const Receipt& receipt = *entries_[holder].receipt;
    auto answer = receipt.answers.begin();
    for (std::uint32_t i = 0; i < neighbours_[holder].size(); ++i) {
      const std::uint32_t dealer = neighbours_[holder][i];
      if (receipt.opened.contains(i)) {
        dealt[dealer].points.push_back(holder + 1);
        dealt[dealer].values.push_back(*answer++);
      } else if (sharing_.contains(dealer)) {
        dispute(holder, dealer);
        closed.emplace(holder, dealer);
      }
    }
  }
  ClientSet usable(sharing_.clients());
  for (std::uint32_t dealer = 0; dealer < entries_.size(); ++dealer) {
    const auto& [points, values] = dealt[dealer];
    if (!sharing_.contains(dealer) || !entries_[dealer].receipt.has_value() || values.size() < config_.threshold) {
      continue;
    }
    const auto wrong = wrong_values(points, values, config_.threshold);
    if (wrong.has_value()) {
      usable.insert(dealer);
      for (const std::size_t each : *wrong) dispute(points[each] - 1, dealer);
    } else if (values.size() >= config_.threshold + 2) {
      // One wrong answer among a threshold and one looks the same, whoever is at fault.
      exposed_.push_back(entries_[dealer].keys.client);
    }
  }
  sharing_ = usable;
  return closed;
}

std::optional<AbortReason> Server::choose_sharers() {
  auto closed = check_shares();
  const std::vector<std::uint32_t> found = culprits();
  ClientSet going(sharing_.clients());
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    const bool named = std::binary_search(found.begin(), found.end(), entries_[place].keys.client);
    if (sharing_.contains(place) && !named) going.insert(place);
  }
  // Of a holder and a dealer whose box did not open one has to leave: the one in more such pairs; both, if in as many.
  const auto leave = [&](std::uint32_t place) { going.erase(place); };
  for (;;) {
    std::map<std::uint32_t, std::uint32_t> pairs;
    for (const auto& [holder, dealer] : closed) {
      if (!going.contains(holder) || !going.contains(dealer)) continue;
      ++pairs[holder];
      ++pairs[dealer];
    }
    if (pairs.empty()) break;
    const auto worst =
        std::max_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [holder, dealer] : closed) {
      if (!going.contains(holder) || !going.contains(dealer) || (holder != worst->first && dealer != worst->first)) {
        continue;
      }
      const std::uint32_t other = holder == worst->first ? dealer : holder;
      if (pairs[other] == worst->second) {
        leave(other);
        break;
      }
    }
    leave(worst->first);
  }
  // Nobody masks anything yet, so those with too few neighbours left can leave without harm.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t place = 0; place < entries_.size(); ++place) {
      if (!going.contains(place) || count_in(place, going) >= config_.threshold) continue;
      leave(place);
      changed = true;
    }
  }
  sharing_ = going;
  return check_enough(sharing_);
}

std::optional<Secret32> Server::recover(std::uint32_t place) {
  const Entry& entry = entries_[place];
  const bool survived = survivors_.contains(place);
  std::vector<HeldShare> shares;
  for (const Share& share : entry.shares) shares.push_back({share.point, share.bytes.bytes()});
  const auto is_right = [&](const Secret32& secret) {
    if (survived) return commitment(secret, context_, entry.keys.client) == entry.commitment;
    if (is_resumed()) return deposit_commitment(secret, context_, entry.keys.client) == entry.deposit;
    return AgreementKey(secret.clone()).public_key() == entry.keys.mask_key;
  };
  auto decoded = decode_shares(shares, config_.threshold, is_right);
  if (!decoded.has_value()) {
    // The honest holders alone fix the polynomials: they are what the owner dealt, and not what it committed to.
    // One wrong share among a threshold of them would look the same: two to spare rule that out.
    if (shares.size() >= config_.threshold + 2 && are_consistent(shares, config_.threshold))
      exposed_.push_back(entry.keys.client);
    return std::nullopt;
  }
  // With more wrong shares than half of those to spare, other polynomials would explain them as well.
  if (2 * decoded->wrong.size() > shares.size() - config_.threshold) return std::move(decoded->secret);
  for (const std::size_t wrong : decoded->wrong) {
    dispute(shares[wrong].point - 1, place);
  }
  return std::move(decoded->secret);
}

std::uint32_t Server::fatal_neighbours() const {
  const auto clients = static_cast<std::uint32_t>(entries_.size());
  const std::uint32_t degree = degree_among(config_, clients);
  if (config_.threat == ThreatModel::kCuriousServer) return std::max(2U, config_.threshold);
  // Where one would be fatal, nobody is assumed to be corrupt; a dispute then says that one of two is, and not which.
  const std::uint32_t group = degree + 1 == clients ? clients : degree;
  return std::max(2U, 2 * config_.threshold > group ? 2 * config_.threshold - group : 1);
}

std::vector<std::uint32_t> Server::culprits() const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Dispute& each : disputes_) pairs.insert(std::minmax(each.holder, each.owner));
  std::map<std::uint32_t, std::uint32_t> against;
  for (const auto& [one, other] : pairs) {
    ++against[one];
    ++against[other];
  }
  std::vector<std::uint32_t> found = exposed_;
  for (const auto& [client, others] : against) {
    if (others >= fatal_) found.push_back(client);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<MaskSeed> Server::seed_between(std::uint32_t survivor, std::uint32_t gone,
                                             const std::optional<Secret32>& gone_key) {
  const Entry& entry = entries_[survivor];
  // What the survivor said of this mask when it sent its input.
  std::size_t index = 0;
  for (const std::uint32_t other : neighbours_[survivor]) {
    if (other == gone) break;
    if (sharing_.contains(other)) ++index;
  }
  const Bytes print = Bytes(entry.prints).subspan(kPrintBytes * index, kPrintBytes);
  const auto is_same = [&](const MaskSeed& seed) {
    const MaskPrint of_seed = print_of(seed, context_);
    return std::equal(print.begin(), print.end(), of_seed.begin());
  };
  if (const auto given = entry.seeds.find(gone); given != entry.seeds.end()) {
    if (is_same(given->second)) return given->second.clone();
    exposed_.push_back(entry.keys.client);  // it named two masks
  }
  if (!gone_key.has_value()) return std::nullopt;
  const std::uint32_t gone_client = entries_[gone].keys.client;
  if (is_resumed()) {
    const std::vector<std::uint32_t>& theirs = neighbours_[gone];
    const auto at = std::lower_bound(theirs.begin(), theirs.end(), survivor) - theirs.begin();
    MaskSeed seed = deposited(entries_[gone].deposited[static_cast<std::size_t>(at)], *gone_key, context_, gone_client,
                              entry.keys.client);
    if (is_same(seed)) return seed;
    dispute(survivor, gone);  // one of the two named another mask than they share
    return std::nullopt;
  }
  const auto agreed = AgreementKey(gone_key->clone()).agree(entry.keys.mask_key);
  if (!agreed.has_value()) return std::nullopt;
  MaskSeed seed = pair_seed(agreed.value(), context_, entry.keys.client, gone_client);
  if (!is_same(seed)) exposed_.push_back(entry.keys.client);  // both keys agree on another mask than it named
  return seed;
}

std::optional<AbortReason> Server::remove_masks() {
  // Recovers all seeds first: unless every mask can be removed, none is.
  std::vector<Mask> masks;
  std::optional<AbortReason> failed;
  const auto fail = [&](AbortReason reason) {
    if (!failed.has_value()) failed = reason;  // the others are still looked at, to find who sent what is wrong
  };
  for (std::uint32_t place = 0; place < entries_.size(); ++place) {
    if (!sharing_.contains(place)) continue;
    const std::uint32_t client = entries_[place].keys.client;
    const bool enough = entries_[place].shares.size() >= config_.threshold;
    std::optional<Secret32> secret = enough ? recover(place) : std::nullopt;
    const AbortReason missing = enough ? AbortReason::kBadShares : AbortReason::kTooFewShares;
    if (survivors_.contains(place)) {
      if (secret.has_value()) {
        masks.push_back({own_seed(*secret, context_, client), true});
      } else {
        fail(missing);
      }
      continue;
    }
    for (const std::uint32_t other : neighbours_[place]) {
      if (!survivors_.contains(other)) continue;
      std::optional<MaskSeed> seed = seed_between(other, place, secret);
      if (!seed.has_value()) {
        fail(missing);
        continue;
      }
      // The neighbour added it if its place is the lower one.
      masks.push_back({*std::move(seed), other < place});
    }
  }
  if (failed.has_value()) return failed;
  for (std::size_t first = 0; first < masks.size(); first += kMasksAtOnce) {
    const std::size_t count = std::min(kMasksAtOnce, masks.size() - first);
    apply_masks(std::span(masks).subspan(first, count), sum_.lanes(), sum_.lane_bytes());
  }
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
    case Stage::kReceipts:
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
      return roster_for(*place);
    case Stage::kReceipts: {
      Delivery delivery{nonce_, ClientSet(static_cast<std::uint32_t>(neighbours_[*place].size())), {}};
      for (std::uint32_t i = 0; i < neighbours_[*place].size(); ++i) {
        const std::uint32_t other = neighbours_[*place][i];
        if (!sharing_.contains(other)) continue;
        const std::vector<std::uint32_t>& theirs = neighbours_[other];
        const auto at = std::lower_bound(theirs.begin(), theirs.end(), *place) - theirs.begin();
        delivery.sharing.insert(i);
        delivery.sealed.push_back(entries_[other].sealed[static_cast<std::size_t>(at)]);
      }
      return delivery_message(client, delivery, channel);
    }
    case Stage::kMaskedInputs:
      return sharers_message(client, sharing_, channel);
    case Stage::kUnmaskings:
      if (config_.threat == ThreatModel::kLyingServer) return confirmations_message(client, confirmations(), channel);
      [[fallthrough]];
    default:
      return survivors_message(client, survivors_, channel);
  }
}

Message Server::roster_for(std::uint32_t place) const {
  RosterPart roster{tree_->root(), present_};
  std::vector<std::uint32_t> numbers{entries_[place].keys.client};
  for (const std::uint32_t other : neighbours_[place]) {
    roster.neighbours.push_back(entries_[other].keys);
    numbers.push_back(entries_[other].keys.client);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::uint8_t> proof;
  for (const Digest& hash : tree_->proof(numbers)) proof.insert(proof.end(), hash.begin(), hash.end());
  roster.proof = proof;
  return roster_message(entries_[place].keys.client, roster, entries_[place].channel);
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
