// Any bytes as a table, a LIBSVM file, a pair of IDX files or a text: never a crash, and what is accepted is a sound
// data set; how the bytes come in pieces makes no difference. Private rows are never refused where public ones are not.
// The first byte says which format, the second the size of the pieces.
#include <cstddef>
#include <cstdint>
#include <string>

#include "noisefloor/base/check.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/table/libsvm.h"
#include "noisefloor/table/schema.h"
#include "noisefloor/table/text_tokens.h"

namespace {

using namespace noisefloor;

Result<Dataset> csv(const std::string& bytes, std::size_t piece, const OddRecords& odd) {
  const Schema schema{.features = {NumericColumn{.name = "a", .lower = -1, .upper = 1, .missing = 0.5},
                                   CategoricalColumn{.name = "b", .values = {"x", "y"}, .unlisted = Unlisted::kOther}},
                      .outcome = LabelColumn{.name = "c", .classes = {"0", "1"}},
                      .missing = {"", "?"}};
  NF_TRY(ByteSource source, ByteSource::of("table", bytes, piece));
  return read_csv(std::move(source), schema, {.max_record_bytes = 500}, odd);
}

Result<Dataset> libsvm(const std::string& bytes, std::size_t piece, const OddRecords& odd) {
  const LibsvmOptions options{.dimension = 5,
                              .classes = {"-1", "1"},
                              .lower = -1,
                              .upper = 3,
                              .scaling = Scaling::kSymmetric,
                              .normalise = true,
                              .max_line_bytes = 500};
  NF_TRY(ByteSource source, ByteSource::of("table", bytes, piece));
  return read_libsvm(std::move(source), options, odd);
}

// The first byte is the size of the labels' file.
Result<Dataset> idx(const std::string& bytes, std::size_t piece, const OddRecords& odd) {
  const std::size_t labels_end = 1 + static_cast<unsigned char>(bytes.empty() ? '\0' : bytes[0]);
  if (bytes.size() < labels_end) return input_data_error("too few bytes for two files");
  NF_TRY(ByteSource labels, ByteSource::of("labels", bytes.substr(1, labels_end - 1), piece));
  NF_TRY(ByteSource images, ByteSource::of("images", bytes.substr(labels_end), piece));
  return read_idx(std::move(images), std::move(labels), 10, odd);
}

Result<Sequences> text(const std::string& bytes, std::size_t piece, const OddRecords& odd) {
  NF_TRY(const Alphabet alphabet, Alphabet::of("ab\u00e9?", "?"));
  NF_TRY(ByteSource source, ByteSource::of("text", bytes, piece));
  return read_text(std::move(source), alphabet, 3, odd);
}

Result<void> check(const Dataset& dataset) { return check_dataset(dataset); }
Result<void> check(const Sequences& sequences) { return check_sequences(sequences); }

template <class Read>
bool drive(Read read, const std::string& bytes, std::size_t piece, const OddRecords& odd) {
  const auto whole = read(bytes, bytes.size() + 1, odd);
  const auto pieces = read(bytes, piece, odd);
  NF_CHECK(whole.has_value() == pieces.has_value(), "pieces are read as something else");
  if (!whole.has_value()) {
    // How far zlib looks ahead before it sees damage depends on the pieces.
    const bool packed = whole.error().message.find("compressed data") != std::string::npos;
    NF_CHECK(packed || whole.error() == pieces.error(), "pieces are refused for something else");
    NF_CHECK(whole.error().code == pieces.error().code, "pieces are refused for something else");
    NF_CHECK(!whole.error().message.empty(), "a refusal without a reason");
    NF_CHECK(whole.error().message.find('\n') == std::string::npos, "a refusal of two lines");
    return false;
  }
  NF_CHECK(whole.value() == pieces.value(), "pieces are read as something else");
  NF_CHECK(check(whole.value()).has_value(), "a data set that is not sound");
  return true;
}

template <class Read>
void drive(Read read, const std::string& bytes, std::size_t piece) {
  const bool is_public = drive(read, bytes, piece, OddRecords::are_errors());
  const bool is_private = drive(read, bytes, piece, OddRecords::become_null());
  NF_CHECK(is_private || !is_public, "private rows are refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = std::size_t{1} + data[1];
  switch (data[0] % 4) {
    case 0:
      drive(csv, bytes, piece);
      break;
    case 1:
      drive(libsvm, bytes, piece);
      break;
    case 2:
      drive(idx, bytes, piece);
      break;
    default:
      drive(text, bytes, piece);
      break;
  }
  return 0;
}
