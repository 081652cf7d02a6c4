#include "noisefloor/federated/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/check.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/federated/body_bytes.h"
#include "noisefloor/random/subset.h"

namespace noisefloor::federated {
namespace {

using internal::BodyReader;
using internal::BodyWriter;

constexpr std::uint8_t kStoredVersion = 1;
constexpr std::uint64_t kLimitTag = 0;
constexpr std::uint64_t kResendTag = 1;

std::string upload_key(std::uint64_t round, std::uint32_t site) { return fmt::format("in/{:012}/{:06}", round, site); }
std::string heard_key(std::uint32_t site) { return fmt::format("heard/{:06}", site); }
std::string gone_key(std::uint32_t site) { return fmt::format("gone/{:06}", site); }

Error unreadable() {
  return Error{ErrorCode::kVerificationFailed,
               "the coordinator's store cannot be read, or belongs to another run: give it the store of this run"};
}

}  // namespace

std::vector<std::uint8_t> to_bytes(const RoundRecord& record) {
  BodyWriter writer;
  writer.number(kStoredVersion).number(record.round).number(static_cast<std::uint8_t>(record.counted ? 1 : 0));
  writer.bytes(record.model).number(static_cast<std::uint32_t>(record.survivors.size()));
  for (const std::uint32_t site : record.survivors) writer.number(site);
  return writer.take();
}

std::optional<RoundRecord> parse_round_record(std::span<const std::uint8_t> bytes) {
  BodyReader reader(bytes);
  if (reader.number<std::uint8_t>() != kStoredVersion) return std::nullopt;
  RoundRecord record;
  record.round = reader.number<std::uint64_t>();
  record.counted = reader.number<std::uint8_t>() == 1;
  record.model = reader.array<kDigestBytes>();
  const auto count = reader.number<std::uint32_t>();
  if (reader.left() != std::size_t{count} * 4) return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i) record.survivors.push_back(reader.number<std::uint32_t>());
  return record;
}

std::string Coordinator::record_key(std::uint64_t round) { return fmt::format("round/{:012}", round); }

Coordinator::Coordinator(const Parts& parts, Strategy strategy, UploadLayout layout)
    : parts_(parts),
      spec_(parts.spec),
      strategy_(std::move(strategy)),
      layout_(std::move(layout)),
      heard_(parts.spec->sites.size()) {}

Result<Coordinator> Coordinator::open(const Parts& parts, std::span<const float> initial, const Stored& stored) {
  const RunSpec& spec = *parts.spec;
  NF_TRY_VOID(check_spec(spec));
  if (parts.key->public_key() != spec.coordinator) {
    return invalid_argument("this key is not that of the run's coordinator");
  }
  if (spec.central && spec.central->noise && parts.budget == nullptr) {
    return invalid_argument("central noise needs the coordinator's budget");
  }
  if (initial.size() != spec.upload.parameters) {
    return invalid_argument(
        fmt::format("the run's model has {} parameters, and these are {}", spec.upload.parameters, initial.size()));
  }
  if (!ExactSum::holds(initial)) return invalid_argument("the initial weights must be numbers within 2^15");
  NF_TRY(Strategy strategy, Strategy::create(spec.strategy, initial.size()));
  NF_TRY(UploadLayout layout, UploadLayout::create(spec.upload));
  Coordinator made(parts, std::move(strategy), std::move(layout));
  if (spec.row_noise) {
    NF_TRY(RowNoise noise, RowNoise::create(*spec.row_noise));
    made.row_noise_.emplace(std::move(noise));
  }
  made.model_.assign(initial.begin(), initial.end());
  made.strategy_state_ = made.strategy_.initial();
  if (spec.central) made.clip_ = spec.central->clip.value();
  made.forget_round();
  if (!stored.empty()) NF_TRY_VOID(made.load(stored));
  return made;
}

