// A process of its own for a piece of a test, so that it can be killed.
//
// Requires: no other threads at the time of start() (what is forked is this program), and no open ledger.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace noisefloor::testing {

class ChildProcess {
 public:
  // `work` returns the exit code. It must leave no mark on the test: what it found it says by that code or in files.
  static ChildProcess start(const std::function<int()>& work) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(work());
    EXPECT_GT(pid, 0);
    return ChildProcess(pid);
  }
  static ChildProcess run(const std::function<int()>& work) {
    ChildProcess child = start(work);
    child.wait();
    return child;
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(other.pid_), status_(other.status_) { other.pid_ = -1; }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() {
    if (pid_ > 0) kill();
  }

  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  [[nodiscard]] bool is_running() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ > 0;
  }
  void wait() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
  }

  // After it was waited for.
  [[nodiscard]] bool was_killed() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }
  [[nodiscard]] int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  int status_ = 0;
};

}  // namespace noisefloor::testing
