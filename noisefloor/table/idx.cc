#include "noisefloor/table/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace noisefloor {
namespace {

constexpr unsigned char kUnsignedByte = 0x08;

// A file whose header was read. The rest is one byte for each element.
class IdxFile {
 public:
  explicit IdxFile(ByteSource source) : source_(std::move(source)) {}

  // `what` as it reads after "of": "images: 3 or 4".
  Result<void> read_header(std::size_t least_sizes, std::size_t most_sizes, std::string_view what) {
    std::array<char, 4> magic{};
    NF_TRY_VOID(fill(magic));
    if (magic[0] != 0 || magic[1] != 0) return error_at(0, "this is no IDX file, which begins with two bytes of 0");
    if (static_cast<unsigned char>(magic[2]) != kUnsignedByte) {
      return error_at(2, "the elements must be unsigned bytes, type 0x08");
    }
    const std::size_t count = static_cast<unsigned char>(magic[3]);
    if (count < least_sizes || count > most_sizes)
      return error_at(3, fmt::format("the number of sizes must be that of {}", what));
    for (std::size_t i = 0; i < count; ++i) {
      std::array<char, 4> bytes{};
      NF_TRY_VOID(fill(bytes));
      std::size_t size = 0;
      for (char byte : bytes) size = size << 8 | static_cast<unsigned char>(byte);
      sizes_.push_back(size);
    }
    if (!volume(sizes_).has_value()) {
      return error_at(4, "the sizes must be above 0, and their product at most 2^48");
    }
    return success();
  }

  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }
  [[nodiscard]] const std::string& name() const { return source_.name(); }

  // Calls take(piece) for all elements, piece by piece, then checks that the file ends.
  template <class Take>
  Result<void> read_elements(Take&& take) {
    std::size_t left = volume(sizes_).value();
    std::vector<char> piece(std::min<std::size_t>(left, 65536));
    while (left > 0) {
      const std::span<char> part = std::span(piece).first(std::min(left, piece.size()));
      NF_TRY(const std::size_t got, source_.read(part));
      if (got == 0) return cut_off();
      NF_TRY_VOID(take(std::span<const char>(part.first(got))));
      offset_ += got;
      left -= got;
    }
    NF_TRY(const std::size_t extra, source_.read(std::span(piece).first(1)));
    if (extra > 0) return error("there are bytes after the last element that the header declares; copy it again");
    return success();
  }

  [[nodiscard]] Error error_at(std::uint64_t offset, std::string_view what) const {
    return error_at_byte(name(), offset, what);
  }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // An error that does not show how long the file is.
  [[nodiscard]] Error error(std::string_view what) const {
    return input_data_error(one_line(fmt::format("{}: {}", name(), what)));
  }

 private:
  Result<void> fill(std::span<char> into) {
    while (!into.empty()) {
      NF_TRY(const std::size_t got, source_.read(into));
      if (got == 0) return cut_off();
      offset_ += got;
      into = into.subspan(got);
    }
    return success();
  }

  [[nodiscard]] Error cut_off() const { return error("the file ends before what its header declares; copy it again"); }

  ByteSource source_;
  std::vector<std::size_t> sizes_;
  std::uint64_t offset_ = 0;
};

Result<void> check_classes(std::int32_t classes) {
  // A label is a byte.
  if (classes >= 2 && classes <= 256) return success();
  return invalid_argument(fmt::format("the number of classes of IDX labels must be from 2 to 256; got {}", classes));
}

// Images whose header was read.
Result<Dataset> pixels_of(IdxFile& file) {
  Dataset data;
  data.rows = file.sizes()[0];
  data.shape.assign(file.sizes().begin() + 1, file.sizes().end());
  if (data.shape.size() == 2) data.shape.insert(data.shape.begin(), 1);
  NF_TRY_VOID(file.read_elements([&](std::span<const char> piece) -> Result<void> {
    for (char byte : piece) data.features.push_back(static_cast<float>(static_cast<unsigned char>(byte)) / 255);
    return success();
  }));
  return data;
}

}  // namespace

Result<Dataset> read_idx(const std::string& images_path, const std::string& labels_path, std::int32_t classes,
                         const OddRecords& odd) {
  NF_TRY_VOID(check_classes(classes));
  NF_TRY(ByteSource images, ByteSource::open(images_path));
  NF_TRY(ByteSource labels, ByteSource::open(labels_path));
  return read_idx(std::move(images), std::move(labels), classes, odd);
}

Result<Dataset> read_idx(ByteSource images, ByteSource labels, std::int32_t classes, const OddRecords& odd) {
  NF_TRY_VOID(check_classes(classes));
  IdxFile image_file(std::move(images));
  NF_TRY_VOID(image_file.read_header(3, 4, "images, 3 or 4"));
  IdxFile label_file(std::move(labels));
  NF_TRY_VOID(label_file.read_header(1, 1, "labels, 1"));
  if (image_file.sizes()[0] != label_file.sizes()[0]) {
    return label_file.error_at(4,
                               fmt::format("the number of labels must be that of the images in {}", image_file.name()));
  }
  std::vector<std::int32_t> read;
  std::vector<std::uint8_t> nulls;
  bool any_null = false;
  NF_TRY_VOID(label_file.read_elements([&](std::span<const char> piece) -> Result<void> {
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const auto label = static_cast<unsigned char>(piece[i]);
      const bool null = label >= classes;
      if (null) {
        const Result<void> met = odd.meet(label_file.error_at(
            label_file.offset() + i, fmt::format("a label must be below {}, the number of classes", classes)));
        if (!met.has_value()) return met;
      }
      any_null = any_null || null;
      nulls.push_back(null ? 1 : 0);
      read.push_back(null ? 0 : label);
    }
    return success();
  }));
  NF_TRY(Dataset data, pixels_of(image_file));
  data.classes = classes;
  data.labels = std::move(read);
  if (any_null) data.nulls = std::move(nulls);
  return data;
}

Result<Dataset> read_idx_images(const std::string& path, std::int32_t classes) {
  NF_TRY_VOID(check_classes(classes));
  NF_TRY(ByteSource images, ByteSource::open(path));
  IdxFile image_file(std::move(images));
  NF_TRY_VOID(image_file.read_header(3, 4, "images, 3 or 4"));
  NF_TRY(Dataset data, pixels_of(image_file));
  data.classes = classes;
  data.labels.resize(data.rows);
  return data;
}

}  // namespace noisefloor
