// Threads that work on one thing together and then wait for the next.
//
// Thread safety: run() from one thread at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace noisefloor::lanes {

class Team {
 public:
  // A team has at least one member, the caller's own thread.
  explicit Team(std::size_t size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  [[nodiscard]] std::size_t size() const { return threads_.size() + 1; }

  // Calls work(0), …, work(size - 1), each on a thread of its own, and returns when all are done. Work does not throw.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void serve(std::size_t member);

  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t round_ = 0;
  std::size_t busy_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace noisefloor::lanes
