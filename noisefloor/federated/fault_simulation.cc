#include "noisefloor/federated/fault_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/federated/body_bytes.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor::federated::internal {
namespace {

using MessageBytes = std::vector<std::uint8_t>;
using UploadKey = std::pair<std::uint64_t, std::uint32_t>;  // round, site

SigningKey key_number(std::uint64_t seed, std::uint64_t number) {
  BodyWriter writer;
  writer.number(seed).number(number);
  return SigningKey::from_seed(digest_of(writer.take()));
}

// A budget for so many rounds, on a disk that is never restored.
class CountedBudget final : public RoundBudget {
 public:
  CountedBudget(std::optional<std::uint64_t> limit, bool forgets) : limit_(limit), forgets_(forgets) {}
  [[nodiscard]] Result<BudgetAnswer> reserve(const std::string& key, const DpStatement& /*statement*/) override {
    if (granted_.count(key) > 0 && !forgets_) return BudgetAnswer::kBegunBefore;
    if (limit_ && granted_.size() >= *limit_) return BudgetAnswer::kExhausted;
    granted_.insert(key);
    return BudgetAnswer::kGranted;
  }
  [[nodiscard]] std::uint64_t granted() const { return granted_.size(); }

 private:
  std::optional<std::uint64_t> limit_;
  bool forgets_;
  std::set<std::string> granted_;
};

// Pulls the model to the site's number, with noise: a second upload of one round would be another one.
class PullingWork final : public LocalWork {
 public:
  PullingWork(std::uint32_t site, std::map<std::uint64_t, Digest>& broadcasts, std::optional<std::string>& violation)
      : site_(site), broadcasts_(broadcasts), violation_(violation) {}
  [[nodiscard]] Result<Contribution> contribute(const RoundTask& task, BitStream& stream) override {
    BodyWriter writer;
    writer.floats(task.model).doubles(task.control);
    const Digest digest = digest_of(writer.take());
    const auto [found, is_new] = broadcasts_.emplace(task.round, digest);
    if (!is_new && found->second != digest)
      violation_ = fmt::format("one model: two broadcasts of round {}", task.round);
    Contribution contribution;
    contribution.lanes.resize(task.model.size());
    fill_gaussian(stream, contribution.lanes, 0.1F);
    for (std::size_t k = 0; k < task.model.size(); ++k) {
      contribution.lanes[k] += 0.5F * (static_cast<float>(site_) - task.model[k]);
    }
    contribution.own.assign(task.own.begin(), task.own.end());
    contribution.own.push_back(static_cast<std::uint8_t>(task.round));
    return contribution;
  }

 private:
  std::uint32_t site_;
  std::map<std::uint64_t, Digest>& broadcasts_;
  std::optional<std::string>& violation_;
};

struct Event {
  std::uint64_t time;
  std::uint64_t tie;
  std::uint64_t order;
  std::uint32_t node;
  enum class Kind : std::uint8_t { kMessage, kWake, kRestart } kind;
  MessageBytes bytes;
  std::uint64_t tag;          // of a wake-up
  std::uint64_t incarnation;  // that asked for it
};
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return std::tie(a.time, a.tie, a.order) > std::tie(b.time, b.tie, b.order);
  }
};

// A process with its disk.
struct Node {
  std::uint32_t site = 0;  // kCoordinator for the coordinator
  Stored disk = {};
  std::deque<Stored> copies = {};  // old copies of the disk
  std::optional<Coordinator> coordinator = {};
  std::optional<Site> machine = {};
  std::uint64_t incarnation = 0;
  [[nodiscard]] bool up() const { return coordinator || machine; }
};

class Simulation {
 public:
  explicit Simulation(const FaultOptions& options);
  FaultReport run();

