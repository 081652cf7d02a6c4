// The one error idiom of the project: every function that can fail returns Result<T>.
//
// Errors:      a closed list of codes. Each maps to one exit code of the program, here and nowhere else.
// Messages:    one line that names the offending value and the remedy. They may be logged and shown to anyone, so they
//              never carry records, unnoised aggregates, gradients, keys or seeds.
// Exceptions:  code that calls a throwing library catches at that call and returns an Error.
#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace noisefloor {

enum class ErrorCode : std::uint8_t {
  kInternal,            // a defect of ours, or of the machine
  kInvalidArgument,     // the caller asked for something that has no meaning
  kBudgetExhausted,     // the privacy budget does not allow it; nothing was released
  kInputData,           // the data cannot be read as what they were declared to be
  kIo,                  // reading or writing failed
  kVerificationFailed,  // a certificate, signature or claim is not true
  kProtocol,            // a peer broke the protocol
};

// The exit code of a program that ends because of an error with this code.
[[nodiscard]] int exit_code(ErrorCode code);

// The stable name of a code, as it stands in JSON: "invalid_argument", "budget_exhausted", …
[[nodiscard]] std::string_view name_of(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

// Reading the value of a failed result, or the error of a good one, ends the process.
template <class T>
using Result = boost::outcome_v2::basic_result<T, Error, boost::outcome_v2::policy::terminate>;

[[nodiscard]] Error internal_error(std::string message);
[[nodiscard]] Error invalid_argument(std::string message);
[[nodiscard]] Error budget_exhausted(std::string message);
[[nodiscard]] Error input_data_error(std::string message);
[[nodiscard]] Error io_error(std::string message);
[[nodiscard]] Error verification_failed(std::string message);

[[nodiscard]] inline auto success() { return boost::outcome_v2::success(); }

}  // namespace noisefloor

// NF_TRY(declaration, expression): declares the value of a Result, or returns its error from this function.
// NF_TRY_VOID(expression): the same where there is no value to keep.
#define NF_CONCAT_IMPL(a, b) a##b
#define NF_CONCAT(a, b) NF_CONCAT_IMPL(a, b)
#define NF_TRY_IMPL(result, declaration, ...)                \
  auto result = (__VA_ARGS__);                               \
  if (!result.has_value()) return std::move(result).error(); \
  declaration = std::move(result).value()
#define NF_TRY(declaration, ...) NF_TRY_IMPL(NF_CONCAT(nf_result_, __LINE__), declaration, __VA_ARGS__)
#define NF_TRY_VOID(...)                                             \
  do {                                                               \
    auto nf_result = (__VA_ARGS__);                                  \
    if (!nf_result.has_value()) return std::move(nf_result).error(); \
  } while (false)
