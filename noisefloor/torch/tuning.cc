#include "noisefloor/torch/tuning.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <string_view>

namespace noisefloor {
namespace {

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

bool is_at_or_below(std::string_view path, std::string_view name) {
  return path == name || (path.starts_with(name) && path.size() > name.size() && path[name.size()] == '.');
}

bool is_chosen(std::string_view path, const TuneBiases& /*what*/) {
  const std::string_view name = last_part(path);
  return name == "bias" || name.starts_with("bias_") || name.ends_with("_bias");
}

bool is_chosen(std::string_view path, const TuneLora& /*what*/) { return last_part(path).starts_with("lora_"); }

bool is_chosen(std::string_view path, const TuneNames& what) {
  return std::any_of(what.names.begin(), what.names.end(),
                     [&](const std::string& name) { return is_at_or_below(path, name); });
}

Result<void> check_names(const std::vector<std::string>& paths, const Tune& what) {
  const auto* by_name = std::get_if<TuneNames>(&what);
  if (by_name == nullptr) return success();
  for (const std::string& name : by_name->names)
    if (std::none_of(paths.begin(), paths.end(), [&](const std::string& path) { return is_at_or_below(path, name); }))
      return invalid_argument(fmt::format("{} is neither a parameter nor a module with parameters", name));
  return success();
}

}  // namespace

Result<std::vector<std::string>> tune_only(torch::nn::Module& module, const Tune& what) {
  const auto parameters = module.named_parameters();
  NF_TRY_VOID(check_names(parameters.keys(), what));
  std::vector<std::string> chosen;
  for (const std::string& path : parameters.keys())
    if (std::visit([&](const auto& kind) { return is_chosen(path, kind); }, what)) chosen.push_back(path);
  if (chosen.empty()) return invalid_argument("no parameter of this kind to train: name others");
  for (const auto& item : parameters) item.value().set_requires_grad(false);
  for (const std::string& path : chosen) parameters[path].set_requires_grad(true);
  return chosen;
}

}  // namespace noisefloor
