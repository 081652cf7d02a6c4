#include "noisefloor/federated/site.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/base/hex.h"
#include "noisefloor/federated/body_bytes.h"

namespace noisefloor::federated {
namespace {

using internal::BodyReader;
using internal::BodyWriter;

constexpr std::uint8_t kStoredVersion = 1;

Error unreadable() {
  return Error{ErrorCode::kVerificationFailed,
               "the site's store cannot be read, or belongs to another run: give it the store of this run"};
}

}  // namespace

Result<Site> Site::open(const Parts& parts, const Stored& stored) {
  const RunSpec& spec = *parts.spec;
  NF_TRY_VOID(check_spec(spec));
  if (parts.number >= spec.sites.size()) {
    return invalid_argument(
        fmt::format("the run has sites 0 to {}, and no site {}", spec.sites.size() - 1, parts.number));
  }
  if (spec.sites[parts.number] != parts.key->public_key()) {
    return invalid_argument(fmt::format("this key is not that of site {}", parts.number));
  }
  if (parts.cost_of_round() && parts.budget == nullptr) return invalid_argument("a site that pays needs a budget");
  Site site(parts);
  NF_TRY_VOID(site.load(stored));
  return site;
}

Result<void> Site::load(const Stored& stored) {
  const auto found = stored.find("site");
  if (found == stored.end()) return success();
  BodyReader reader(found->second);
  if (reader.number<std::uint8_t>() != kStoredVersion || reader.array<kDigestBytes>() != spec_->run) {
    return unreadable();
  }
  const auto epoch = reader.number<std::uint32_t>();
  if (epoch > spec_->epoch) {
    return Error{
        ErrorCode::kVerificationFailed,
        fmt::format("this site has seen epoch {} of the run, and the run says {}: the run's files were restored "
                    "from an old copy",
                    epoch, spec_->epoch)};
  }
  seen_ = reader.number<std::uint64_t>();
  broadcast_ = reader.array<kDigestBytes>();
  joined_ = reader.number<std::uint64_t>();
  received_ = reader.number<std::uint8_t>() == 1;
  finished_ = reader.number<std::uint8_t>() == 1;
  const auto reason = reader.number<std::uint8_t>();
  if (reason > static_cast<std::uint8_t>(DeclineReason::kCoordinatorRestored)) return unreadable();
  if (reason > 0) final_ = static_cast<DeclineReason>(reason);
  upload_ = reader.sized();
  own_ = reader.sized();
  pending_round_ = reader.number<std::uint64_t>();
  pending_ = reader.sized();
  if (!reader.done()) return unreadable();
  if (epoch < spec_->epoch) *this = Site(parts_);  // what it keeps belongs to one epoch
  return success();
}

void Site::save(Effects& effects) const {
  BodyWriter writer;
  writer.number(kStoredVersion).bytes(spec_->run).number(spec_->epoch).number(seen_).bytes(broadcast_).number(joined_);
  writer.number(static_cast<std::uint8_t>(received_ ? 1 : 0)).number(static_cast<std::uint8_t>(finished_ ? 1 : 0));
  writer.number(static_cast<std::uint8_t>(final_ ? static_cast<std::uint8_t>(*final_) : 0));
  const bool keeps = parts_.outbox == OutboxPolicy::kKeep;
  writer.sized(keeps ? std::span<const std::uint8_t>(upload_) : std::span<const std::uint8_t>());
  writer.sized(own_).number(pending_round_).sized(pending_);
  effects.writes.push_back({"site", writer.take()});
}

Effects Site::start(BitStream& /*stream*/) {
  Effects effects;
  if (!finished_ && !received_ && !upload_.empty()) send_upload(effects);
  return effects;
}

void Site::send_upload(Effects& effects) {
  effects.messages.push_back({kCoordinator, upload_});
  effects.wakes.push_back({spec_->resend_ms, seen_});
}

void Site::decline(const MessageKey& key, DeclineReason reason, Effects& effects) {
  declined_ = reason;
  if (is_final(reason) && !final_) {
    final_ = reason;
    save(effects);
  }
  effects.messages.push_back({kCoordinator, to_bytes(Decline{key, reason}, *parts_.key)});
}

void Site::settle(std::uint64_t counted) {
  if (pending_round_ == 0) return;
  if (counted == pending_round_) own_ = pending_;
  pending_round_ = 0;
  pending_.clear();
}

Effects Site::receive(std::span<const std::uint8_t> message, BitStream& stream) {
  Effects effects;
  const auto envelope = parse_envelope(message, sizes_of(*spec_));
  if (!envelope || envelope->key.run != spec_->run || envelope->key.epoch != spec_->epoch || envelope->key.stage != 0 ||
      envelope->key.client != parts_.number) {
    return effects;
  }
  const bool is_for_sites = envelope->kind == RunMessageKind::kInvitation ||
                            envelope->kind == RunMessageKind::kReceipt || envelope->kind == RunMessageKind::kFinish;
  if (!is_for_sites || finished_ || !is_authentic(*envelope, spec_->coordinator)) return effects;
  if (const auto receipt = parse_receipt(*envelope)) {
    const bool is_ours = receipt->key.round == seen_ && !upload_.empty() && receipt->upload == digest_of(upload_);
    if (!is_ours || received_) return effects;
    received_ = true;
    upload_.clear();
    save(effects);
  } else if (const auto finish = parse_finish(*envelope)) {
    settle(finish->counted);
    finished_ = true;
    upload_.clear();
    save(effects);
  } else {
    take_invitation(*envelope, effects, stream);
  }
  return effects;
}

void Site::take_invitation(const RunEnvelope& envelope, Effects& effects, BitStream& stream) {
  const auto invitation = parse_invitation(envelope);
  const MessageKey& key = envelope.key;
  if (!invitation || key.round == 0 || key.round < seen_) return;  // an old one, or one that was delayed
  if (final_) return decline(key, *final_, effects);
  const Digest broadcast = digest_of(invitation->broadcast);
  if (key.round == seen_) {
    if (broadcast != broadcast_) return decline(key, DeclineReason::kOtherStory, effects);
    if (upload_.empty()) return decline(key, DeclineReason::kSpent, effects);
    effects.messages.push_back({kCoordinator, upload_});
    return;
  }
  // Whoever invites to a later round has all that it gave receipts for.
  if (received_ && invitation->last_heard < seen_) return decline(key, DeclineReason::kCoordinatorRestored, effects);
  if (invitation->last_heard > seen_) return decline(key, DeclineReason::kRestored, effects);
  if (seen_ > 0 && spec_->rest > 0 && key.round - seen_ < spec_->rest) {
    return decline(key, DeclineReason::kResting, effects);
  }
  if (joined_ >= parts_.most_rounds) return decline(key, DeclineReason::kTooManyRounds, effects);
  if (const auto& cost = parts_.cost_of_round()) {
    const std::string name = fmt::format("federated/{}/{}/{}", to_hex(spec_->run), spec_->epoch, key.round);
    const auto answer = parts_.budget->reserve(name, *cost);
    if (!answer.has_value()) return decline(key, DeclineReason::kLedger, effects);
    if (answer.value() == BudgetAnswer::kExhausted) return decline(key, DeclineReason::kBudget, effects);
    if (answer.value() == BudgetAnswer::kBegunBefore) return decline(key, DeclineReason::kSpent, effects);
  }
  settle(invitation->counted);
  seen_ = key.round;
  broadcast_ = broadcast;
  received_ = false;
  upload_.clear();
  ++joined_;

  internal::BodyReader reader(invitation->broadcast);
  const std::vector<float> model = reader.floats(spec_->upload.parameters);
  const std::vector<double> control = reader.doubles(reader.left() / 8);
  auto contribution = parts_.work->contribute({key.round, model, control, own_}, stream);
  const bool fits = contribution.has_value() && contribution.value().lanes.size() == sizes_of(*spec_).lanes;
  if (!fits) {
    save(effects);
    return decline(key, DeclineReason::kWork, effects);
  }
  upload_ = to_bytes(Upload{key, std::move(contribution.value().lanes)}, *parts_.key);
  pending_round_ = key.round;
  pending_ = std::move(contribution.value().own);
  save(effects);
  send_upload(effects);
}

Effects Site::wake(std::uint64_t tag, BitStream& /*stream*/) {
  Effects effects;
  if (!finished_ && tag == seen_ && !received_ && !upload_.empty()) send_upload(effects);
  return effects;
}

}  // namespace noisefloor::federated
