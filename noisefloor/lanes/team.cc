#include "noisefloor/lanes/team.h"

namespace noisefloor::lanes {

Team::Team(std::size_t size) {
  for (std::size_t member = 1; member < size; ++member) threads_.emplace_back([this, member] { serve(member); });
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(std::size_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = threads_.size();
    ++round_;
  }
  start_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void Team::serve(std::size_t member) {
  std::size_t seen = 0;
  for (;;) {
    const std::function<void(std::size_t)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return over_ || round_ != seen; });
      if (over_) return;
      seen = round_;
      work = work_;
    }
    (*work)(member);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace noisefloor::lanes
