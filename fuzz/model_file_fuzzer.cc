// Any bytes as a model, a checkpoint, a certificate or a plan: never a crash, and what is accepted is written back as
// it was read. The first byte says which. What stands behind a digest is reached by making the digest right.
#include <cstddef>
#include <cstdint>
#include <string>

#include "noisefloor/base/check.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/training/checkpoint.h"
#include "noisefloor/training/model_release.h"
#include "noisefloor/training/plan_file.h"

namespace {

using namespace noisefloor;

void expect_reason(const Error& error) {
  NF_CHECK(!error.message.empty() && error.message.find('\n') == std::string::npos, "a refusal is one line");
}

void drive_model(const std::string& bytes) {
  if (const auto file = parse_safetensors(bytes); file.has_value()) {
    const auto again = parse_safetensors(to_safetensors(file.value()));
    NF_CHECK(again.has_value(), "what was read can be written");
    NF_CHECK(again.value().tensors.size() == file.value().tensors.size(), "all tensors come back");
    NF_CHECK(again.value().metadata == file.value().metadata, "metadata come back");
  } else {
    expect_reason(file.error());
  }
  if (const auto release = verify_any_release(bytes); !release.has_value()) expect_reason(release.error());
}

// Metadata are UTF-8 when they are written, so these are ASCII.
void drive_checkpoint(std::string about) {
  for (char& c : about) c = static_cast<char>(c & 0x7F);
  TensorFile file;
  for (const char* name : {"parameters", "averaged", "optimizer.first", "optimizer.second"}) {
    file.tensors.push_back({name, {1}, {0.5F}});
  }
  file.metadata["noisefloor.checkpoint"] = about;
  file.metadata["noisefloor.digest"] = to_hex(blake2b(to_safetensors(file)));
  const auto checkpoint = parse_checkpoint(to_safetensors(file));
  if (!checkpoint.has_value()) return expect_reason(checkpoint.error());
  const auto again = parse_checkpoint(to_bytes(checkpoint.value()));
  NF_CHECK(again.has_value(), "what was read can be written");
  NF_CHECK(again.value().reservations == checkpoint.value().reservations, "reservations come back");
  NF_CHECK(again.value().state.steps == checkpoint.value().state.steps, "steps come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      drive_model(bytes);
      break;
    case 1:
      drive_checkpoint(bytes);
      break;
    case 2:
      if (const auto plan = parse_plan_file(bytes); !plan.has_value()) expect_reason(plan.error());
      break;
    default:
      if (const auto checkpoint = parse_checkpoint(bytes); !checkpoint.has_value()) expect_reason(checkpoint.error());
      break;
  }
  return 0;
}
