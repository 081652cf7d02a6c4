// Exact answers of accounting, converged to 1e-9 relatively by two independent programs: rows of accounting_golden.csv.
#pragma once

#include <cstdint>
#include <limits>

#include "noisefloor/event/dp_event.h"

namespace noisefloor::testing::golden {

enum class Kind : std::uint8_t { kDpSgd, kGaussian, kLaplace, kResponse, kCalibrate };

struct Row {
  const char* id;
  Kind kind;
  double rate;
  double scale;  // the noise multiplier, the Laplace scale, the local epsilon, or the target of a calibration
  std::uint64_t count;
  double delta;
  double exact;    // epsilon, of removing a record if there are samples; or the noise multiplier of a calibration
  double add = 0;  // epsilon of adding a record, where samples are composed
  double best_other = std::numeric_limits<double>::infinity();  // the least upper bound of other libraries
};

using enum Kind;

inline constexpr Row kRows[] = {
    {"S01", kDpSgd, 0.0001, 0.5, 1, 1e-5, 0.004395826777675456, 0, 0.004395898003994997},
    {"S02", kDpSgd, 0.0001, 0.5, 100000, 1e-6, 2.877547904882033, 0.7629854091471627, 2.877757996172301},
    {"S03", kDpSgd, 0.0001, 1, 100000, 1e-5, 0.13187229551963633, 0.1289506212834658, 0.1389233363575131},
    {"S05", kDpSgd, 0.001, 1, 10000, 1e-5, 0.4757612892476454, 0.44002626801257827, 0.4757635494189127},
    {"S06", kDpSgd, 0.001, 1, 100000, 1e-6, 1.8610474589628836, 1.8041504051810557, 1.8619961993863599},
    {"S08", kDpSgd, 0.004266666666666667, 1.1, 14062, 1e-5, 2.3815969214244412, 2.2435593726990195, 2.3815978148001333},
    {"S09", kDpSgd, 0.01, 0.5, 1000, 1e-5, 13.36082398534957, 4.315927155944355, 13.36082569752317},
    {"S11", kDpSgd, 0.01, 1, 1000, 1e-5, 1.828236666516579, 1.4166619480361702, 1.828236737071951},
    {"S12", kDpSgd, 0.01, 1, 10000, 1e-5, 6.187712389971482, 5.611508617652077, 6.187712717889545},
    {"S13", kDpSgd, 0.01, 2, 10000, 1e-5, 2.162704590678792, 2.1078215342729005, 2.162773645216934},
    {"S14", kDpSgd, 0.01, 4, 10000, 1e-5, 0.946866800764366, 0.937036425402058, 0.9469993046843884},
    {"S15", kDpSgd, 0.01, 10, 100000, 1e-6, 1.3721865931716037, 1.370162531666958, 1.373417218416929},
    {"S17", kDpSgd, 0.0256, 1, 390, 1e-5, 3.212051800687597, 2.205782306480567, 3.212051818869691},
    {"S19", kDpSgd, 0.1, 1, 100, 0.001, 4.784349951968425, 3.069637510662647, 4.784350181494952},
    {"S20", kDpSgd, 0.1, 2, 1000, 1e-7, 10.009790541303095, 9.028718676857576, 10.009790829327422},
    {"S22", kDpSgd, 0.25, 3, 500, 1e-5, 9.599800225965648, 8.971203955866418, 9.599801521835776},
    {"S23", kDpSgd, 0.5, 1, 1, 1e-5, 3.5339979854489583, 0, 3.533997985977654},
    {"S24", kDpSgd, 0.5, 5, 100, 1e-9, 6.383859918670028, 5.965945558734145, 6.383860046781399},
    {"S26", kDpSgd, 1, 1, 1, 1e-5, 4.377178095681235, 0, 4.37717810005116},
    {"S27", kDpSgd, 1, 10, 1000, 1e-6, 19.423656474031056, 0, 19.423658823168186},
    {"S29", kDpSgd, 0.256, 10, 30, 1e-5, 0.5058209304242477, 0.4801799622409226, 0.5058215840766116},
    {"G01", kGaussian, 1, 1, 1, 1e-5, 4.377178095681235},
    {"G02", kGaussian, 1, 1, 1000, 1e-5, 633.9298513356148},
    {"G04", kGaussian, 1, 2, 10, 1e-8, 9.69784519165654},
    {"G05", kGaussian, 1, 10, 1000, 1e-5, 17.856586830107638},
    {"G06", kGaussian, 1, 50, 10000, 1e-6, 10.997151214220652},
    {"G08", kGaussian, 1, 4.844805262605389, 1, 1e-5, 0.7509769568672022},
    {"G09", kGaussian, 1, 1, 100, 1e-10, 112.84032670423228},
    {"R01", kResponse, 1, 1, 1, 1e-6, 0.9999986321196233},
    {"R02", kResponse, 1, 1, 10, 1e-6, 9.999977065820733},
    {"R04", kResponse, 1, 0.1, 10, 1e-6, 0.9993709057217587},
    {"R05", kResponse, 1, 0.1, 100, 1e-6, 4.7745675881079865},
    {"R07", kResponse, 1, 0.01, 1000, 1e-5, 1.1977327983086998},
    {"R08", kResponse, 1, 1.0986122886681098, 50, 1e-6, 52.67970940888214},
    {"D01", kDpSgd, 0.01, 4, 1000, 1e-12, 0.5300540811974833, 0.5023749179522321, 0.5301197649911195},
    {"D02", kDpSgd, 0.01, 4, 1000, 1e-14, 0.5858850052914323, 0.5523915357459891, 0.586593554466221},
    {"D04", kDpSgd, 0.01, 4, 1000, 1e-20, 0.7312803132608583, 0.6801840318996691},
    {"D06", kDpSgd, 0.2, 1, 500, 1e-5, 38.17024720648779, 27.320965728550217, 38.170247899795356},
    {"D07", kDpSgd, 0.01, 1, 1000000, 1e-6, 145.4968355114884, 140.94736017478488, 145.49791255888366},
    {"L03", kLaplace, 1, 1, 100, 1e-5, 68.25295105561433},
    {"L06", kLaplace, 1, 10, 100, 1e-6, 4.692667415611285},
    {"L07", kLaplace, 1, 10, 1000, 1e-6, 18.950287367539527},
    {"L09", kLaplace, 1, 100, 1000, 1e-8, 1.651834244107855},
    {"L10", kLaplace, 1, 1, 1000, 1e-5, 474.3024465555185},
    {"C01", kCalibrate, 0.01, 8, 10000, 1e-5, 0.8825284902876901},
    {"C02", kCalibrate, 0.01, 8, 20000, 1e-5, 1.0812300002525717},
    {"C04", kCalibrate, 0.0256, 3, 390, 1e-5, 1.0339045588701499},
    {"C05", kCalibrate, 0.025, 3, 400, 1e-5, 1.0270681681539795},
    {"C06", kCalibrate, 0.00510204081632653, 1, 1960, 1e-6, 1.2119348813130224},
    {"C06", kCalibrate, 0.00510204081632653, 3, 1960, 1e-6, 0.7575305411756263},
    {"C06", kCalibrate, 0.00510204081632653, 8, 1960, 1e-6, 0.5617745317000726},
    {"C08", kCalibrate, 0.004266666666666667, 3, 14062, 1e-5, 0.9684079236468319},
};

inline DpEvent dpsgd(double rate, double multiplier, std::uint64_t steps) {
  return SelfComposedEvent{
      Steps::make(steps).value(),
      PoissonSampledEvent{SamplingRate::make(rate).value(), GaussianEvent{NoiseMultiplier::make(multiplier).value()}}};
}

// Of all but calibrations.
inline DpEvent event_of(const Row& row) {
  const Steps count = Steps::make(row.count).value();
  switch (row.kind) {
    case kGaussian:
      return SelfComposedEvent{count, GaussianEvent{NoiseMultiplier::make(row.scale).value()}};
    case kLaplace:
      return SelfComposedEvent{count, LaplaceEvent{NoiseMultiplier::make(row.scale).value()}};
    case kResponse:
      return SelfComposedEvent{count, RandomizedResponseEvent{Epsilon::make(row.scale).value(), Categories::of(2)}};
    case kDpSgd:
    case kCalibrate:
      break;
  }
  return dpsgd(row.rate, row.scale, row.count);
}

}  // namespace noisefloor::testing::golden
