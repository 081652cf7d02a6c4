#include "noisefloor/table/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/printable.h"

namespace noisefloor {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr int kGzipOnly = 15 + 16;  // zlib's code for the largest window, in a gzip wrapper

Error cannot_read(const std::string& name, int code) {
  return io_error(fmt::format("{} could not be read: {}", name, std::strerror(code)));
}

// The stored bytes: of an open file, or of memory.
class Stored {
 public:
  explicit Stored(int descriptor) : descriptor_(descriptor) {}
  Stored(std::string bytes, std::size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
  Stored(Stored&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::move(other.bytes_)), piece_(other.piece_) {}
  Stored& operator=(Stored&&) = delete;
  ~Stored() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // How many bytes, or -1 with errno.
  ssize_t read(std::span<char> into) {
    if (descriptor_ < 0) return static_cast<ssize_t>(copy(into));
    while (true) {
      const ssize_t got = ::read(descriptor_, into.data(), into.size());
      if (got >= 0 || errno != EINTR) return got;
    }
  }

 private:
  std::size_t copy(std::span<char> into) {
    const std::size_t count = std::min({into.size(), bytes_.size() - at_, piece_});
    std::copy_n(bytes_.data() + at_, count, into.data());
    at_ += count;
    return count;
  }

  int descriptor_ = -1;
  std::string bytes_;
  std::size_t piece_ = kPiece;
  std::size_t at_ = 0;
};

}  // namespace

class ByteSource::Unpacker {
 public:
  Unpacker(const std::string& name, Stored stored) : name_(one_line(name)), stored_(std::move(stored)) {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  Unpacker(Unpacker&&) = delete;
  Unpacker& operator=(Unpacker&&) = delete;
  ~Unpacker() {
    if (packed_) ::inflateEnd(&stream_);
  }

  // Examines the first bytes.
  Result<void> start() {
    while (held_.size() < kGzipMagic.size()) {
      NF_TRY(const bool more, hold_more());
      if (!more) break;
    }
    if (std::string_view(held_.data(), held_.size()).starts_with(kGzipMagic)) {
      if (::inflateInit2(&stream_, kGzipOnly) != Z_OK) return internal_error("zlib could not be started");
      packed_ = true;
    }
    return success();
  }

  Result<std::size_t> read(std::span<char> into) {
    if (packed_) return inflate_into(into);
    if (held_.empty()) return read_stored(into);
    const std::size_t count = std::min(into.size(), held_.size());
    std::copy_n(held_.data(), count, into.data());
    held_ = held_.subspan(count);
    return count;
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Result<std::size_t> read_stored(std::span<char> into) {
    const ssize_t got = stored_.read(into);
    if (got < 0) return cannot_read(name_, errno);
    return static_cast<std::size_t>(got);
  }

  // Adds to `held_`, the bytes that were read but not used yet. False at the end of the file.
  Result<bool> hold_more() {
    if (piece_.empty()) piece_.resize(kPiece);
    std::copy(held_.begin(), held_.end(), piece_.begin());
    NF_TRY(const std::size_t got, read_stored(std::span(piece_).subspan(held_.size())));
    held_ = std::span(piece_).first(held_.size() + got);
    return got > 0;
  }

  Result<std::size_t> inflate_into(std::span<char> into) {
    // Far more than callers ask for, and within zlib's counters.
    const std::size_t asked = std::min(into.size(), std::size_t{1} << 30);
    while (true) {
      if (broken_) return damaged("the compressed data are damaged; copy the file again");
      if (held_.empty()) {
        NF_TRY(const bool more, hold_more());
        if (!more && ended_) return std::size_t{0};
        if (!more) return damaged("the compressed data are cut off; copy the file again");
      }
      if (ended_) NF_TRY_VOID(start_next_member());
      stream_.next_in = reinterpret_cast<Bytef*>(held_.data());
      stream_.avail_in = static_cast<uInt>(held_.size());
      stream_.next_out = reinterpret_cast<Bytef*>(into.data());
      stream_.avail_out = static_cast<uInt>(asked);
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      held_ = held_.last(stream_.avail_in);
      ended_ = status == Z_STREAM_END;
      // Z_BUF_ERROR means that more bytes are needed. Bytes from before the damage are returned first, so that the size
      // of the pieces makes no difference.
      broken_ = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR;
      const std::size_t got = asked - stream_.avail_out;
      if (got > 0) return got;
    }
  }

  // A gzip file may consist of several, one after the other.
  Result<void> start_next_member() {
    if (held_.front() != kGzipMagic.front()) return damaged("there are bytes after the end of the compressed data");
    if (::inflateReset(&stream_) != Z_OK) return internal_error("zlib could not be started again");
    ended_ = false;
    return success();
  }

  [[nodiscard]] Error damaged(std::string_view what) const {
    return input_data_error(one_line(fmt::format("{}: {}", name_, what)));
  }

  std::string name_;
  Stored stored_;
  std::vector<char> piece_;
  std::span<char> held_;
  bool packed_ = false;
  bool ended_ = false;
  bool broken_ = false;
  z_stream stream_{};
};

ByteSource::ByteSource(std::unique_ptr<Unpacker> unpacker) : unpacker_(std::move(unpacker)) {}
ByteSource::ByteSource(ByteSource&& other) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&& other) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(one_line(path), errno);
  auto unpacker = std::make_unique<Unpacker>(path, Stored(descriptor));
  NF_TRY_VOID(unpacker->start());
  return ByteSource(std::move(unpacker));
}

Result<ByteSource> ByteSource::of(const std::string& name, std::string bytes, std::size_t piece) {
  NF_CHECK(piece > 0, "pieces of no bytes never end");
  auto unpacker = std::make_unique<Unpacker>(name, Stored(std::move(bytes), piece));
  NF_TRY_VOID(unpacker->start());
  return ByteSource(std::move(unpacker));
}

Result<std::size_t> ByteSource::read(std::span<char> into) {
  NF_CHECK(!into.empty(), "a read of no bytes looks like the end");
  return unpacker_->read(into);
}

const std::string& ByteSource::name() const { return unpacker_->name(); }

Result<bool> Window::more() {
  if (begin_ > 0) {
    std::copy(buffer_.data() + begin_, buffer_.data() + end_, buffer_.data());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kPiece / 2) buffer_.resize(std::max(kPiece, 2 * buffer_.size()));
  NF_TRY(const std::size_t got, source_.read(std::span(buffer_).subspan(end_)));
  end_ += got;
  return got > 0;
}

std::string one_line(std::string_view text) { return printable(text); }

Error error_at_line(std::string_view name, std::uint64_t line, std::string_view what) {
  return input_data_error(one_line(fmt::format("{}:{}: {}", name, line, what)));
}

Error error_at_byte(std::string_view name, std::uint64_t byte, std::string_view what) {
  return input_data_error(one_line(fmt::format("{}: at byte {}: {}", name, byte, what)));
}

}  // namespace noisefloor
