#include "noisefloor/training/worker_team.h"

#include <array>

namespace noisefloor {

Result<void> WorkerTeam::expect_same(std::string_view statement) const {
  if (group_ == nullptr) return success();
  return expect_agreement(*group_, "the training file, the data or the program", statement);
}

Result<void> WorkerTeam::begin() const {
  if (group_ == nullptr) return success();
  std::array<float, 1> go{leads() ? 1.0F : 0.0F};
  return group_->sum(go);
}

bool WorkerTeam::stop(bool wanted) const {
  if (group_ == nullptr) return wanted;
  std::array<float, 1> votes{wanted ? 1.0F : 0.0F};
  // If the group is lost, the next step fails with the reason.
  return group_->sum(votes).has_value() && votes[0] > 0;
}

}  // namespace noisefloor
