// Checks of what this code itself promises. A failed check is a defect: the process ends, in every build mode, before
// anything is released. Input from outside is never checked this way; it gets an Error.
#pragma once

#include <string_view>

namespace noisefloor {

// Prints the place and the message on standard error and aborts. The message is a literal: it cannot carry data.
[[noreturn]] void check_failed(std::string_view file, int line, std::string_view what);

}  // namespace noisefloor

#define NF_CHECK(condition, what) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::noisefloor::check_failed(__FILE__, __LINE__, what))
#define NF_UNREACHABLE(what) ::noisefloor::check_failed(__FILE__, __LINE__, what)
