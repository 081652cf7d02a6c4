#include "noisefloor/training/checkpoint.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/model/safetensors.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kVersion = 1;
constexpr const char* kAbout = "noisefloor.checkpoint";
constexpr const char* kDigest = "noisefloor.digest";
constexpr const char* kSigner = "noisefloor.public_key";
constexpr const char* kSignature = "noisefloor.signature";

NamedTensor vector_of(const char* name, const std::vector<float>& values) { return {name, {values.size()}, values}; }

Result<std::vector<float>> values_of(const TensorFile& file, std::string_view name) {
  const NamedTensor* tensor = file.find(name);
  if (tensor == nullptr) return input_data_error("this file is not a checkpoint of a training: tensors are missing");
  return tensor->values;
}

// The digest of everything except the digest itself and the signature.
std::string digest_of(TensorFile file) {
  for (const char* key : {kDigest, kSigner, kSignature}) file.metadata.erase(key);
  return to_hex(blake2b(to_safetensors(file)));
}

// What is signed: no other text that a ledger signs begins like this.
std::string signed_text(const std::string& digest) { return "noisefloor checkpoint v1 " + digest; }

// The key that signed the file; nothing if nobody did.
Result<std::optional<PublicKey>> signer_of(const TensorFile& file, const std::string& digest) {
  const auto key_text = file.metadata.find(kSigner);
  const auto signature_text = file.metadata.find(kSignature);
  if (key_text == file.metadata.end() && signature_text == file.metadata.end()) return std::optional<PublicKey>{};
  PublicKey key{};
  Signature signature{};
  if (key_text != file.metadata.end() && signature_text != file.metadata.end() && from_hex(key_text->second, key) &&
      from_hex(signature_text->second, signature) && verify_signature(key, signed_text(digest), signature)) {
    return std::optional(key);
  }
  return input_data_error("this checkpoint was altered: its signature does not hold");
}

// Accepts only a whole number: get() would round 7.5, and wrap -7 around.
std::uint64_t count(const Json& json) { return json.get_ref<const Json::number_unsigned_t&>(); }

Result<Checkpoint> about(const std::string& text) {
  Checkpoint checkpoint;
  try {
    const Json json = Json::parse(text);
    if (count(json.at("version")) != kVersion) {
      return input_data_error("this checkpoint was written by another version");
    }
    checkpoint.name = json.at("name").get<std::string>();
    checkpoint.plan = json.at("plan").get<std::string>();
    checkpoint.state.steps = count(json.at("steps"));
    checkpoint.state.optimizer.steps = count(json.at("optimizer_steps"));
    checkpoint.state.clip_norm = json.at("clip_norm").get<double>();
    checkpoint.state.replayed = json.at("replayed").get<bool>();
    checkpoint.ledger = json.at("ledger").get<std::string>();
    for (const Json& reservation : json.at("reservations").get_ref<const Json::array_t&>())
      checkpoint.reservations.push_back(count(reservation));
    checkpoint.noise_position = count(json.at("noise_position"));
  } catch (const Json::exception&) {
    return input_data_error("this file is not a checkpoint of a training: its metadata are incomplete");
  }
  return checkpoint;
}

}  // namespace

std::string to_bytes(const Checkpoint& checkpoint, const Sign& sign) {
  const DpSgd::State& state = checkpoint.state;
  TensorFile file;
  file.tensors = {vector_of("parameters", state.parameters), vector_of("averaged", state.averaged),
                  vector_of("optimizer.first", state.optimizer.first),
                  vector_of("optimizer.second", state.optimizer.second)};
  file.metadata[kAbout] = Json{{"version", kVersion},
                               {"name", checkpoint.name},
                               {"plan", checkpoint.plan},
                               {"steps", state.steps},
                               {"optimizer_steps", state.optimizer.steps},
                               {"clip_norm", state.clip_norm},
                               {"replayed", state.replayed},
                               {"ledger", checkpoint.ledger},
                               {"reservations", checkpoint.reservations},
                               {"noise_position", checkpoint.noise_position}}
                              .dump();
  const std::string digest = digest_of(file);
  file.metadata[kDigest] = digest;
  if (sign) {
    const auto [key, signature] = sign(signed_text(digest));
    file.metadata[kSigner] = to_hex(key);
    file.metadata[kSignature] = to_hex(signature);
  }
  return to_safetensors(file);
}

Result<Checkpoint> parse_checkpoint(std::string_view bytes) {
  NF_TRY(const TensorFile file, parse_safetensors(bytes));
  const auto text = file.metadata.find(kAbout);
  const auto digest = file.metadata.find(kDigest);
  if (text == file.metadata.end() || digest == file.metadata.end()) {
    return input_data_error("this file is not a checkpoint of a training");
  }
  if (digest_of(file) != digest->second)
    return input_data_error("this checkpoint is damaged: its bytes do not have its digest");
  NF_TRY(Checkpoint checkpoint, about(text->second));
  NF_TRY(checkpoint.signer, signer_of(file, digest->second));
  NF_TRY(checkpoint.state.parameters, values_of(file, "parameters"));
  NF_TRY(checkpoint.state.averaged, values_of(file, "averaged"));
  NF_TRY(checkpoint.state.optimizer.first, values_of(file, "optimizer.first"));
  NF_TRY(checkpoint.state.optimizer.second, values_of(file, "optimizer.second"));
  return checkpoint;
}

}  // namespace noisefloor