 private:
  bool fault(double rate);
  void boot(std::uint32_t node);
  void kill(std::uint32_t node);
  void perform(std::uint32_t node, Effects effects);
  bool write(Node& node, const std::vector<Write>& writes);
  void send(std::uint32_t from_node, const Outgoing& message);
  void deliver(std::uint32_t node, MessageBytes bytes, std::uint64_t delay);
  void schedule(std::uint64_t time, std::uint32_t node, Event::Kind kind, MessageBytes bytes, std::uint64_t tag);
  void lie(std::uint32_t site, Outgoing& message, std::vector<Outgoing>& further);
  void look_at_sent(std::uint32_t node, const Outgoing& message);
  void look_at_written(const Write& write);
  void look_at_coordinator();
  void violated(std::string what) {
    if (!report_.violation) report_.violation = std::move(what);
  }
  [[nodiscard]] Liar liar(std::uint32_t site) const {
    return site < options_.liars.size() ? options_.liars[site] : Liar::kHonest;
  }

  FaultOptions options_;
  RunSpec spec_;
  std::vector<SigningKey> keys_;
  SigningKey coordinator_key_;
  ReplayRandom random_;  // noise and ties
  ReplayRandom fate_;    // one number for each fault that could happen
  std::uint64_t fault_number_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::vector<Node> nodes_;  // sites, the twin, and the coordinator last
  std::vector<std::unique_ptr<CountedBudget>> budgets_;
  std::vector<std::unique_ptr<PullingWork>> works_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> cut_until_;
  FaultReport report_;
  MessageBytes trace_;

  // What was seen.
  std::map<std::uint64_t, Digest> broadcasts_;
  std::map<UploadKey, Digest> uploads_;  // that left
  std::map<UploadKey, MessageBytes> accepted_;
  std::map<UploadKey, bool> receipts_;
  std::uint64_t records_seen_ = 0;
  std::uint64_t highest_round_ = 0;
  std::vector<float> shadow_model_;
  StrategyState shadow_state_;
  std::vector<float> shadow_centre_;
};

RunSpec spec_for(const FaultOptions& options, const std::vector<SigningKey>& keys, const SigningKey& coordinator) {
  RunSpec spec;
  BodyWriter writer;
  writer.number(options.seed);
  spec.run = digest_of(writer.take());
  spec.coordinator = coordinator.public_key();
  for (const SigningKey& key : keys) spec.sites.push_back(key.public_key());
  spec.strategy.kind = options.strategy;
  spec.upload.strategy = options.strategy;
  spec.upload.parameters = options.parameters;
  spec.upload.total_weight = options.sites;
  spec.robust = options.robust;
  spec.rounds = options.rounds;
  spec.spare = options.spare;
  spec.minimum_cohort = options.minimum_cohort;
  spec.site_cost = DpStatement{Adjacency::kAddRemove, PrivacyUnit::kRow, GaussianEvent{NoiseMultiplier::of(1.0)}};
  spec.round_limit_ms = 5'000;
  spec.resend_ms = 700;
  return spec;
}

std::vector<SigningKey> keys_for(const FaultOptions& options) {
  std::vector<SigningKey> keys;
  for (std::uint32_t site = 0; site < options.sites; ++site) keys.push_back(key_number(options.seed, site));
  return keys;
}

Simulation::Simulation(const FaultOptions& options)
    : options_(options),
      keys_(keys_for(options)),
      coordinator_key_(key_number(options.seed, kCoordinator)),
      random_(ReplayRandom::create(options.seed).value()),
      fate_(ReplayRandom::create(options.seed + 0x1'0000'0000).value()) {
  spec_ = spec_for(options_, keys_, coordinator_key_);
  for (std::uint32_t site = 0; site < options_.sites; ++site) {
    nodes_.push_back({.site = site});
    budgets_.push_back(std::make_unique<CountedBudget>(options_.budget, options_.grant_again));
    works_.push_back(std::make_unique<PullingWork>(site, broadcasts_, report_.violation));
  }
  if (options_.twin) nodes_.push_back({.site = 0});
  nodes_.push_back({.site = kCoordinator});
  shadow_model_.assign(options_.parameters, 0.0F);
  shadow_state_ = Strategy::create(spec_.strategy, options_.parameters).value().initial();
}

