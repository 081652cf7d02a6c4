#include "noisefloor/ledger/fence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/canonical_json.h"
#include "noisefloor/ledger/file_lock.h"

namespace noisefloor {
namespace {

// The size of one disk block, so that the fence is written at once.
constexpr std::size_t kFenceBytes = 512;
constexpr std::size_t kMarkBytes = 8;

std::string to_text(const Fence& fence) {
  // A fence that names no counters has the form of version 1, which older programs read.
  std::string counters;
  for (const std::string& one : fence.counters) counters += fmt::format(R"({}"{}")", counters.empty() ? "" : ",", one);
  if (!fence.counters.empty()) counters = fmt::format(R"(,"counters":[{}])", counters);
  std::string text =
      fmt::format(R"({{"fence":{},"ledger":"{}","inode":{},"born_ns":{},"epoch":{},"sequence":{},"hash":"{}"{}}})",
                  counters.empty() ? 1 : 2, to_hex(fence.ledger), fence.file.inode, fence.file.born_ns, fence.epoch,
                  fence.sequence, to_hex(fence.hash), counters);
  text += "\n" + to_hex(blake2b(text));
  text.resize(kFenceBytes - 1, ' ');
  return text + "\n";
}

std::optional<Fence> from_text(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  Fence fence{};
  CanonicalReader in(text.substr(0, end));
  in.literal(R"({"fence":)");
  const bool names_counters = in.count() == 2;
  in.literal(R"(,"ledger":)");
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
  if (names_counters) {
    in.literal(R"(,"counters":)");
    in.list([&] { fence.counters.push_back(to_hex(in.bytes<kMarkBytes>())); });
    if (fence.counters.empty() || fence.counters.size() > kMaxFenceCounters) return std::nullopt;
  }
  in.literal("}");
  if (!in.done() || to_text(fence) != text) return std::nullopt;
  return fence;
}

Error fence_error(const std::string& path, std::string_view what) {
  return io_error(fmt::format("the fence {} could not be {}: {}", shown(path), what, std::strerror(errno)));
}

Result<std::optional<Fence>> read_from(int descriptor, const std::string& path) {
  std::array<char, kFenceBytes + 1> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  if (got < 0) return fence_error(path, "read");
  if (auto fence = from_text({text.data(), static_cast<std::size_t>(got)})) return fence;
  return verification_failed(fmt::format(
      "the fence {} is damaged. Nothing was written. Run `budget verify` with a witness, and then `budget adopt`",
      shown(path)));
}

}  // namespace

Result<FileIdentity> identity_of(const std::string& path) {
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0) {
    return io_error(fmt::format("the file {} could not be examined: {}", shown(path), std::strerror(errno)));
  }
  const bool born = (status.stx_mask & STATX_BTIME) != 0;
  return FileIdentity{status.stx_ino,
                      born ? status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec : std::int64_t{0}};
}

Result<std::optional<Fence>> FenceFile::read(Use use) const {
  const FileLock file(path_, use == Use::kWrite ? O_RDWR : O_RDONLY, LOCK_SH);
  if (!file.is_held()) {
    if (errno == ENOENT) return std::optional<Fence>();
    return fence_error(path_, "opened");
  }
  return read_from(file.descriptor(), path_);
}

Result<void> FenceFile::create(const Fence& fence) const { return write_file(path_, to_text(fence)); }

Result<void> FenceFile::advance(const Fence& fence) const {
  const FileLock file(path_, O_RDWR, LOCK_EX);
  if (!file.is_held()) return fence_error(path_, "opened");
  NF_TRY(const std::optional<Fence> now, read_from(file.descriptor(), path_));
  if (now->ledger != fence.ledger) return success();
  const bool is_later = now->epoch != fence.epoch ? fence.epoch > now->epoch : fence.sequence > now->sequence;
  Fence next = is_later ? fence : *now;
  next.counters = now->counters;
  for (const std::string& one : fence.counters) {
    if (std::find(next.counters.begin(), next.counters.end(), one) == next.counters.end()) next.counters.push_back(one);
  }
  if (next.counters.size() > kMaxFenceCounters) {
    next.counters.erase(next.counters.begin(), next.counters.end() - kMaxFenceCounters);
  }
  if (!is_later && next.counters == now->counters) return success();
  const std::string text = to_text(next);
  if (::pwrite(file.descriptor(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fence_error(path_, "written");
  }
  return success();
}

}  // namespace noisefloor
