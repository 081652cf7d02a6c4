#include "noisefloor/ledger/host_counter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/canonical_json.h"
#include "noisefloor/ledger/file_lock.h"

namespace noisefloor {
namespace {

// The size of one disk block, so that the counter is written at once.
constexpr std::size_t kCounterBytes = 512;

std::string counter_text(const Seen& seen) {
  std::string text = fmt::format(R"({{"counter":1,"ledger":"{}","epoch":{},"sequence":{},"hash":"{}"}})",
                                 to_hex(seen.ledger), seen.epoch, seen.sequence, to_hex(seen.hash));
  text += "\n" + to_hex(blake2b(text));
  text.resize(kCounterBytes - 1, ' ');
  return text + "\n";
}

std::optional<Seen> counter_in(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  Seen seen{};
  CanonicalReader in(text.substr(0, end));
  in.literal(R"({"counter":1,"ledger":)");
  seen.ledger = in.bytes<kDigestBytes>();
  in.literal(R"(,"epoch":)");
  seen.epoch = in.count();
  in.literal(R"(,"sequence":)");
  seen.sequence = in.count();
  in.literal(R"(,"hash":)");
  seen.hash = in.bytes<kDigestBytes>();
  in.literal("}");
  if (!in.done() || counter_text(seen) != text) return std::nullopt;
  return seen;
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What tells this machine from another one that has the same folders. Containers that are made anew each time have
// another host name each time.
std::string machine_name() {
  const Result<std::string> id = read_file("/etc/machine-id", 256);
  if (id.has_value() && id.value().size() > 1) return id.value();
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? std::string(host.data()) : std::string();
}

Error counter_error(const std::string& path, std::string_view what) {
  return io_error(fmt::format(
      "the counter {} of this machine could not be {}: {}. Nothing was written. Let NOISEFLOOR_STATE_DIR name a folder "
      "that lasts, or be `none` where there is no such folder, and use a witness then",
      shown(path), what, std::strerror(errno)));
}

Result<std::optional<Seen>> read_counter(int descriptor, const std::string& path, const Digest& ledger) {
  std::array<char, kCounterBytes + 1> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size(), 0);
  if (got < 0) return counter_error(path, "read");
  if (got == 0) return std::optional<Seen>();  // it was being made when the machine stopped
  const std::optional<Seen> seen = counter_in({text.data(), static_cast<std::size_t>(got)});
  if (seen && seen->ledger == ledger) return std::optional(seen);
  return verification_failed(fmt::format(
      "the counter {} of this machine is {}. Nothing was written. Run `budget verify` with a witness, and then `budget "
      "adopt`",
      shown(path), seen ? "that of another ledger" : "damaged"));
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Result<CounterPlaces> counter_places_by_environment() {
  if (const std::string stated = environment_value("NOISEFLOOR_STATE_DIR"); !stated.empty()) {
    if (stated == "none") return CounterPlaces{};
    if (stated.starts_with('/')) return CounterPlaces{stated, false};
    return invalid_argument(fmt::format(
        "NOISEFLOOR_STATE_DIR must be `none` or begin with a slash, so that it is one folder wherever a program is "
        "started; it is {}",
        shown(stated)));
  }
  if (const std::string state = environment_value("XDG_STATE_HOME"); state.starts_with('/')) {
    return CounterPlaces{state + "/noisefloor", true};
  }
  if (const std::string home = environment_value("HOME"); home.starts_with('/') && home != "/") {
    return CounterPlaces{home + "/.local/state/noisefloor", true};
  }
  if (::geteuid() == 0) return CounterPlaces{"/var/lib/noisefloor", true};
  return io_error(
      "this user has no home folder, where the counters of ledgers would be. Nothing was written. Let "
      "NOISEFLOOR_STATE_DIR name a folder that lasts, or be `none` where there is no such folder, and use a witness "
      "then");
}

HostCounter::HostCounter(const std::string& folder, const Digest& ledger)
    : folder_(folder),
      path_(folder + "/" + to_hex(ledger) + ".counter"),
      mark_(to_hex(blake2b(fmt::format("{}\n{}\n{}", ::geteuid(), folder, machine_name()))).substr(0, 16)),
      ledger_(ledger) {}

Result<std::optional<Seen>> HostCounter::read(Use use) const {
  if (use == Use::kWrite) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    // A path that cannot be written to is found before the ledger is written to.
    if (::faccessat(AT_FDCWD, folder_.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return counter_error(path_, "written");
  }
  const FileLock file(path_, use == Use::kWrite ? O_RDWR : O_RDONLY, LOCK_SH);
  if (file.is_held()) return read_counter(file.descriptor(), path_, ledger_);
  // A reader who may not look into the folder has no counter there.
  if (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && use == Use::kLook)) return std::optional<Seen>();
  return counter_error(path_, "opened");
}

Result<void> HostCounter::advance(const Seen& seen) const {
  const FileLock file(path_, O_RDWR | O_CREAT, LOCK_EX);
  if (!file.is_held()) return counter_error(path_, "opened");
  NF_TRY(const std::optional<Seen> now, read_counter(file.descriptor(), path_, ledger_));
  if (now && !is_later(seen, *now)) return success();
  const std::string text = counter_text(seen);
  if (::pwrite(file.descriptor(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return counter_error(path_, "written");
  }
  if (!now) {
    if (::fsync(file.descriptor()) != 0) return counter_error(path_, "written");
    sync_folder(folder_);
  }
  return success();
}

Result<void> HostCounter::reset(const Seen& seen) const {
  // In place, because others may wait for the lock of this file.
  const FileLock file(path_, O_RDWR | O_CREAT, LOCK_EX);
  if (!file.is_held()) return counter_error(path_, "opened");
  const std::string text = counter_text(seen);
  const bool written = ::ftruncate(file.descriptor(), static_cast<off_t>(text.size())) == 0 &&
                       ::pwrite(file.descriptor(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(file.descriptor()) == 0;
  if (!written) return counter_error(path_, "written");
  sync_folder(folder_);
  return success();
}

}  // namespace noisefloor