bool Simulation::fault(double rate) {
  const std::uint64_t number = fault_number_++;
  const double drawn = static_cast<double>(fate_.next_u64() >> 11) * 0x1p-53;
  if (now_ >= options_.faults_until_ms || drawn >= rate) return false;
  if (options_.only && options_.only->count(number) == 0) return false;
  report_.faults.push_back(number);
  return true;
}

void Simulation::schedule(std::uint64_t time, std::uint32_t node, Event::Kind kind, MessageBytes bytes,
                          std::uint64_t tag) {
  queue_.push({time, random_.next_u64(), order_++, node, kind, std::move(bytes), tag, nodes_[node].incarnation});
}

void Simulation::boot(std::uint32_t number) {
  Node& node = nodes_[number];
  ++node.incarnation;
  ++report_.restarts;
  Effects effects;
  if (node.site == kCoordinator) {
    auto opened = Coordinator::open({.spec = &spec_, .key = &coordinator_key_}, std::vector<float>(options_.parameters),
                                    node.disk);
    if (!opened.has_value()) return violated("recovery: " + opened.error().message);
    node.coordinator.emplace(std::move(opened).value());
    effects = node.coordinator->start(random_);
  } else {
    auto opened = Site::open({.spec = &spec_,
                              .number = node.site,
                              .key = &keys_[node.site],
                              .work = works_[node.site].get(),
                              .budget = budgets_[node.site].get(),
                              .outbox = options_.outbox},
                             node.disk);
    if (!opened.has_value()) return violated("recovery: " + opened.error().message);
    node.machine.emplace(std::move(opened).value());
    effects = node.machine->start(random_);
  }
  perform(number, std::move(effects));
}

void Simulation::kill(std::uint32_t number) {
  Node& node = nodes_[number];
  node.coordinator.reset();
  node.machine.reset();
  if (node.site != kCoordinator && !node.copies.empty() && fault(options_.rates.restore))
    node.disk = node.copies.front();
  schedule(now_ + 100 + uniform_below(random_, 2000), number, Event::Kind::kRestart, {}, 0);
}

bool Simulation::write(Node& node, const std::vector<Write>& writes) {
  if (writes.empty()) return true;
  if (fault(options_.rates.write_error)) return false;
  if (node.site != kCoordinator) {
    node.copies.push_back(node.disk);
    if (node.copies.size() > 4) node.copies.pop_front();
  }
  for (const Write& each : writes) {
    if (node.site == kCoordinator) look_at_written(each);
    if (each.value) {
      node.disk[each.key] = *each.value;
    } else {
      node.disk.erase(each.key);
    }
  }
  return true;
}

void Simulation::perform(std::uint32_t number, Effects effects) {
  ++report_.steps;
  Node& node = nodes_[number];
  const bool bug = options_.acknowledge_before_durable && node.site == kCoordinator;
  if (bug) {
    for (const Outgoing& message : effects.messages) send(number, message);
  }
  if (fault(options_.rates.kill_before_write) || !write(node, effects.writes)) return kill(number);
  if (node.site == kCoordinator) look_at_coordinator();
  if (fault(options_.rates.kill_after_write)) return kill(number);
  if (!bug) {
    for (const Outgoing& message : effects.messages) {
      send(number, message);
      if (fault(options_.rates.kill_between_messages)) return kill(number);
    }
  }
  for (const Wake& wake : effects.wakes) schedule(now_ + wake.after_ms, number, Event::Kind::kWake, {}, wake.tag);
}

void Simulation::deliver(std::uint32_t node, MessageBytes bytes, std::uint64_t delay) {
  if (fault(options_.rates.bit_flip)) {
    const std::uint64_t bit = uniform_below(random_, 8 * bytes.size());
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ 1U << bit % 8);
  }
  if (fault(options_.rates.truncate)) bytes.resize(uniform_below(random_, bytes.size()));
  if (fault(options_.rates.delay)) delay += uniform_below(random_, 8000);
  schedule(now_ + delay, node, Event::Kind::kMessage, std::move(bytes), 0);
}