Result<void> Coordinator::load(const Stored& stored) {
  const auto found = stored.find("state");
  if (found == stored.end()) return unreadable();
  BodyReader reader(found->second);
  if (reader.number<std::uint8_t>() != kStoredVersion || reader.array<kDigestBytes>() != spec_->run ||
      reader.number<std::uint32_t>() != spec_->epoch) {
    return unreadable();
  }
  const auto state = reader.number<std::uint8_t>();
  if (state > static_cast<std::uint8_t>(RunState::kIncomplete)) return unreadable();
  state_ = static_cast<RunState>(state);
  round_ = reader.number<std::uint64_t>();
  counted_ = reader.number<std::uint64_t>();
  model_ = reader.floats(model_.size());
  strategy_state_.rounds = reader.number<std::uint64_t>();
  strategy_state_.first = reader.doubles(strategy_state_.first.size());
  strategy_state_.second = reader.doubles(strategy_state_.second.size());
  strategy_state_.control = reader.doubles(strategy_state_.control.size());
  clip_ = std::bit_cast<double>(reader.number<std::uint64_t>());
  centre_ = reader.floats(reader.number<std::uint64_t>());
  for (std::set<std::uint32_t>* const set : {&invited_, &silent_}) {
    const auto count = reader.number<std::uint32_t>();
    if (std::size_t{count} * 4 > reader.left()) return unreadable();
    for (std::uint32_t i = 0; i < count; ++i) set->insert(reader.number<std::uint32_t>());
  }
  if (!reader.done() || (!invited_.empty() && *invited_.rbegin() >= spec_->sites.size())) return unreadable();
  for (std::uint32_t site = 0; site < spec_->sites.size(); ++site) {
    if (stored.count(gone_key(site)) > 0) gone_.insert(site);
    if (const auto heard = stored.find(heard_key(site)); heard != stored.end()) {
      BodyReader of_site(heard->second);
      heard_[site].round = of_site.number<std::uint64_t>();
      heard_[site].upload = of_site.array<kDigestBytes>();
      heard_[site].counted = of_site.number<std::uint64_t>();
      if (!of_site.done()) return unreadable();
    }
  }
  forget_round();
  for (const std::uint32_t site : invited_) {
    const auto kept = stored.find(upload_key(round_, site));
    if (kept == stored.end()) continue;
    const auto envelope = parse_envelope(kept->second, sizes_of(*spec_));
    const auto upload = envelope ? parse_upload(*envelope) : std::nullopt;
    if (!upload) return unreadable();
    add(site, upload->lanes);
  }
  if (const auto record = stored.find(record_key(round_ - 1)); record != stored.end()) {
    last_ = parse_round_record(record->second);
  }
  return success();
}

void Coordinator::save_state(Effects& effects) const {
  BodyWriter writer;
  writer.number(kStoredVersion).bytes(spec_->run).number(spec_->epoch).number(static_cast<std::uint8_t>(state_));
  writer.number(round_).number(counted_).floats(model_).number(strategy_state_.rounds);
  writer.doubles(strategy_state_.first).doubles(strategy_state_.second).doubles(strategy_state_.control);
  writer.number(std::bit_cast<std::uint64_t>(clip_));
  writer.number(static_cast<std::uint64_t>(centre_.size())).floats(centre_);
  for (const std::set<std::uint32_t>* const set : {&invited_, &silent_}) {
    writer.number(static_cast<std::uint32_t>(set->size()));
    for (const std::uint32_t site : *set) writer.number(site);
  }
  effects.writes.push_back({"state", writer.take()});
}

void Coordinator::save_heard(std::uint32_t site, Effects& effects) const {
  const Heard& heard = heard_[site];
  BodyWriter writer;
  writer.number(heard.round).bytes(heard.upload).number(heard.counted);
  effects.writes.push_back({heard_key(site), writer.take()});
}

std::vector<std::uint8_t> Coordinator::broadcast() const {
  BodyWriter writer;
  writer.floats(model_).doubles(strategy_state_.control);
  return writer.take();
}

