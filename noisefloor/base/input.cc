#include "noisefloor/base/input.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

struct Close {
  void operator()(std::FILE* file) const {
    if (file != stdin) static_cast<void>(std::fclose(file));
  }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string_view trimmed(std::string_view line) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && blank(line.back())) line.remove_suffix(1);
  return line;
}

Result<File> open(const std::string& path) {
  if (path == "-") return File(stdin);
  File file(std::fopen(path.c_str(), "re"));
  if (!file) return input_data_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  struct stat status {};
  if (fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return input_data_error(fmt::format("{} is a directory; give a file", path));
  }
  return file;
}

// Splits the file into lines. Of a line that is too long to be a number, it gives the beginning, which is none either.
class Lines {
 public:
  explicit Lines(std::FILE* file) : file_(file) {}

  // False at the end of the file.
  Result<bool> next(std::string& line) {
    line.clear();
    for (int c = std::getc(file_); c != EOF; c = std::getc(file_)) {
      if (c == '\n') return true;
      // One byte more than fits, which is not a digit.
      if (line.size() <= kMaxLineBytes) line.push_back(line.size() == kMaxLineBytes ? '?' : static_cast<char>(c));
    }
    if (std::ferror(file_) != 0) return io_error(std::strerror(errno));
    return !line.empty();
  }

 private:
  std::FILE* file_;
};

}  // namespace

Result<void> for_each_number(const std::string& path, std::optional<double> for_none,
                             const std::function<Result<void>(double)>& take) {
  NF_TRY(const File file, open(path));
  const std::string name = path == "-" ? "standard input" : path;
  Lines lines(file.get());
  std::string line;
  for (;;) {
    const Result<bool> more = lines.next(line);
    if (!more.has_value()) return io_error(fmt::format("reading {} failed: {}", name, more.error().message));
    if (!more.value()) return success();
    const std::optional<double> parsed = parse_finite(trimmed(line));
    const std::optional<double> value = parsed ? parsed : for_none;
    if (value) NF_TRY_VOID(take(*value));
  }
}

Result<std::vector<double>> read_numbers(const std::string& path, std::optional<double> for_none) {
  std::vector<double> numbers;
  NF_TRY_VOID(for_each_number(path, for_none, [&](double value) -> Result<void> {
    numbers.push_back(value);
    return success();
  }));
  return numbers;
}

Result<std::string> read_text(const std::string& path) {
  NF_TRY(const File file, open(path));
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), got);
    if (text.size() > kMaxTextBytes) {
      return input_data_error(fmt::format("{} is larger than {} MiB", path, kMaxTextBytes >> 20));
    }
    if (got < buffer.size()) break;
  }
  if (std::ferror(file.get()) != 0) return io_error(fmt::format("{} could not be read to its end", path));
  return text;
}

}  // namespace noisefloor
