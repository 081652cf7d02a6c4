#include "noisefloor/secagg/abort.h"

#include <fmt/format.h>

#include "noisefloor/base/check.h"

namespace noisefloor::secagg {
namespace {

struct Entry {
  std::string_view name;
  std::string_view words;
};

Entry entry_of(AbortReason reason) {
  switch (reason) {
    case AbortReason::kMalformed:
      return {"malformed", "these bytes are not a message of this round"};
    case AbortReason::kNotAuthentic:
      return {"not-authentic", "the message was not sent by whom it says, or was changed on its way"};
    case AbortReason::kNotDue:
      return {"not-due", "another message comes next, or none"};
    case AbortReason::kOtherStory:
      return {"other-story", "this was asked and answered before, with other content"};
    case AbortReason::kConfigurationRefused:
      return {"configuration-refused", "the round's configuration is out of range or for another registry of clients"};
    case AbortReason::kThreatModelRefused:
      return {"threat-model-refused", "the round protects from less than this client insists on"};
    case AbortReason::kNoiseRefused:
      return {"noise-refused", "the round's noise is less than this client insists on, or does not fit its vectors"};
    case AbortReason::kReplayRefused:
      return {"replay-refused", "replayed rounds take a ReplayRandom, and all others a SecureRandom"};
    case AbortReason::kNotInvited:
      return {"not-invited", "the invitation is not signed with the server's key that this client knows"};
    case AbortReason::kEpochRefused:
      return {"epoch-refused", "the round belongs to another epoch, or the epoch has had its rounds: begin anew"};
    case AbortReason::kOldRound:
      return {"old-round", "this client took part in this round or a later one before"};
    case AbortReason::kThresholdTooLow:
      return {"threshold-too-low", "corrupt clients could see an input, more likely than this client accepts"};
    case AbortReason::kCohortTooSmall:
      return {"cohort-too-small", "fewer clients than the minimum cohort"};
    case AbortReason::kRosterTooSmall:
      return {"roster-too-small", "fewer clients than the minimum roster: too large a share of them could be corrupt"};
    case AbortReason::kUnknownClient:
      return {"unknown-client", "the registry does not list this client"};
    case AbortReason::kDuplicate:
      return {"duplicate", "a key is listed twice"};
    case AbortReason::kBadSignature:
      return {"bad-signature", "keys that their owner did not sign for this round and configuration"};
    case AbortReason::kNotInTheTree:
      return {"not-in-the-tree", "the roster's root stands for other keys than these, or than the client sent"};
    case AbortReason::kBadKey:
      return {"bad-key", "no secret can be agreed on with this public key"};
    case AbortReason::kTooFewNeighbours:
      return {"too-few-neighbours", "fewer neighbours than the threshold are left"};
    case AbortReason::kOtherChallenge:
      return {"other-challenge", "the question about shares is not the one that the configuration commits to"};
    case AbortReason::kSharesUnreadable:
      return {"shares-unreadable", "a neighbour's shares do not open: its view of the round is another one"};
    case AbortReason::kLeftOut:
      return {"left-out", "the list does not hold the client it was sent to"};
    case AbortReason::kNewSurvivor:
      return {"new-survivor", "a survivor was not there before"};
    case AbortReason::kNotConfirmed:
      return {"not-confirmed", "fewer of the committee than the threshold signed the same survivors"};
    case AbortReason::kNoInput:
      return {"no-input", "the input was not given in time"};
    case AbortReason::kTooFewShares:
      return {"too-few-shares", "too few neighbours of a client answered; nothing was learnt"};
    case AbortReason::kBadShares:
      return {"bad-shares", "a client's shares do not give what it committed to"};
  }
  NF_UNREACHABLE("a reason outside the closed list");
}

}  // namespace

std::string_view name_of(AbortReason reason) { return entry_of(reason).name; }

Error error_of(AbortReason reason) {
  const Entry entry = entry_of(reason);
  return {ErrorCode::kProtocol, fmt::format("{}: {}", entry.name, entry.words)};
}

}  // namespace noisefloor::secagg