void Simulation::send(std::uint32_t from, const Outgoing& outgoing) {
  std::vector<Outgoing> all{outgoing};
  const std::uint32_t from_site = nodes_[from].site;
  if (from_site != kCoordinator && liar(from_site) != Liar::kHonest) {
    std::vector<Outgoing> further;
    lie(from_site, all.front(), further);
    all.insert(all.end(), further.begin(), further.end());
    if (liar(from_site) == Liar::kSilent) return;
  } else {
    look_at_sent(from, outgoing);
  }
  for (const Outgoing& message : all) {
    ++report_.messages;
    BodyWriter traced;
    traced.bytes(trace_).number(now_).number(from).bytes(digest_of(message.bytes));
    const Digest so_far = digest_of(traced.take());
    trace_.assign(so_far.begin(), so_far.end());
    for (std::uint32_t to = 0; to < nodes_.size(); ++to) {
      if (nodes_[to].site != message.to) continue;
      if (fault(options_.rates.cut)) cut_until_[{from, to}] = now_ + uniform_below(random_, 6000);
      if (now_ < cut_until_[{from, to}] && now_ < options_.faults_until_ms) continue;
      if (fault(options_.rates.drop)) continue;
      deliver(to, message.bytes, 1 + uniform_below(random_, 40));
      if (fault(options_.rates.duplicate)) deliver(to, message.bytes, 1 + uniform_below(random_, 3000));
    }
  }
}

// A liar holds its site's key: what it sends is signed.
void Simulation::lie(std::uint32_t site, Outgoing& message, std::vector<Outgoing>& further) {
  const auto envelope = parse_envelope(message.bytes, sizes_of(spec_));
  auto upload = envelope ? parse_upload(*envelope) : std::nullopt;
  if (!upload) return;
  switch (liar(site)) {
    case Liar::kNaN:
      upload->lanes[0] = std::numeric_limits<float>::quiet_NaN();
      break;
    case Liar::kHuge:
      upload->lanes[0] = 1e30F;
      break;
    case Liar::kSecondStory: {
      Upload other = *upload;
      other.lanes[0] += 1;
      further.push_back({message.to, to_bytes(other, keys_[site])});
      ++other.key.round;  // of a round that has not begun
      further.push_back({message.to, to_bytes(other, keys_[site])});
      break;
    }
    case Liar::kWrongLength:
      upload->lanes.resize(upload->lanes.size() + 1);
      break;
    default:
      break;
  }
  message.bytes = to_bytes(*upload, keys_[site]);
}

void Simulation::look_at_sent(std::uint32_t number, const Outgoing& message) {
  const auto envelope = parse_envelope(message.bytes, sizes_of(spec_));
  if (!envelope) return violated("format: a machine sent what it cannot read");
  const UploadKey key{envelope->key.round, envelope->key.client};
  if (envelope->kind == RunMessageKind::kUpload) {
    const Digest digest = digest_of(message.bytes);
    const auto [found, is_new] = uploads_.emplace(key, digest);
    if (!is_new && found->second != digest) {
      violated(fmt::format("story: site {} sent two uploads for round {}", key.second, key.first));
    }
    std::uint64_t sent = 0;
    for (const auto& [of, unused] : uploads_) sent += of.second == key.second ? 1 : 0;
    if (sent > budgets_[key.second]->granted()) {
      violated(fmt::format("spent: site {} sent uploads of more rounds than it was granted", key.second));
    }
  }
  if (envelope->kind == RunMessageKind::kReceipt) {
    receipts_[key] = true;
    for (const RoundRecord& record : report_.records) {
      if (record.round != key.first) continue;
      if (!std::binary_search(record.survivors.begin(), record.survivors.end(), key.second)) {
        violated(
            fmt::format("receipt: round {} closed without site {}, which then got a receipt", key.first, key.second));
      }
    }
  }
  (void)number;
}

