// Why a client or a server ends a round, or turns a message away: a closed list.
#pragma once

#include <cstdint>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor::secagg {

enum class AbortReason : std::uint8_t {
  // Any message
  kMalformed,     // not the one text of a message of this round
  kNotAuthentic,  // not from the sender that it names, or changed on its way
  kNotDue,        // not the message that comes next
  kOtherStory,    // a second message in place of one that was answered already, with other content
  // The invitation
  kConfigurationRefused,  // out of range, or another registry of clients
  kThreatModelRefused,    // protects from less than the client insists on
  kNoiseRefused,          // the noise is not what the client insists on, or does not fit the configuration
  kReplayRefused,         // a stream that can be replayed in a round that is not, or the other way round
  kNotInvited,            // the invitation is not signed by the server that the client knows
  kEpochRefused,          // the keys of another epoch, or of none, or of one that has had its rounds
  kOldRound,              // the client took part in this round, or a later one, before
  kThresholdTooLow,       // too few corrupt neighbours would suffice to see a client's input
  // Keys
  kCohortTooSmall,  // fewer clients than the minimum cohort
  kRosterTooSmall,  // fewer clients than the configuration's minimum roster
  kUnknownClient,   // a client that the registry does not list
  kDuplicate,       // one key twice
  kBadSignature,    // keys that their owner did not sign, for this round and configuration
  kNotInTheTree,    // the client's own keys, or a neighbour's, are not those that the roster's root stands for
  kBadKey,          // a public key with which no secret can be agreed on
  // Shares and survivors
  kTooFewNeighbours,  // fewer neighbours than the threshold are left
  kOtherChallenge,    // the question about shares is not the one that the configuration commits to
  kSharesUnreadable,  // a neighbour is to go on whose shares do not open: it has another view of the round
  kLeftOut,           // a list of clients does not hold the one it was sent to
  kNewSurvivor,       // a survivor who was not there before
  kNotConfirmed,      // fewer of the committee than the threshold signed the same survivors
  kNoInput,           // the input was not given in time
  // The server alone
  kTooFewShares,  // too few neighbours of some client answered: its mask stays
  kBadShares,     // the shares of some client do not give what it committed to
};

// "malformed", "not-authentic", …
[[nodiscard]] std::string_view name_of(AbortReason reason);

// Code kProtocol; "not-authentic: …" with the reason in words.
[[nodiscard]] Error error_of(AbortReason reason);

}  // namespace noisefloor::secagg
