#include "noisefloor/release/outlet.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/release/road.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxReleaseBytes = std::size_t{4} << 30;

}  // namespace

FileOutlet::FileOutlet(std::string path, std::string certificate_path)
    : path_(std::move(path)), sealed_path_(path_ + ".sealed"), certificate_path_(std::move(certificate_path)) {}

Result<void> FileOutlet::prepare() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return io_error(fmt::format("the folder {} could not be made: {}", shown(folder.string()), error.message()));
  }
  // Only trying tells whether the folder can be written.
  const std::string probe = path_ + ".probe";
  NF_TRY_VOID(write_file(probe, ""));
  std::filesystem::remove(probe, error);
  return success();
}

Result<std::optional<std::string>> FileOutlet::kept() {
  for (const std::string& path : {sealed_path_, path_}) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    NF_TRY(std::string bytes, read_file(path, kMaxReleaseBytes));
    return std::optional<std::string>(std::move(bytes));
  }
  return std::optional<std::string>{};
}

Result<void> FileOutlet::keep(const std::string& bytes) { return write_file(sealed_path_, bytes); }

Result<void> FileOutlet::publish(const Sealed& release) {
  // The certificate is written first: if the file exists, everything does.
  NF_TRY_VOID(write_file(certificate_path_, release.signed_certificate));
  NF_TRY_VOID(write_file(path_, release.bytes));
  std::error_code error;
  std::filesystem::remove(sealed_path_, error);
  return success();
}

std::string certificate_beside(const std::string& path) {
  constexpr std::string_view kEnding = ".json";
  const std::string stem = path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
  return stem + ".certificate.json";
}

}  // namespace noisefloor
