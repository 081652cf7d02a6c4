// Bytes from a file, piece by piece. A file that is compressed with gzip is unpacked on the way; its content decides
// that, not its name.
//
// Guarantee:     memory does not grow with the file. Damaged or cut-off compressed data are an error, never an early
//                end. Errors name the file, and show nothing of the content, nor how much of it there is.
// Thread safety: a source is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

class ByteSource {
 public:
  [[nodiscard]] static Result<ByteSource> open(const std::string& path);

  // Bytes in memory, returned in pieces of at most `piece`: for tests of what happens at the seams. `name` stands for
  // the path in errors.
  [[nodiscard]] static Result<ByteSource> of(const std::string& name, std::string bytes, std::size_t piece = 65536);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&& other) noexcept;
  ~ByteSource();

  // Fills a part of `into`, and returns how much; 0 at the end. Requires that `into` is not empty.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);

  // The path as errors show it.
  [[nodiscard]] const std::string& name() const;

 private:
  class Unpacker;
  explicit ByteSource(std::unique_ptr<Unpacker> unpacker);

  std::unique_ptr<Unpacker> unpacker_;
};

// The part of a source that is being examined: it grows at its end and is dropped from its beginning.
class Window {
 public:
  explicit Window(ByteSource source) : source_(std::move(source)) {}

  // Valid until more() or drop().
  [[nodiscard]] std::span<char> bytes() { return {buffer_.data() + begin_, end_ - begin_}; }
  [[nodiscard]] std::string_view text() const { return {buffer_.data() + begin_, end_ - begin_}; }

  // Adds some bytes. False at the end of the source.
  [[nodiscard]] Result<bool> more();

  // Requires count ≤ bytes().size().
  void drop(std::size_t count) { begin_ += count; }

  [[nodiscard]] const std::string& name() const { return source_.name(); }

 private:
  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// Names and paths may hold anything; an error is one line of printable text (base/printable.h).
[[nodiscard]] std::string one_line(std::string_view text);

// Input-data errors: "train.csv:17: what", "images.gz: at byte 16: what".
[[nodiscard]] Error error_at_line(std::string_view name, std::uint64_t line, std::string_view what);
[[nodiscard]] Error error_at_byte(std::string_view name, std::uint64_t byte, std::string_view what);

}  // namespace noisefloor
