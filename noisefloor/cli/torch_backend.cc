#include "noisefloor/cli/torch_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "noisefloor/base/blas_core.h"
#include "noisefloor/base/text.h"
#include "noisefloor/shell/command_words.h"

namespace noisefloor::cli {
namespace {

std::optional<TorchBackend>& registered() {
  static std::optional<TorchBackend> backend;
  return backend;
}

void become(const std::string& program, const std::vector<std::string>& arguments) {
  // Threads that wait for each other by spinning are slower by far where something else runs too.
  (void)::setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));  // NOLINT
  pointers.push_back(nullptr);
  (void)::execv(program.c_str(), pointers.data());  // returns only if it fails
}

}  // namespace

void register_torch_backend(const TorchBackend& backend) { registered() = backend; }

Result<const TorchBackend*> require_torch(std::string_view why) {
  if (registered()) return &*registered();
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string other = (self.parent_path() / "noisefloor-torch").string();
  if (error || ::access(other.c_str(), X_OK) != 0) {
    return invalid_argument(fmt::format(
        "{} needs libtorch, and {} is not there: build with -DNOISEFLOOR_WITH_TORCH=ON, or install noisefloor-torch "
        "beside this program",
        why, noisefloor::shown(other)));
  }
  (void)set_openblas_core();
  become(other, own_arguments());
  return io_error(fmt::format("{} could not be started", noisefloor::shown(other)));
}

void restart_with_openblas_core() {
  if (set_openblas_core()) become("/proc/self/exe", own_arguments());
}

}  // namespace noisefloor::cli
