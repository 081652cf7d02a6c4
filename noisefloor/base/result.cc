#include "noisefloor/base/result.h"

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

struct CodeEntry {
  int exit_code;
  std::string_view name;
};

CodeEntry entry_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return {1, "internal"};
    case ErrorCode::kInvalidArgument:
      return {2, "invalid_argument"};
    case ErrorCode::kBudgetExhausted:
      return {3, "budget_exhausted"};
    case ErrorCode::kInputData:
      return {4, "input_data"};
    case ErrorCode::kIo:
      return {5, "io"};
    case ErrorCode::kVerificationFailed:
      return {6, "verification_failed"};
    case ErrorCode::kProtocol:
      return {7, "protocol"};
  }
  NF_UNREACHABLE("an error code outside the closed list");
}

}  // namespace

int exit_code(ErrorCode code) { return entry_of(code).exit_code; }
std::string_view name_of(ErrorCode code) { return entry_of(code).name; }

Error internal_error(std::string message) { return {ErrorCode::kInternal, std::move(message)}; }
Error invalid_argument(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }
Error budget_exhausted(std::string message) { return {ErrorCode::kBudgetExhausted, std::move(message)}; }
Error input_data_error(std::string message) { return {ErrorCode::kInputData, std::move(message)}; }
Error io_error(std::string message) { return {ErrorCode::kIo, std::move(message)}; }
Error verification_failed(std::string message) { return {ErrorCode::kVerificationFailed, std::move(message)}; }

}  // namespace noisefloor
