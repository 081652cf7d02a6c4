// Events and statements as JSON: docs/formats/event.md describes the format.
//
// Guarantee:  parse(to_json(x)) == x for every x within the limits whose texts are UTF-8 and whose samples are no
//             larger than their population; for others, writing keeps what it can and reading refuses the rest. to_json
//             is deterministic. Reading is strict: an unknown kind or field, a missing or repeated field, a number out
//             of range or too small for a double, an unknown version, or anything after the document is an error, and
//             nothing is guessed.
// Limits:     kMaxEventDepth levels and kMaxEventNodes events in one document, so that hostile input costs little.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

inline constexpr int kEventFormatVersion = 1;
inline constexpr std::size_t kMaxEventDepth = 64;
inline constexpr std::size_t kMaxEventNodes = 1'000'000;

// One line, e.g. {"kind":"gaussian","noise_multiplier":1.1}.
[[nodiscard]] std::string to_json(const DpEvent& event);

// One line, e.g. {"noisefloor_event":1,"adjacency":"add-remove","unit":"row","event":{…}}.
[[nodiscard]] std::string to_json(const DpStatement& statement);

[[nodiscard]] Result<DpEvent> parse_event(std::string_view json_text);
[[nodiscard]] Result<DpStatement> parse_statement(std::string_view json_text);

}  // namespace noisefloor