void Simulation::look_at_written(const Write& write) {
  if (!write.value || write.key.rfind("in/", 0) != 0) return;
  const auto envelope = parse_envelope(*write.value, sizes_of(spec_));
  if (!envelope) return violated("format: the coordinator kept what it cannot read");
  const UploadKey key{envelope->key.round, envelope->key.client};
  const auto [found, is_new] = accepted_.emplace(key, *write.value);
  if (!is_new && found->second != *write.value) {
    violated(fmt::format("once: round {} accepted two uploads of site {}", key.first, key.second));
  }
}

void Simulation::look_at_coordinator() {
  const Node& node = nodes_.back();
  if (!node.coordinator) return;
  if (node.coordinator->round() < highest_round_) violated("growth: the coordinator went back to an earlier round");
  highest_round_ = std::max(highest_round_, node.coordinator->round());
  if (node.coordinator->state() != RunState::kRunning && report_.ended_ms == 0) report_.ended_ms = now_;
  for (;;) {
    const auto found = node.disk.find(Coordinator::record_key(records_seen_ + 1));
    if (found == node.disk.end()) break;
    ++records_seen_;
    const RoundRecord record = parse_round_record(found->second).value();
    report_.records.push_back(record);
    for (const auto& [key, unused] : receipts_) {
      if (key.first != record.round) continue;
      if (!std::binary_search(record.survivors.begin(), record.survivors.end(), key.second)) {
        violated(fmt::format("receipt: site {} got a receipt for round {}, and is not in it", key.second, key.first));
      }
    }
    if (record.counted && record.survivors.size() < options_.minimum_cohort) {
      violated(fmt::format("cohort: round {} counted with {} sites", record.round, record.survivors.size()));
    }
    if (record.counted) {
      // The same again, from the uploads alone.
      std::vector<std::vector<float>> lanes;
      ExactSum sum(options_.parameters);
      for (const std::uint32_t site : record.survivors) {
        const auto kept = accepted_.find({record.round, site});
        if (kept == accepted_.end()) return violated("replay: a survivor whose upload was never accepted");
        lanes.push_back(parse_upload(*parse_envelope(kept->second, sizes_of(spec_)))->lanes);
      }
      std::vector<double> update;
      if (spec_.robust.rule == RobustRule::kMean) {
        for (const auto& each : lanes) sum.add(each);
        update = sum.value();
        for (double& value : update) value /= static_cast<double>(lanes.size());
      } else {
        std::vector<ClientVector> vectors;
        for (std::size_t i = 0; i < lanes.size(); ++i) vectors.push_back({record.survivors[i], lanes[i]});
        const auto combined = combine_robustly(spec_.robust, vectors, shadow_centre_);
        if (!combined.has_value()) return violated("replay: the rule fails on a round that counted");
        update.assign(combined.value().value.begin(), combined.value().value.end());
        if (spec_.robust.rule == RobustRule::kCentredClipping) shadow_centre_ = combined.value().value;
      }
      const double share = static_cast<double>(lanes.size()) / options_.sites;
      auto moved = Strategy::create(spec_.strategy, options_.parameters)
                       .value()
                       .move(shadow_model_, {.update = update, .share = share}, shadow_state_);
      if (!moved.has_value()) return violated("replay: the strategy fails on a round that counted");
      shadow_model_ = moved.value().model;
      shadow_state_ = moved.value().state;
    }
    BodyWriter writer;
    writer.floats(shadow_model_).doubles(shadow_state_.control);
    if (digest_of(writer.take()) != record.model) {
      violated(fmt::format("replay: the model after round {} is not what its survivors sent", record.round));
    }
  }
}

