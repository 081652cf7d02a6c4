// Strict reading of numbers from text. The whole text must be the number: no spaces, no unit, no leftover.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

// `text` without the password that it holds, if it is the place of a database: scheme://user:password@host/name, with
// or without ?password=…, or host=… password=…. Where the password ends is read generously, so that a password with an
// @, a / or a ? in it is not shown in part. Every output that shows where a ledger is goes through this.
[[nodiscard]] std::string without_password(std::string_view text);

// `text` in quotes as an error message may show it: without a password, printable (base/printable.h), and shortened to
// whole characters of at most 40 bytes, followed by "…" if some are left out.
[[nodiscard]] std::string shown(std::string_view text);

// The parts of "a,b,c". The text "" has one part, which is empty.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

// A finite decimal number such as "3", "-0.5" or "1e-6"; nothing else ("nan", "inf", "0x1", "1e400", "" are not).
[[nodiscard]] std::optional<double> parse_finite(std::string_view text);

// As above for an argument whose value may be shown: the error names it. `what` is the name of the argument.
[[nodiscard]] Result<double> parse_number(std::string_view what, std::string_view text);
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view what, std::string_view text);
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view what, std::string_view text);

}  // namespace noisefloor
