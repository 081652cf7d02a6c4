// The first program: a count, privately.
#include <fmt/format.h>

#include "example.h"
#include "noisefloor/event/json.h"
#include "noisefloor/mechanisms/laplace.h"

using namespace noisefloor;

Result<PrivateRelease<double>> patients_with_diagnosis(double true_count) {
  NF_TRY(const Sensitivity sensitivity, count_sensitivity({Adjacency::kAddRemove, PrivacyUnit::kPerson}));
  NF_TRY(const LaplaceMechanism laplace, LaplaceMechanism::create(sensitivity, Epsilon::of(0.5)));
  NF_TRY(SecureRandom random, SecureRandom::create());
  return laplace.release(true_count, random);
}

int main() {
  example::heading("A first release", "342 patients, at epsilon 0.5");
  const PrivateRelease<double> release = example::must(patients_with_diagnosis(342));
  fmt::print("  {:.1f}, and what an accountant needs: {}\n", release.value(), to_json(release.statement()));
  example::Expectations expected;
  expected.between("released", release.value(), 342 - 100, 342 + 100);  // e^-50 is the chance of more
  return expected.exit_code();
}
