// Rules that span the fields of an event, and rules about lists. Quantities keep their own ranges by their types.
//
// Guarantee:     what check_fields() accepts has lists of finite numbers, none of them empty or longer than
//                kMaxListLength, and fields that agree with each other as dp_event.h says. Readers refuse other
//                events, and accountants do so once more: a program may have built them.
// Thread safety: pure.
#pragma once

#include <cstddef>

#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

inline constexpr std::size_t kMaxListLength = 65'536;
inline constexpr double kProbabilitySlack = 1e-9;

// Of this event alone, without the events inside.
[[nodiscard]] Result<void> check_fields(const DpEvent& event);

}  // namespace noisefloor
