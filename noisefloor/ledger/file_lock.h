// An open file that is locked until this object is destroyed, against other FileLocks in this process and in others.
//
// Internal to ledger/.
#pragma once

#include <string>

namespace noisefloor {

class FileLock {
 public:
  // Passes `access` to open() and `lock` to flock(). Waits for the lock.
  FileLock(const std::string& path, int access, int lock);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  // If the lock is not held, errno says why.
  [[nodiscard]] bool is_held() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace noisefloor
