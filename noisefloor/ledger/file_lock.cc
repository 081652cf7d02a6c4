#include "noisefloor/ledger/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace noisefloor {

FileLock::FileLock(const std::string& path, int access, int lock)
    : descriptor_(::open(path.c_str(), access | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) return;
  while (::flock(descriptor_, lock) != 0) {
    if (errno == EINTR) continue;
    const int code = errno;
    ::close(descriptor_);
    descriptor_ = -1;
    errno = code;
    return;
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace noisefloor
