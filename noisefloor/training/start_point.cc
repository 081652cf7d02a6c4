#include "noisefloor/training/start_point.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/training/model_release.h"

namespace noisefloor {
namespace {

// What the file says of itself, if it says anything that is true.
std::optional<VerifiedRelease> certified(std::string_view bytes) {
  Result<VerifiedRelease> release = verify_any_release(bytes);
  if (!release.has_value() || !release.value().has_content) return std::nullopt;
  return std::move(release).value();
}

Error needs_a_reason(std::string_view why) {
  return invalid_argument(
      fmt::format("start_from: {}. A private training starts from a model that the same ledger has paid for, or from "
                  "weights of public data: if these are, say why with start_is_public = \"…\"",
                  why));
}

// Weights that the ledger knows to have come of private rows without noise are not public, whatever is declared.
Result<void> expect_not_exposed(const Digest& released, Ledger& ledger) {
  return ledger.read([&](const LedgerState& state) -> Result<void> {
    const LedgerState::Exposure* const exposure = state.exposure_that_made(released);
    if (exposure == nullptr) return success();
    return invalid_argument(fmt::format(
        "start_from: these weights were made without noise from the rows of the private dataset {} (entry {} of the "
        "ledger: {}), so they are not public: train them with privacy, or leave start_from out",
        shown(state.datasets()[exposure->dataset].name), exposure->entry, name_of(exposure->kind)));
  });
}

Result<StartPoint> public_start(std::string_view bytes, const std::string& words, Ledger* ledger) {
  const std::optional<VerifiedRelease> release = certified(bytes);
  if (release) {
    const Certificate& certificate = release->certificate.certificate;
    if (!std::isfinite(certificate.epsilon.upper) && !certificate.public_data) {
      return invalid_argument(
          "start_from: these weights were trained without privacy on rows that were not declared public, so they are "
          "not public either: train them with privacy, or leave start_from out");
    }
  }
  NF_TRY(const TensorFile file, parse_safetensors(bytes));
  const Digest released = digest_of(file.tensors);
  // A ledger that is not there yet knows of no exposures.
  if (ledger != nullptr) NF_TRY_VOID(expect_not_exposed(released, *ledger));
  return StartPoint{released, words};
}

}  // namespace

Result<StartPoint> start_point_of(std::string_view bytes, const std::optional<std::string>& declared_public,
                                  Ledger* ledger, const std::string& budget) {
  if (declared_public) return public_start(bytes, *declared_public, ledger);
  const std::optional<VerifiedRelease> release = certified(bytes);
  if (!release) return needs_a_reason("these weights have no certificate that holds");
  const Certificate& certificate = release->certificate.certificate;
  if (!certificate.spend) return needs_a_reason("these weights were trained without privacy");
  if (ledger == nullptr) return needs_a_reason("these weights were paid for by another ledger");
  if (const Result<void> paid = verify_in_ledger(*release, *ledger); !paid.has_value()) {
    if (paid.error().code != ErrorCode::kVerificationFailed) return paid.error();
    return needs_a_reason(paid.error().message);
  }
  bool same_rows = false;
  NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
    if (state.find(budget) == nullptr) return success();  // a budget that would be made has paid for nothing
    same_rows = state.payer_of(certificate.spend->budget).terms->name == state.payer_of(budget).terms->name;
    return success();
  }));
  StartPoint start{certificate.released,
                   {},
                   blake2b(release->certificate_text),
                   certificate.spend->budget,
                   certificate.spend->reservations};
  if (same_rows) start.counted = certificate.statement;
  return start;
}

}  // namespace noisefloor
