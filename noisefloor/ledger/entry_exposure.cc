#include <array>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {
namespace {

constexpr std::array<std::pair<ExposureKind, std::string_view>, 6> kExposureKinds{
    {{ExposureKind::kTraining, "training without noise"},
     {ExposureKind::kReplay, "training with repeatable noise"},
     {ExposureKind::kSweep, "sweep without noise"},
     {ExposureKind::kUtilityGraph, "utility graph without noise"},
     {ExposureKind::kEvaluation, "evaluation on private rows"},
     {ExposureKind::kInspection, "inspection of private rows"}}};

}  // namespace

std::string_view name_of(ExposureKind kind) {
  for (const auto& [one, name] : kExposureKinds) {
    if (one == kind) return name;
  }
  NF_UNREACHABLE("a kind of exposure outside the closed list");
}

Result<ExposureKind> parse_exposure_kind(std::string_view name) {
  for (const auto& [kind, known] : kExposureKinds) {
    if (known == name) return kind;
  }
  return verification_failed("there is an exposure of a kind that this version does not know");
}

}  // namespace noisefloor
