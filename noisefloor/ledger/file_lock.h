// An open file that is locked against other openers of this kind, in this process and in others, until it goes.
#pragma once

#include <string>

namespace noisefloor {

class FileLock {
 public:
  // What `access` is for open() and `lock` for flock(). Waits.
  FileLock(const std::string& path, int access, int lock);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  // If not, errno says why.
  [[nodiscard]] bool is_held() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace noisefloor
