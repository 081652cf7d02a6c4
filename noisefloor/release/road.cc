#include "noisefloor/release/road.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/release/exposures.h"
#include "noisefloor/release/verify_release.h"

namespace noisefloor {
namespace {

Result<void> authorise(const ReleaseRequest& request, Outlet& outlet) {
  if (contains<NonPrivateEvent>(request.spend.statement.event)) {
    return invalid_argument(
        "a result without noise, or with noise that can be repeated, is not private and cannot be released");
  }
  return outlet.prepare();
}

// The sealed release that was made before, on this ledger. Checks its digest, signature and ε, and that whoever signed
// it could.
Result<Sealed> unsealed(const ReleaseRequest& request, std::string bytes, Ledger& ledger) {
  NF_TRY(VerifiedRelease verified, verify_release(bytes, request.reader));
  Certificate& certificate = verified.certificate.certificate;
  const std::optional<PublicKey>& key = verified.certificate.key;
  const auto check = [&](const LedgerState& state) -> Result<void> {
    if (!certificate.spend || certificate.spend->ledger != state.genesis().ledger || !key) {
      return verification_failed("this was released by another ledger");
    }
    NF_TRY_VOID(state.signer_of("it", *key, certificate.spend->reservations, state.next_sequence()));
    return success();
  };
  NF_TRY_VOID(ledger.read(check));
  return Sealed{std::move(bytes), std::move(certificate), std::move(verified.certificate_text)};
}

// The reservation of the request's key, if there is one.
Result<std::optional<LedgerState::Spend>> earlier_spend(const ReserveRequest& request, Ledger& ledger,
                                                        std::optional<std::uint64_t>& sequence) {
  std::optional<LedgerState::Spend> found;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    sequence = state.find_key(request.budget, request.key);
    if (sequence) found = *state.find_spend(*sequence);
    return success();
  }));
  return found;
}

std::string configuration_of(const ReleaseRequest& request) {
  const std::string& stated = request.spend.note.configuration;
  return stated.empty() ? "{}" : stated;
}

// The release that an earlier run of this request sealed and left behind. An error if the outlet holds anything else.
Result<std::optional<Sealed>> left_behind(const ReleaseRequest& request, Ledger& ledger, Outlet& outlet) {
  NF_TRY(std::optional<std::string> bytes, outlet.kept());
  if (!bytes) return std::optional<Sealed>{};
  std::optional<std::uint64_t> sequence;
  NF_TRY(const std::optional<LedgerState::Spend> spend, earlier_spend(request.spend, ledger, sequence));
  const Error other = invalid_argument(
      fmt::format("{} is there already, and is another release: give another place, and another key to release, and "
                  "spend, again",
                  shown(outlet.name())));
  Result<Sealed> sealed = unsealed(request, *std::move(bytes), ledger);
  if (!spend || !sealed.has_value()) return other;
  const Certificate& certificate = sealed.value().certificate;
  if (certificate.spend->budget != request.spend.budget || certificate.spend->reservations.empty() ||
      certificate.spend->reservations.back() != *sequence || certificate.configuration != configuration_of(request)) {
    return other;
  }
  NF_TRY_VOID(ledger.commit(*sequence, blake2b(sealed.value().bytes),
                            request.in_ledger ? std::optional<std::string_view>(sealed.value().bytes) : std::nullopt));
  return std::optional<Sealed>(std::move(sealed).value());
}

Result<Sealed> run_and_commit(const ReleaseRequest& request, const Digest& identity, Ledger& ledger, Outlet& outlet,
                              const PaidRun& run, Reservation reservation) {
  CertifiedSpend paid{identity, request.spend.budget, request.earlier, 0, {}};
  paid.reservations.push_back(reservation.sequence());
  paid.blocks = request.spend.blocks;
  reservation.begin();
  NF_TRY(Draft draft, run(paid));
  NF_TRY(const Witness witness, ledger.witness());
  paid.head = witness.head.sequence + 1;
  paid.head_hash = witness.head.hash;
  NF_TRY(draft.certificate.exposures, exposures_before(ledger, paid.budget, paid.head));
  NF_TRY(const Sign sign, sign_by(ledger));
  Sealed sealed = seal(std::move(draft), std::move(paid), sign);
  NF_TRY_VOID(outlet.keep(sealed.bytes));
  NF_TRY_VOID(ledger.commit(reservation.sequence(), blake2b(sealed.bytes),
                            request.in_ledger ? std::optional<std::string_view>(sealed.bytes) : std::nullopt));
  return sealed;
}

}  // namespace

Result<Sign> sign_by(Ledger& ledger) {
  NF_TRY(const PublicKey key, ledger.signer());
  return Sign([&ledger, key](std::string_view text) { return std::pair(key, ledger.sign(text).value()); });
}

Sealed seal(Draft draft, std::optional<CertifiedSpend> spend, const Sign& sign) {
  draft.certificate.spend = std::move(spend);
  std::string text = to_json(draft.certificate, sign);
  std::string bytes = draft.with_certificate(text);
  return {std::move(bytes), std::move(draft.certificate), std::move(text)};
}

Result<Released> release_by(const ReleaseRequest& request, Ledger& ledger, Outlet& outlet, const PaidRun& run) {
  NF_TRY_VOID(authorise(request, outlet));
  NF_TRY(std::optional<Sealed> earlier, left_behind(request, ledger, outlet));
  if (!earlier) {
    NF_TRY(const Witness before, ledger.witness());
    NF_TRY(Reservation reservation, ledger.reserve(request.spend));
    if (!reservation.earlier_release()) {
      NF_TRY(Sealed sealed, run_and_commit(request, before.head.ledger, ledger, outlet, run, std::move(reservation)));
      NF_TRY_VOID(outlet.publish(sealed));
      return Released{std::move(sealed), false};
    }
    if (!reservation.earlier_answer()) {
      return invalid_argument(
          fmt::format("the key {} was used before, for reservation {}: its release has the digest {}. To release, and "
                      "spend, again, give another key",
                      shown(request.spend.key), reservation.sequence(), to_hex(*reservation.earlier_release())));
    }
    NF_TRY(earlier, unsealed(request, *reservation.earlier_answer(), ledger));
  }
  NF_TRY_VOID(outlet.publish(*earlier));
  return Released{*std::move(earlier), true};
}

}  // namespace noisefloor