MessageKey Coordinator::key_for(std::uint32_t site) const {
  return {.run = spec_->run, .epoch = spec_->epoch, .round = round_, .stage = 0, .client = site};
}

void Coordinator::invite(std::uint32_t site, Effects& effects) const {
  const Invitation invitation{key_for(site), heard_[site].round, heard_[site].counted, broadcast()};
  effects.messages.push_back({site, to_bytes(invitation, *parts_.key)});
}

void Coordinator::send_finish(std::uint32_t site, Effects& effects) const {
  const Finish message{key_for(site), state_ == RunState::kComplete, heard_[site].counted, digest_of(broadcast())};
  effects.messages.push_back({site, to_bytes(message, *parts_.key)});
}

void Coordinator::forget_round() {
  received_.clear();
  declined_.clear();
  vectors_.clear();
  sum_.reset();
  client_sum_.reset();
  if (spec_->central) {
    client_sum_.emplace(*spec_->central, layout_.lanes(), ClipNorm::make(clip_).value());
  } else if (spec_->robust.rule == RobustRule::kMean) {
    sum_.emplace(layout_.lanes());
  }
}

bool Coordinator::can_take(const std::vector<float>& lanes) const {
  // Client-level sums clip whatever comes; robust rules leave out what is not finite.
  if (client_sum_ || !sum_) return true;
  if (!ExactSum::holds(lanes)) return false;
  if (spec_->upload.weighting == Weighting::kByCount) {
    const float weight = lanes[spec_->upload.parameters];
    if (!(weight >= 0 && weight <= 1)) return false;
  }
  if (spec_->strategy.kind == StrategyKind::kFedNova) {
    if (!(lanes.back() > 0 && lanes.back() <= static_cast<float>(spec_->upload.max_local_steps))) return false;
  }
  return true;
}

void Coordinator::add(std::uint32_t site, const std::vector<float>& lanes) {
  received_.insert(site);
  if (client_sum_) {
    client_sum_->add(lanes);
  } else if (sum_) {
    sum_->add(lanes);
  } else {
    vectors_.emplace_back(site, lanes);
  }
}

Effects Coordinator::start(BitStream& stream) {
  Effects effects;
  if (round_ == 0) {
    begin_round(effects, stream);
    return effects;
  }
  if (state_ != RunState::kRunning) {
    for (std::uint32_t site = 0; site < spec_->sites.size(); ++site) send_finish(site, effects);
    return effects;
  }
  for (const std::uint32_t site : invited_) {
    if (received_.count(site) == 0) invite(site, effects);
  }
  effects.wakes.push_back({spec_->round_limit_ms, round_ * 2 + kLimitTag});
  effects.wakes.push_back({spec_->resend_ms, round_ * 2 + kResendTag});
  close_if_all_answered(effects, stream);
  return effects;
}

void Coordinator::begin_round(Effects& effects, BitStream& stream) {
  for (;;) {
    if (counted_ == spec_->rounds) return finish(RunState::kComplete, effects);
    if (round_ == spec_->rounds + spec_->spare) return finish(RunState::kIncomplete, effects);
    ++round_;
    forget_round();
    invited_.clear();
    if (spec_->sampling) {
      for (const std::uint64_t site : PoissonSubsampler(*spec_->sampling).sample(stream, spec_->sites.size())) {
        invited_.insert(static_cast<std::uint32_t>(site));
      }
    } else {
      for (std::uint32_t site = 0; site < spec_->sites.size(); ++site) invited_.insert(invited_.end(), site);
    }
    for (const std::uint32_t site : gone_) invited_.erase(site);
    if (!spec_->central && invited_.size() < spec_->minimum_cohort) return finish(RunState::kIncomplete, effects);
    if (!invited_.empty()) break;
    // A sample of nobody is a round as well: its noise must be there.
    close_round(effects, stream);
    return;
  }
  save_state(effects);
  for (const std::uint32_t site : invited_) invite(site, effects);
  effects.wakes.push_back({spec_->round_limit_ms, round_ * 2 + kLimitTag});
  effects.wakes.push_back({spec_->resend_ms, round_ * 2 + kResendTag});
}

