#include "noisefloor/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

Error file_error(const std::string& path, std::string_view what, int code) {
  return io_error(fmt::format("{} could not be {}: {}", shown(path), what, std::strerror(code)));
}

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// A new name in a folder is durable once the folder is.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Result<void> write_file(const std::string& path, const std::string& content) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return file_error(path, "written", errno);
  int code = write_all(descriptor, content) && ::fsync(descriptor) == 0 ? 0 : errno;
  if (::close(descriptor) != 0 && code == 0) code = errno;
  if (code == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return file_error(path, "written", code);
  }
  sync_folder_of(path);
  return success();
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return file_error(path, "read", errno);
  std::string content;
  std::array<char, 65536> buffer{};
  int code = 0;
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) code = errno;
    if (got <= 0) break;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > limit) break;
  }
  ::close(descriptor);
  if (code != 0) return file_error(path, "read", code);
  if (content.size() > limit) return io_error(fmt::format("{} is larger than {} bytes", shown(path), limit));
  return content;
}

Result<std::string> make_empty_folder(const std::string& wanted, const std::string& usual) {
  std::error_code error;
  std::filesystem::path folder = wanted.empty() ? usual : wanted;
  for (int next = 2; wanted.empty() && std::filesystem::exists(folder, error); ++next) {
    folder = fmt::format("{}-{}", usual, next);
  }
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_empty(folder, error)) {
    return invalid_argument(
        fmt::format("the folder {} is not empty: name another one, or remove it", shown(folder.string())));
  }
  std::filesystem::create_directories(folder, error);
  if (error)
    return io_error(fmt::format("the folder {} could not be made: {}", shown(folder.string()), error.message()));
  return std::filesystem::absolute(folder).string();
}

}  // namespace noisefloor
