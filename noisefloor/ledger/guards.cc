#include "noisefloor/ledger/guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"

namespace noisefloor::internal {
namespace {

constexpr std::string_view kAdoptRemedy =
    "Nothing was written. If this is now the only copy, run `budget verify` with a witness and then `budget adopt`";

Seen seen_by(const Fence& fence) { return {fence.ledger, fence.epoch, fence.sequence, fence.hash}; }
Seen seen_at(const Head& head) { return {head.ledger, head.epoch, head.sequence, head.hash}; }

Result<Sighting> ask(const std::string& name, WitnessPlace& place, const Digest& ledger, Sighting::By by) {
  NF_TRY(const std::optional<Witness> witness, place.read(ledger));
  Sighting sighting{by, fmt::format("the witness {}", shown(name)), std::nullopt};
  if (witness) {
    sighting.seen = seen_at(witness->head);
    sighting.signer = witness->signer.value_or(witness->key);
  }
  return sighting;
}

// Where counters are, for a machine or a user that may have none.
Result<CounterPlaces> places_for(const std::optional<CounterPlaces>& stated) {
  if (stated) return *stated;
  return counter_places_by_environment();
}

}  // namespace

Witness witness_of(const LedgerState& state, const Head& head, TimeMs time) {
  const PublicKey& owner = state.genesis().key;
  const PublicKey& signer = state.last_author().key;
  return {owner, head, time, signer == owner ? std::nullopt : std::optional(signer)};
}

Result<std::vector<Sighting>> counters_of(const std::optional<CounterPlaces>& places, const Digest& ledger) {
  std::vector<Sighting> sightings;
  const Result<CounterPlaces> found = places_for(places);
  if (!found.has_value()) return sightings;  // a user without a home has never written
  if (!found.value().folder.empty()) {
    const HostCounter counter(found.value().folder, ledger);
    NF_TRY(const std::optional<Seen> seen, counter.read(HostCounter::Use::kLook));
    if (seen) {
      sightings.push_back(
          {Sighting::By::kCounter, fmt::format("the counter {} of this machine", shown(counter.path())), seen});
    }
  }
  if (found.value().in_kernel) {
    if (const std::optional<Seen> seen = KernelCounter(ledger).read()) {
      sightings.push_back({Sighting::By::kCounter, "the kernel of this machine", seen});
    }
  }
  return sightings;
}

Result<Sighting> ask_registered(const std::string& name, const Digest& ledger) {
  NF_TRY(const std::unique_ptr<WitnessPlace> place, open_witness_place(name, {ledger}));
  return ask(name, *place, ledger, Sighting::By::kRegistered);
}

Result<std::optional<std::string>> doubt_of(const Sighting& sighting, LedgerTransaction& transaction,
                                            const LedgerState& state, const Head& head) {
  using By = Sighting::By;
  if (!sighting.seen) {
    if (sighting.by == By::kJoining) return std::optional<std::string>();
    return std::optional(fmt::format(
        "{} has not seen this ledger: {}", sighting.who,
        sighting.by == By::kRegistered
            ? "it was emptied, or is not mounted. Put it back, or drop it with `budget witness` and a reason"
            : "write it there first with `budget witness`"));
  }
  const Seen& seen = *sighting.seen;
  // Entries that are missing here may have made the signer a member.
  const bool by_a_stranger =
      sighting.signer && !state.may_sign_heads(*sighting.signer) && seen.sequence <= head.sequence;
  if (seen.ledger != head.ledger || by_a_stranger) {
    return std::optional(
        fmt::format("{} {}: name the one that was written for this ledger", sighting.who,
                    seen.ledger == head.ledger ? "is signed by nobody of this ledger" : "belongs to another ledger"));
  }
  if (seen.sequence == head.sequence && seen.hash == head.hash) return std::optional<std::string>();
  if (seen.sequence < head.sequence) {
    NF_TRY(const std::optional<StoredEntry> entry, transaction.entry(seen.sequence));
    if (entry && entry->hash == seen.hash) return std::optional<std::string>();
  }
  const bool may_be_given_up =
      sighting.by == By::kCounter || sighting.by == By::kRegistered || sighting.by == By::kJoining;
  if (may_be_given_up && state.has_given_up(seen.epoch, seen.sequence)) return std::optional<std::string>();
  return std::optional(fmt::format(
      "{} has seen entry {}, which this ledger does not have: it was rolled back, or another copy was written to",
      sighting.who, seen.sequence));
}

Error lost_ledger(const std::string& who, const Head& head, const std::string& place) {
  return verification_failed(
      fmt::format("{} has seen {} entries of the ledger {}, and there is no ledger {}: it was lost. Nothing was made. "
                  "Restore it, and "
                  "go on with `budget adopt`; for a ledger that is to be new, name another witness",
                  who, head.sequence + 1, to_hex(head.ledger).substr(0, 16), shown(place)));
}

Guards::Guards(GuardSettings settings, std::optional<std::string> file, std::string place)
    : settings_(std::move(settings)), file_(std::move(file)), place_(std::move(place)) {
  if (file_) fence_.emplace(*file_);
}

Guards::~Guards() { release(); }

void Guards::release() {
  for (WitnessPlace* const place : locked_) place->unlock();
  locked_.clear();
}

Result<void> Guards::find_counters(const Digest& ledger) {
  if (found_counters_) return success();
  NF_TRY(const CounterPlaces places, places_for(settings_.counters));
  if (!places.folder.empty()) host_.emplace(places.folder, ledger);
  if (places.in_kernel) kernel_.emplace(ledger);
  found_counters_ = true;
  return success();
}

Result<std::vector<Sighting>> Guards::ask_counters(bool writes, const std::optional<Fence>& fence, bool adopts) {
  std::vector<Sighting> sightings;
  if (host_) {
    const auto use = writes ? HostCounter::Use::kWrite : HostCounter::Use::kLook;
    Result<std::optional<Seen>> seen = host_->read(use);
    // An adoption makes a counter that cannot be read anew.
    const bool damaged = !seen.has_value() && seen.error().code == ErrorCode::kVerificationFailed;
    if (!seen.has_value() && !(adopts && damaged)) return seen.error();
    const std::string who = fmt::format("the counter {} of this machine", shown(host_->path()));
    if (seen.has_value() && seen.value()) {
      sightings.push_back({Sighting::By::kCounter, who, seen.value()});
    } else if (fence && !adopts &&
               std::find(fence->counters.begin(), fence->counters.end(), host_->mark()) != fence->counters.end()) {
      return verification_failed(
          fmt::format("{} is gone: it was deleted, or the folder of counters was replaced. {}", who, kAdoptRemedy));
    }
  }
  if (kernel_) {
    if (const std::optional<Seen> seen = kernel_->read()) {
      sightings.push_back({Sighting::By::kCounter, "the kernel of this machine", seen});
    }
  }
  return sightings;
}

Result<std::optional<Fence>> Guards::check_fence(LedgerTransaction& transaction, const LedgerState& state,
                                                 const Head& head, bool adopts, std::vector<Sighting>& sightings) {
  if (!fence_) {
    if (adopts) return std::optional<Fence>();
    NF_TRY(const std::optional<std::string> moved, transaction.find_moved());
    if (!moved) return std::optional<Fence>();
    return verification_failed(fmt::format("the ledger {} is a copy: {}. {}", shown(place_), *moved, kAdoptRemedy));
  }
  const Result<std::optional<Fence>> read = fence_->read(FenceFile::Use::kWrite);
  if (adopts) {
    // The fence says nothing about a copy, but what it has seen of this very ledger counts.
    if (read.has_value() && read.value() && read.value()->ledger == head.ledger) {
      sightings.push_back({Sighting::By::kFence, "its fence", seen_by(*read.value())});
    }
    return std::optional<Fence>();
  }
  if (!read.has_value()) return read.error();
  const std::optional<Fence>& fence = read.value();
  if (!fence) {
    return verification_failed(
        fmt::format("the ledger {} has no fence beside it: it may be a copy. {}", shown(*file_), kAdoptRemedy));
  }
  NF_TRY(const FileIdentity file, identity_of(*file_));
  if (fence->ledger != head.ledger || fence->file != file) {
    return verification_failed(
        fmt::format("the ledger {} is a copy: its fence belongs to another file. {}", shown(*file_), kAdoptRemedy));
  }
  const Sighting sighting{Sighting::By::kFence, "its fence", seen_by(*fence)};
  NF_TRY(const std::optional<std::string> doubt, doubt_of(sighting, transaction, state, head));
  if (doubt || fence->epoch > head.epoch) {
    return verification_failed(
        fmt::format("the ledger {} ends at entry {}, and its fence has seen entry {}: it was rolled back. {}",
                    shown(*file_), head.sequence, fence->sequence, kAdoptRemedy));
  }
  return fence;
}

Result<WitnessPlace*> Guards::place_of(const std::string& name, const Digest& ledger) {
  const auto known = places_.find(name);
  if (known != places_.end()) return known->second.get();
  NF_TRY(std::unique_ptr<WitnessPlace> place, open_witness_place(name, {ledger, settings_.busy_ms}));
  return places_.emplace(name, std::move(place)).first->second.get();
}

namespace {

// The witnesses that are asked, in an order that is the same for everybody, so that writers do not wait for each other
// in a circle.
std::map<std::string, Sighting::By> witnesses_to_ask(const GuardSettings& settings, const LedgerState& state,
                                                     const GuardedChange& change) {
  std::map<std::string, Sighting::By> asked;
  for (const std::string& one : settings.witnesses) asked.emplace(full_place(one), Sighting::By::kWitness);
  for (const std::string& one : state.witnesses()) {
    if (one != change.leaves) asked.emplace(one, Sighting::By::kRegistered);
  }
  if (!change.joins.empty()) asked[change.joins] = Sighting::By::kJoining;
  return asked;
}

}  // namespace

Result<void> Guards::lock_witnesses(const LedgerState& state, const Head* before, const GuardedChange& change,
                                    std::vector<Sighting>& sightings) {
  const Digest ledger = before == nullptr ? Digest{} : before->ledger;
  for (const auto& [name, by] : witnesses_to_ask(settings_, state, change)) {
    const auto ask_one = [&, &name = name, by = by]() -> Result<void> {
      NF_TRY(WitnessPlace* const place, place_of(name, ledger));
      NF_TRY_VOID(place->lock(ledger));
      locked_.push_back(place);
      NF_TRY(Sighting sighting, ask(name, *place, ledger, by));
      sightings.push_back(std::move(sighting));
      return success();
    };
    const Result<void> asked = ask_one();
    if (asked.has_value()) continue;
    if (by != Sighting::By::kRegistered || asked.error().code != ErrorCode::kIo) return asked.error();
    if (change.adopts && change.gives_up) {
      places_.erase(name);  // it is asked again before the next write
      continue;
    }
    const std::string why = asked.error().message;
    places_.erase(name);
    return io_error(fmt::format(
        "the ledger's witness {} could not be asked: {}. Nothing was written. Make it reachable, or drop it "
        "with `budget witness` and a reason",
        shown(name), why));
  }
  return success();
}

Result<std::optional<std::uint64_t>> Guards::check(LedgerTransaction& transaction, const LedgerState& state,
                                                   const Head* before, const GuardedChange& change) {
  release();
  std::vector<Sighting> witnesses;
  NF_TRY_VOID(lock_witnesses(state, before, change, witnesses));
  if (before == nullptr) {
    for (const Sighting& one : witnesses) {
      if (!one.seen) continue;
      return lost_ledger(one.who, {one.seen->ledger, one.seen->epoch, one.seen->sequence, one.seen->hash, {}}, place_);
    }
    NF_TRY(const CounterPlaces places, places_for(settings_.counters));
    if (!places.folder.empty()) NF_TRY_VOID(HostCounter(places.folder, Digest{}).read(HostCounter::Use::kWrite));
    return std::optional<std::uint64_t>();
  }
  NF_TRY_VOID(find_counters(before->ledger));
  std::vector<Sighting> sightings;
  NF_TRY(const std::optional<Fence> fence, check_fence(transaction, state, *before, change.adopts, sightings));
  if (!fence_) {
    NF_TRY(lacks_fence_, transaction.lacks_fence());
  }
  sightings.insert(sightings.end(), witnesses.begin(), witnesses.end());
  NF_TRY(const std::vector<Sighting> counters, ask_counters(true, fence, change.adopts));
  sightings.insert(sightings.end(), counters.begin(), counters.end());
  std::optional<std::uint64_t> missing;
  for (const Sighting& one : sightings) {
    const bool signed_well = !one.signer || state.may_sign_heads(*one.signer);
    if (one.seen && known_ && *one.seen == *known_ && signed_well) continue;
    NF_TRY(const std::optional<std::string> doubt, doubt_of(one, transaction, state, *before));
    if (!doubt) continue;
    const bool is_of_another = one.seen && one.seen->ledger != before->ledger;
    // A witness that the caller names is never given up.
    if (change.adopts && change.gives_up && one.by != Sighting::By::kWitness && !is_of_another) {
      if (one.seen) missing = std::max(missing.value_or(0), one.seen->sequence);
      continue;
    }
    if (one.by == Sighting::By::kWitness || one.by == Sighting::By::kJoining) {
      return one.seen ? verification_failed(fmt::format("{}. Nothing was written", *doubt))
                      : io_error(fmt::format("{}. Nothing was written", *doubt));
    }
    if (change.adopts) {
      return verification_failed(
          fmt::format("{}. What the missing entries spent would count no longer. Nothing was written. Look for a newer "
                      "copy; if there is none, adopt this one and say that entries are lost",
                      *doubt));
    }
    return verification_failed(
        fmt::format("the ledger {}: {}. {}", shown(place_), *doubt, one.seen ? kAdoptRemedy : "Nothing was written"));
  }
  return missing;
}

Result<void> Guards::move_on(const LedgerState& state, const Head& head, TimeMs time, bool makes_fence) {
  const Seen seen = seen_at(head);
  known_ = seen;
  const bool is_new = head.sequence == 0;
  // The entries are committed. A counter or a fence that stays behind is weaker, not wrong.
  bool has_counter = false;
  if (find_counters(head.ledger).has_value() && host_) {
    if (is_new) static_cast<void>(host_->read(HostCounter::Use::kWrite));  // makes the folder
    has_counter = (makes_fence && !is_new ? host_->reset(seen) : host_->advance(seen)).has_value();
  }
  if (kernel_) makes_fence ? kernel_->reset(seen) : kernel_->advance(seen);
  if (fence_) {
    NF_TRY(const FileIdentity file, identity_of(*file_));
    Fence fence{head.ledger, file, head.epoch, head.sequence, head.hash};
    if (has_counter) fence.counters = {host_->mark()};
    if (makes_fence) {
      NF_TRY_VOID(fence_->create(fence));
    } else {
      static_cast<void>(fence_->advance(fence));
    }
  }
  const Witness witness = witness_of(state, head, time);
  for (WitnessPlace* const place : locked_) NF_TRY_VOID(place->write(witness));
  return success();
}

Result<std::vector<Sighting>> Guards::look(const LedgerState& state, bool ask_witnesses) {
  const Digest& ledger = state.genesis().ledger;
  std::vector<Sighting> sightings;
  if (fence_) {
    const Result<std::optional<Fence>> fence = fence_->read(FenceFile::Use::kLook);
    if (fence.has_value() && fence.value() && fence.value()->ledger == ledger) {
      sightings.push_back({Sighting::By::kFence, "its fence", seen_by(*fence.value())});
    }
  }
  NF_TRY(const std::vector<Sighting> counters, counters_of(settings_.counters, ledger));
  sightings.insert(sightings.end(), counters.begin(), counters.end());
  if (!ask_witnesses) return sightings;
  for (const auto& [name, by] : witnesses_to_ask(settings_, state, {})) {
    NF_TRY(WitnessPlace* const place, place_of(name, ledger));
    NF_TRY(Sighting sighting, ask(name, *place, ledger, by));
    sightings.push_back(std::move(sighting));
  }
  return sightings;
}

}  // namespace noisefloor::internal