void Coordinator::close_if_all_answered(Effects& effects, BitStream& stream) {
  if (state_ != RunState::kRunning) return;
  bool somebody_waited_for = false;
  for (const std::uint32_t site : invited_) {
    if (received_.count(site) > 0 || declined_.count(site) > 0 || gone_.count(site) > 0) continue;
    if (silent_.count(site) == 0) return;
    somebody_waited_for = true;
  }
  // Silent sites are not waited for, as long as the others make a cohort.
  if (somebody_waited_for && received_.size() < std::max<std::size_t>(spec_->minimum_cohort, 1)) return;
  close_round(effects, stream);
}

std::optional<UploadLayout::Mean> Coordinator::mean_of_round(BitStream& stream) {
  if (client_sum_) {
    if (spec_->central->noise) {
      const std::string key = fmt::format("federated/{}/{}/{}", to_hex(spec_->run), spec_->epoch, round_);
      const auto answer = parts_.budget->reserve(key, *central_cost(*spec_));
      exhausted_ = answer.has_value() && answer.value() == BudgetAnswer::kExhausted;
      if (!answer.has_value() || answer.value() != BudgetAnswer::kGranted) return std::nullopt;
    }
    ClientSum::Released released = client_sum_->finish(stream);
    clip_ = released.next_clip.value();
    return UploadLayout::Mean{std::move(released.mean)};
  }
  const auto sites = static_cast<std::uint32_t>(received_.size());
  if (sum_) {
    auto mean = layout_.mean_of(row_noise_ ? row_noise_->decode(sum_->value()) : sum_->value(), sites);
    if (!mean.has_value()) return std::nullopt;
    return std::move(mean).value();
  }
  std::vector<ClientVector> vectors;
  vectors.reserve(vectors_.size());
  for (const auto& [site, lanes] : vectors_) vectors.push_back({site, lanes});
  auto combined = combine_robustly(spec_->robust, std::move(vectors), centre_);
  if (!combined.has_value() || !ExactSum::holds(combined.value().value)) return std::nullopt;
  if (spec_->robust.rule == RobustRule::kCentredClipping) centre_ = combined.value().value;
  return UploadLayout::Mean{{combined.value().value.begin(), combined.value().value.end()}};
}

void Coordinator::close_round(Effects& effects, BitStream& stream) {
  RoundRecord record{.round = round_, .counted = false, .survivors = {received_.begin(), received_.end()}, .model = {}};
  if (received_.size() >= spec_->minimum_cohort) {
    const double clip = clip_;
    if (const auto mean = mean_of_round(stream)) {
      auto moved = strategy_.move(model_, mean->view(), strategy_state_);
      if (moved.has_value() && ExactSum::holds(moved.value().model)) {
        model_ = std::move(moved.value().model);
        strategy_state_ = std::move(moved.value().state);
        ++counted_;
        record.counted = true;
      } else {
        clip_ = clip;
      }
    }
  }
  record.model = digest_of(broadcast());
  for (const std::uint32_t site : received_) {
    if (record.counted) {
      heard_[site].counted = round_;
      save_heard(site, effects);
    }
    effects.writes.push_back({upload_key(round_, site), std::nullopt});
  }
  silent_.clear();
  for (const std::uint32_t site : invited_) {
    if (received_.count(site) == 0 && declined_.count(site) == 0) silent_.insert(site);
  }
  effects.writes.push_back({record_key(round_), to_bytes(record)});
  last_ = std::move(record);
  if (exhausted_) return finish(RunState::kIncomplete, effects);
  begin_round(effects, stream);
}

