// What asking would do, in words. Internal to query/.
//
// Guarantee:     the text is a function of its arguments, none of which depends on rows; the engine is asked for the
//                SQL that it would send, and reads no table.
// Thread safety: as the engine's.
#pragma once

#include <span>
#include <string>

#include "noisefloor/dataset/description.h"
#include "noisefloor/engine/engine.h"
#include "noisefloor/query/noise_split.h"
#include "noisefloor/query/noised.h"

namespace noisefloor::query {

// `engine` may be null, and then `why_not` says why.
[[nodiscard]] std::string explained(const DatasetDescription& description, std::span<const Plan> plans,
                                    const NoiseSplit& split, const NoiseTerms& terms, engine::Engine* engine,
                                    const std::string& why_not);

}  // namespace noisefloor::query
