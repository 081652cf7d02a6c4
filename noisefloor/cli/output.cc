#include "noisefloor/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "noisefloor/base/text.h"

namespace noisefloor::cli {

Result<void> write_file(const std::string& path, const std::string& content) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  const auto failed = [&] {
    const Error error =
        io_error(fmt::format("{} could not be written: {}", noisefloor::shown(path), std::strerror(errno)));
    std::remove(temporary.c_str());
    return error;
  };
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return failed();
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) return failed();
  return success();
}

}  // namespace noisefloor::cli