void Coordinator::finish(RunState state, Effects& effects) {
  state_ = state;
  invited_.clear();
  forget_round();
  save_state(effects);
  for (std::uint32_t site = 0; site < spec_->sites.size(); ++site) send_finish(site, effects);
}

Effects Coordinator::receive(std::span<const std::uint8_t> message, BitStream& stream) {
  Effects effects;
  const auto envelope = parse_envelope(message, sizes_of(*spec_));
  if (!envelope || envelope->key.run != spec_->run || envelope->key.epoch != spec_->epoch || envelope->key.stage != 0 ||
      envelope->key.client >= spec_->sites.size()) {
    return effects;
  }
  const bool from_site = envelope->kind == RunMessageKind::kUpload || envelope->kind == RunMessageKind::kDecline;
  if (!from_site || !is_authentic(*envelope, spec_->sites[envelope->key.client])) return effects;
  if (state_ != RunState::kRunning) {
    send_finish(envelope->key.client, effects);
    return effects;
  }
  if (envelope->kind == RunMessageKind::kUpload) {
    take_upload(*envelope, effects, stream);
  } else {
    take_decline(*envelope, effects, stream);
  }
  return effects;
}

void Coordinator::take_upload(const RunEnvelope& envelope, Effects& effects, BitStream& stream) {
  const std::uint32_t site = envelope.key.client;
  Heard& heard = heard_[site];
  const Digest digest = digest_of(envelope.whole);
  if (heard.round == envelope.key.round) {
    if (heard.upload == digest) {
      effects.messages.push_back({site, to_bytes(Receipt{envelope.key, digest}, *parts_.key)});
    } else {
      ++second_stories_;
    }
    return;
  }
  const bool is_due = envelope.key.round == round_ && invited_.count(site) > 0;
  if (!is_due) {
    // A late one: the site is there after all, and is waited for again. It learns from the present round that its old
    // one is over.
    if (envelope.key.round < round_) silent_.erase(site);
    if (envelope.key.round < round_ && invited_.count(site) > 0 && received_.count(site) == 0) invite(site, effects);
    return;
  }
  const auto upload = parse_upload(envelope);
  if (!upload || !can_take(upload->lanes)) {
    declined_.insert(site);
    close_if_all_answered(effects, stream);
    return;
  }
  heard.round = round_;
  heard.upload = digest;
  save_heard(site, effects);
  effects.writes.push_back(
      {upload_key(round_, site), std::vector<std::uint8_t>(envelope.whole.begin(), envelope.whole.end())});
  effects.messages.push_back({site, to_bytes(Receipt{envelope.key, digest}, *parts_.key)});
  add(site, upload->lanes);
  declined_.erase(site);
  silent_.erase(site);
  close_if_all_answered(effects, stream);
}

void Coordinator::take_decline(const RunEnvelope& envelope, Effects& effects, BitStream& stream) {
  const auto decline = parse_decline(envelope);
  if (!decline) return;
  const std::uint32_t site = envelope.key.client;
  if (is_final(decline->reason) && gone_.insert(site).second) {
    effects.writes.push_back({gone_key(site), std::vector<std::uint8_t>{static_cast<std::uint8_t>(decline->reason)}});
  }
  if (envelope.key.round == round_ && invited_.count(site) > 0 && received_.count(site) == 0) declined_.insert(site);
  close_if_all_answered(effects, stream);
}

Effects Coordinator::wake(std::uint64_t tag, BitStream& stream) {
  Effects effects;
  if (state_ != RunState::kRunning || tag / 2 != round_) return effects;  // a wake-up of an earlier round
  if (tag % 2 == kLimitTag) {
    close_round(effects, stream);
    return effects;
  }
  for (const std::uint32_t site : invited_) {
    if (received_.count(site) == 0 && declined_.count(site) == 0 && gone_.count(site) == 0) invite(site, effects);
  }
  effects.wakes.push_back({spec_->resend_ms, round_ * 2 + kResendTag});
  return effects;
}

}  // namespace noisefloor::federated
