#include "noisefloor/ledger/fence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/canonical_json.h"

namespace noisefloor {
namespace {

// One block, so that it is written as one.
constexpr std::size_t kFenceBytes = 512;
constexpr int kAttempts = 10;  // at reading one that is being written

std::string to_text(const Fence& fence) {
  std::string text = fmt::format(
      R"({{"fence":1,"ledger":"{}","inode":{},"born_ns":{},"epoch":{},"sequence":{},"hash":"{}"}})",
      to_hex(fence.ledger), fence.file.inode, fence.file.born_ns, fence.epoch, fence.sequence, to_hex(fence.hash));
  text += "\n" + to_hex(blake2b(text));
  text.resize(kFenceBytes - 1, ' ');
  return text + "\n";
}

std::optional<Fence> from_text(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  Fence fence{};
  CanonicalReader in(text.substr(0, end));
  in.literal(R"({"fence":1,"ledger":)");
  fence.ledger = in.bytes<kDigestBytes>();
  in.literal(R"(,"inode":)");
  fence.file.inode = in.count();
  in.literal(R"(,"born_ns":)");
  fence.file.born_ns = in.integer();
  in.literal(R"(,"epoch":)");
  fence.epoch = in.count();
  in.literal(R"(,"sequence":)");
  fence.sequence = in.count();
  in.literal(R"(,"hash":)");
  fence.hash = in.bytes<kDigestBytes>();
  in.literal("}");
  if (!in.done() || to_text(fence) != text) return std::nullopt;
  return fence;
}

Error fence_error(const std::string& path, std::string_view what) {
  return io_error(fmt::format("the fence {} could not be {}: {}", shown(path), what, std::strerror(errno)));
}

}  // namespace

Result<FileIdentity> identity_of(const std::string& path) {
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0) {
    return io_error(fmt::format("{} could not be looked at: {}", shown(path), std::strerror(errno)));
  }
  const bool born = (status.stx_mask & STATX_BTIME) != 0;
  return FileIdentity{status.stx_ino,
                      born ? status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec : std::int64_t{0}};
}

FenceFile::~FenceFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::optional<Fence>> FenceFile::read() {
  if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0 && (errno == EACCES || errno == EROFS)) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    if (errno == ENOENT) return std::optional<Fence>();
    return fence_error(path_, "opened");
  }
  for (int i = 0; i < kAttempts; ++i) {
    std::array<char, kFenceBytes> text{};
    const ssize_t got = ::pread(descriptor_, text.data(), text.size(), 0);
    if (got < 0) return fence_error(path_, "read");
    if (auto fence = from_text({text.data(), static_cast<std::size_t>(got)})) return fence;
  }
  return Error{ErrorCode::kVerificationFailed, fmt::format("the fence {} is damaged", shown(path_))};
}

Result<void> FenceFile::create(const Fence& fence) {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  return write_file(path_, to_text(fence));
}

Result<void> FenceFile::advance(const Fence& fence) {
  const std::string text = to_text(fence);
  if (::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fence_error(path_, "written");
  }
  return success();
}

}  // namespace noisefloor
