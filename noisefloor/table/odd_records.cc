#include "noisefloor/table/odd_records.h"

#include <fmt/format.h>

#include "noisefloor/table/byte_source.h"

namespace noisefloor {

Error OddRecords::about_file(const Error& precise, std::string_view name, std::string_view what) const {
  if (this->precise() || precise.code != ErrorCode::kInputData) return precise;
  return input_data_error(one_line(fmt::format("{}: {}", name, what)));
}

}  // namespace noisefloor
