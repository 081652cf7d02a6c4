// Linked into every test program: the counters of ledgers go to a folder of the program's own, and nothing to the home
// of whoever runs the tests. Programs that the tests start inherit it.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace {

class StateFolder {
 public:
  StateFolder() : path_((std::filesystem::temp_directory_path() / "noisefloor_state_XXXXXX").string()) {
    if (::getenv("NOISEFLOOR_STATE_DIR") != nullptr || ::mkdtemp(path_.data()) == nullptr) return;
    made_by_ = ::getpid();
    ::setenv("NOISEFLOOR_STATE_DIR", path_.c_str(), 1);
  }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  ~StateFolder() {
    if (made_by_ != ::getpid()) return;  // a child that was forked
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
  pid_t made_by_ = 0;
};

const StateFolder kStateFolder;

}  // namespace