FaultReport Simulation::run() {
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) boot(node);
  // Every round ends by its limit; the rest is for restarts and late messages.
  const std::uint64_t bound =
      options_.faults_until_ms + (options_.rounds + options_.spare + 3) * (spec_.round_limit_ms + 3000);
  while (!queue_.empty() && !report_.violation) {
    Event event = queue_.top();
    queue_.pop();
    now_ = event.time;
    if (now_ > bound) break;
    Node& node = nodes_[event.node];
    if (event.kind == Event::Kind::kRestart) {
      boot(event.node);
      continue;
    }
    if (!node.up() || (event.kind == Event::Kind::kWake && event.incarnation != node.incarnation)) continue;
    Effects effects;
    if (event.kind == Event::Kind::kMessage) {
      effects = node.coordinator ? node.coordinator->receive(event.bytes, random_)
                                 : node.machine->receive(event.bytes, random_);
    } else {
      effects = node.coordinator ? node.coordinator->wake(event.tag, random_) : node.machine->wake(event.tag, random_);
    }
    perform(event.node, std::move(effects));
  }
  const Node& last = nodes_.back();
  if (!report_.violation && (!last.coordinator || last.coordinator->state() == RunState::kRunning)) {
    violated("ending: the run has not ended in time");
  }
  if (last.coordinator) {
    report_.state = last.coordinator->state();
    report_.counted = last.coordinator->counted();
    report_.rounds = last.coordinator->round();
    report_.model = last.coordinator->model();
  }
  std::copy(trace_.begin(), trace_.end(), report_.digest.begin());
  return report_;
}

}  // namespace

FaultReport simulate_faults(const FaultOptions& options) { return Simulation(options).run(); }

FaultOptions faults_for_seed(std::uint64_t seed) {
  ReplayRandom random = ReplayRandom::create(seed + 0x2'0000'0000).value();
  const auto rate = [&](double most) {
    // Each fault is absent in half of the seeds.
    const double drawn = static_cast<double>(uniform_below(random, 1000)) / 1000;
    return drawn < 0.5 ? 0.0 : most * (2 * drawn - 1);
  };
  FaultOptions options;
  options.seed = seed;
  options.sites = static_cast<std::uint32_t>(3 + uniform_below(random, 3));
  options.rounds = 2 + uniform_below(random, 3);
  options.minimum_cohort = 2;
  options.strategy = kStrategies[uniform_below(random, 7)].second;  // all but FedNova, whose work would differ
  options.outbox = uniform_below(random, 3) == 0 ? OutboxPolicy::kIntent : OutboxPolicy::kKeep;
  options.rates = {.drop = rate(0.3),
                   .duplicate = rate(0.3),
                   .delay = rate(0.2),
                   .bit_flip = rate(0.1),
                   .truncate = rate(0.1),
                   .cut = rate(0.05),
                   .kill_before_write = rate(0.08),
                   .kill_after_write = rate(0.08),
                   .kill_between_messages = rate(0.05),
                   .write_error = rate(0.08),
                   .restore = rate(0.5)};
  for (std::uint32_t site = 0; site < options.sites; ++site) {
    const std::uint64_t kind = uniform_below(random, 20);
    options.liars.push_back(kind <= 5 ? static_cast<Liar>(kind) : Liar::kHonest);
  }
  if (uniform_below(random, 5) == 0) options.budget = 1 + uniform_below(random, 3);
  options.twin = uniform_below(random, 6) == 0;
  return options;
}

std::set<std::uint64_t> shrink_faults(const FaultOptions& options) {
  const FaultReport first = simulate_faults(options);
  NF_CHECK(first.violation, "only what fails can be shrunk");
  std::vector<std::uint64_t> kept(first.faults);
  const auto fails_with = [&](const std::vector<std::uint64_t>& faults) {
    FaultOptions fewer = options;
    fewer.only = std::set<std::uint64_t>(faults.begin(), faults.end());
    return simulate_faults(fewer).violation.has_value();
  };
  // Leaves out ever smaller parts.
  for (std::size_t part = std::max<std::size_t>(kept.size() / 2, 1);; part = std::max<std::size_t>(part / 2, 1)) {
    bool left_out = false;
    for (std::size_t at = 0; at < kept.size();) {
      std::vector<std::uint64_t> fewer(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(at));
      fewer.insert(fewer.end(), kept.begin() + static_cast<std::ptrdiff_t>(std::min(at + part, kept.size())),
                   kept.end());
      if (fails_with(fewer)) {
        kept = fewer;
        left_out = true;
      } else {
        at += part;
      }
    }
    if (part == 1 && !left_out) break;
  }
  return {kept.begin(), kept.end()};
}

}  // namespace noisefloor::federated::internal
