#include "noisefloor/pate/ballots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {
namespace {

constexpr std::string_view kFirstLine =
    "NOISEFLOOR BALLOTS 1: PRIVATE. How teachers vote, without noise. Keep this file inside your organisation, and "
    "wipe "
    "it when the student is made.\n";
constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kHeadBytes = kDigestBytes + 3 * sizeof(std::uint64_t) + kKeyBytes;
constexpr std::size_t kAbsent = ~std::size_t{0};

Error failed(const std::string& what, const std::string& path) {
  return io_error(fmt::format("{} {}: {}", what, shown(path), std::strerror(errno)));
}

// A file that is closed, and so unlocked, when this is destroyed.
class LockedFile {
 public:
  LockedFile() = default;
  explicit LockedFile(int file) : file_(file) {}
  LockedFile(LockedFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  LockedFile& operator=(LockedFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  ~LockedFile() {
    if (file_ >= 0) (void)::close(file_);
  }

  [[nodiscard]] int number() const { return file_; }

  static Result<LockedFile> open(const std::string& path, int flags) {
    LockedFile file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (file.file_ < 0) return failed("cannot open", path);
    if (::flock(file.file_, LOCK_EX | LOCK_NB) != 0) {
      return io_error(fmt::format("{} is in use: another process teaches with it", shown(path)));
    }
    // Also where the file was there before with other rights.
    if (::fchmod(file.file_, S_IRUSR | S_IWUSR) != 0) return failed("cannot make private:", path);
    return file;
  }

 private:
  int file_ = -1;
};

Result<std::string> read_whole(const LockedFile& file, const std::string& path) {
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return failed("cannot read", path);
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(file.number(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Result<void> write_at(const LockedFile& file, std::string_view bytes, std::size_t place, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file.number(), bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return failed("cannot write", path);
    place += static_cast<std::size_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.number()) != 0) return failed("cannot write", path);
  return success();
}

void append(std::string& bytes, const void* from, std::size_t size) {
  bytes.append(static_cast<const char*>(from), size);
}

void append(std::string& bytes, std::uint64_t number) { append(bytes, &number, sizeof number); }

}  // namespace

struct Ballots::State {
  std::string path;
  BallotTerms terms;
  LockedFile file;
  std::string head;  // the first line and the terms with the key
  ShortKey key;
  std::size_t end = 0;
  std::vector<std::size_t> place;  // of each teacher's votes in `votes`, or kAbsent
  std::vector<std::uint16_t> votes;
  std::size_t taught = 0;

  [[nodiscard]] std::size_t record_bytes() const {
    return sizeof(std::uint64_t) + terms.queries * sizeof(std::uint16_t) + kDigestBytes;
  }

  [[nodiscard]] std::string record_of(std::uint64_t teacher, std::span<const std::uint16_t> of) const {
    std::string record;
    append(record, teacher);
    append(record, of.data(), of.size() * sizeof(std::uint16_t));
    const Digest digest = blake2b(head + record);
    append(record, digest.data(), digest.size());
    return record;
  }

  Result<void> keep(std::size_t teacher, std::span<const std::uint16_t> of) {
    if (teacher >= terms.teachers) return internal_error("a ballot of a teacher that there is not");
    if (place[teacher] != kAbsent) return internal_error("a teacher votes once, and this one has voted");
    if (of.size() != terms.queries ||
        std::any_of(of.begin(), of.end(), [&](std::uint16_t vote) { return vote >= terms.classes; })) {
      return internal_error("a ballot has one class for each query");
    }
    place[teacher] = votes.size();
    votes.insert(votes.end(), of.begin(), of.end());
    ++taught;
    return success();
  }

  // Reads what an earlier process has written.
  Result<void> take(const std::string& bytes) {
    const Error other = invalid_argument(fmt::format(
        "{} belongs to other rows, other public examples or other teachers: wipe it, or give another folder",
        shown(path)));
    if (!bytes.starts_with(kFirstLine) || bytes.size() < kFirstLine.size() + kHeadBytes) {
      return invalid_argument(
          fmt::format("{} is not a file of ballots, or was cut short: remove it, or give another folder", shown(path)));
    }
    head = bytes.substr(0, kFirstLine.size() + kHeadBytes);
    std::string expected(kFirstLine);
    append_terms(expected);
    if (!head.starts_with(expected)) return other;
    std::memcpy(key.bytes().data(), head.data() + expected.size(), kKeyBytes);
    std::size_t at = head.size();
    const std::size_t size = record_bytes();
    for (; at + size <= bytes.size(); at += size) {
      std::uint64_t teacher = 0;
      std::memcpy(&teacher, bytes.data() + at, sizeof teacher);
      std::vector<std::uint16_t> of(terms.queries);
      std::memcpy(of.data(), bytes.data() + at + sizeof teacher, of.size() * sizeof(std::uint16_t));
      if (record_of(teacher, of) != std::string_view(bytes).substr(at, size)) {
        // The last record may not have reached the disk as a whole.
        if (at + size >= bytes.size()) break;
        return verification_failed(fmt::format("{} was altered: wipe it", shown(path)));
      }
      NF_TRY_VOID(keep(static_cast<std::size_t>(teacher), of));
    }
    end = at;
    if (::ftruncate(file.number(), static_cast<off_t>(end)) != 0) return failed("cannot write", path);
    return success();
  }

  void append_terms(std::string& bytes) const {
    append(bytes, terms.work.data(), terms.work.size());
    append(bytes, terms.teachers);
    append(bytes, terms.queries);
    append(bytes, terms.classes);
  }

  Result<void> begin() {
    NF_TRY(SecureRandom random, SecureRandom::create());
    random.fill(std::as_writable_bytes(std::span(key.bytes())));
    head = kFirstLine;
    append_terms(head);
    append(head, key.bytes().data(), kKeyBytes);
    end = head.size();
    return write_at(file, head, 0, path);
  }
};

Ballots::Ballots(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ballots::Ballots(Ballots&&) noexcept = default;
Ballots& Ballots::operator=(Ballots&&) noexcept = default;
Ballots::~Ballots() = default;

Result<Ballots> Ballots::open(const std::string& path, const BallotTerms& terms) {
  if (terms.teachers == 0 || terms.queries == 0 || terms.classes < 2 || terms.classes > 65536) {
    return invalid_argument("ballots are of at least one teacher, about at least one example, for 2 to 65536 classes");
  }
  auto state = std::make_unique<State>();
  state->path = path;
  state->terms = terms;
  state->place.assign(terms.teachers, kAbsent);
  NF_TRY(state->file, LockedFile::open(path, O_RDWR | O_CREAT));
  NF_TRY(const std::string bytes, read_whole(state->file, path));
  // A process that was killed while it made the file has left less than its head.
  const bool begun = bytes.size() >= kFirstLine.size() + kHeadBytes ||
                     !kFirstLine.starts_with(std::string_view(bytes).substr(0, kFirstLine.size()));
  if (begun) {
    NF_TRY_VOID(state->take(bytes));
  } else {
    NF_TRY_VOID(state->begin());
  }
  return Ballots(std::move(state));
}

const ShortKey& Ballots::shard_key() const { return state_->key; }

bool Ballots::has(std::size_t teacher) const {
  return teacher < state_->terms.teachers && state_->place[teacher] != kAbsent;
}

std::size_t Ballots::count() const { return state_->taught; }

Result<void> Ballots::add(std::size_t teacher, std::span<const std::uint16_t> votes) {
  NF_TRY_VOID(state_->keep(teacher, votes));
  const std::string record = state_->record_of(teacher, votes);
  NF_TRY_VOID(write_at(state_->file, record, state_->end, state_->path));
  state_->end += record.size();
  return success();
}

Result<std::vector<Votes>> Ballots::counts() const {
  const State& state = *state_;
  if (state.taught != state.terms.teachers) {
    return internal_error("a teacher is missing: without all of them one unit could change more than one vote");
  }
  std::vector<Votes> counts(state.terms.queries, Votes(state.terms.classes));
  for (const std::size_t place : state.place) {
    for (std::size_t query = 0; query < state.terms.queries; ++query) ++counts[query][state.votes[place + query]];
  }
  return counts;
}

Result<bool> wipe_ballots(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0) {
    if (errno == ENOENT) return false;
    return failed("cannot look at", path);
  }
  NF_TRY(const LockedFile file, LockedFile::open(path, O_RDWR));
  NF_TRY(const std::string bytes, read_whole(file, path));
  if (!bytes.starts_with(kFirstLine) && !kFirstLine.starts_with(bytes)) {
    return invalid_argument(fmt::format("{} is not a file of ballots, and was left as it is", shown(path)));
  }
  NF_TRY_VOID(write_at(file, std::string(bytes.size(), '\0'), 0, path));
  if (::unlink(path.c_str()) != 0) return failed("cannot remove", path);
  return true;
}

}  // namespace noisefloor
