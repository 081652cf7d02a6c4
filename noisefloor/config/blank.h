// The mark in a configuration file where a person still has to fill in a value.
#pragma once

#include <string_view>

namespace noisefloor {

// `lower = "FILL IN"` and `values = ["FILL IN"]` are blanks, whatever type the key has. Reading a file with a blank
// gives the finding "blank" with its line.
inline constexpr std::string_view kBlank = "FILL IN";

}  // namespace noisefloor
