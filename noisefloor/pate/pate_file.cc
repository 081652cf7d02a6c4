#include "noisefloor/pate/pate_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/overloaded.h"

namespace noisefloor {
namespace {

std::string in_words(const lanes::Layer& layer) {
  return std::visit(
      Overloaded{[](const lanes::Linear& l) { return fmt::format("linear {} {}", l.outputs, l.bias); },
                 [](const lanes::Conv2d& l) {
                   return fmt::format("conv {} {} {} {} {} {}", l.outputs, l.kernel_height, l.kernel_width, l.stride,
                                      l.padding, l.bias);
                 },
                 [](const lanes::Pool& l) {
                   return fmt::format("pool {} {} {}", l.kind == lanes::Pooling::kMax ? "max" : "average", l.kernel,
                                      l.stride);
                 },
                 [](const lanes::Activate& l) { return fmt::format("activate {}", static_cast<int>(l.function)); },
                 [](const lanes::Normalize& l) {
                   return fmt::format("normalize {} {} {} {}", l.groups, l.per_feature, l.affine, l.epsilon);
                 },
                 [](const lanes::Dropout& l) { return fmt::format("dropout {}", l.rate); },
                 [](const lanes::Flatten&) { return std::string("flatten"); }},
      layer);
}

}  // namespace

Result<PateFile> read_pate_file(const std::string& path) {
  NF_TRY(std::string text, read_file(path, kMaxPipelineBytes));
  return parse_pate_file(std::move(text), path);
}

Result<PateFile> parse_pate_file(std::string text, const std::string& location) {
  PateText read = read_pate(text, files_beside(location));
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  for (const Finding& finding : read.findings) {
    (finding.severity == Severity::kError ? errors : warnings)
        .push_back(fmt::format("{}:{}:{}: {}; {}", location, finding.place.line, finding.place.column, finding.message,
                               finding.remedy));
  }
  if (!read.pate) {
    const std::string more = errors.size() > 1 ? fmt::format(" (and {} more)", errors.size() - 1) : "";
    return invalid_argument((errors.empty() ? location + ": cannot be read" : errors.front()) + more);
  }
  Training training = read.pate->teachers;
  return PateFile{*std::move(read.pate),
                  {std::move(training), std::filesystem::path(location).parent_path().string(), std::move(warnings),
                   location, std::move(text)}};
}

std::string teaching_in_words(const Pate& pate) {
  const Training& training = pate.teachers;
  const TrainingDescent& descent = training.descent;
  if (pate.kind == TeacherKind::kSpread) {
    return fmt::format("{} teachers that spread, {} components, {} neighbours, smoothing {}, {}", pate.count,
                       pate.spreading.components, pate.spreading.neighbours, pate.spreading.smoothing,
                       training.model.scattering ? "on scattering" : "on features");
  }
  std::string words = fmt::format(
      "{} teachers, seed {}, {} epochs of batches of {}, {} {} {} {} {}, rate {}, model {}{}", pate.count, pate.seed,
      descent.epochs, descent.batch_size.value(), name_of(descent.optimizer.kind), descent.optimizer.momentum,
      descent.optimizer.beta1, descent.optimizer.beta2, descent.optimizer.weight_decay, descent.learning_rate.initial,
      training.model.name, training.model.scattering ? " on scattering" : "");
  for (const lanes::Layer& layer : training.model.layers) words += ", " + in_words(layer);
  return words;
}

}  // namespace noisefloor
