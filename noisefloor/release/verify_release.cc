#include "noisefloor/release/verify_release.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"
#include "noisefloor/release/document.h"
#include "noisefloor/release/exposures.h"
#include "noisefloor/release/paid_statement.h"

namespace noisefloor {
namespace {

// The entry that committed the release.
Result<std::uint64_t> settled_in(const LedgerState& state, const CertifiedSpend& spend,
                                 const std::optional<PublicKey>& key) {
  if (state.genesis().ledger != spend.ledger) return verification_failed("the release was charged to another ledger");
  if (!key || state.find_member(*key) == nullptr)
    return verification_failed("the certificate was signed with another key than the ledger's");
  const LedgerState::Spend* last = state.find_spend(spend.reservations.empty() ? 0 : spend.reservations.back());
  if (last == nullptr || last->status != SpendStatus::kCommitted) {
    return verification_failed("the ledger has paid for this, but has no record of its release");
  }
  NF_TRY_VOID(state.signer_of("the certificate", *key, spend.reservations, last->settled));
  return last->settled;
}

// The certificate names the blocks that every one of its reservations spent from: an epsilon that one block has paid
// for says nothing of rows in another one.
Result<void> expect_blocks(Ledger& ledger, const CertifiedSpend& spend) {
  for (const std::uint64_t sequence : spend.reservations) {
    NF_TRY(const Entry entry, ledger.entry(sequence));
    const auto* reserve = std::get_if<ReserveEntry>(&entry.body);
    if (reserve != nullptr && reserve->blocks == spend.blocks) continue;
    return verification_failed(fmt::format(
        "the certificate names other blocks than reservation {} has spent from: its epsilon is not what their rows "
        "were promised",
        sequence));
  }
  return success();
}

UseKind use_of(ReleaseKind kind) {
  switch (kind) {
    case ReleaseKind::kModel:
      return UseKind::kTraining;
    case ReleaseKind::kAnswer:
      return UseKind::kStatistic;
    case ReleaseKind::kUtilityGraph:
      return UseKind::kUtilityGraph;
  }
  NF_UNREACHABLE("a kind of release outside the closed list");
}

// Whoever may use a budget for some kinds only must not release another kind with it. Reservations that do not say what
// they are for are by owners, or by analysts who may do all.
Result<void> check_use(const LedgerState& state, const std::vector<std::uint64_t>& reservations, UseKind released,
                       std::string_view what) {
  for (const std::uint64_t sequence : reservations) {
    const LedgerState::Spend* const spend = state.find_spend(sequence);
    if (spend == nullptr || !spend->use || *spend->use == released) continue;
    // A model may continue from an answer that was released, as the student of a vote does: whoever made the answer
    // could, and whoever has it may learn from it.
    const bool is_released_answer = *spend->use == UseKind::kStatistic && spend->status == SpendStatus::kCommitted;
    if (released == UseKind::kTraining && is_released_answer && sequence != reservations.back()) continue;
    return verification_failed(
        fmt::format("reservation {} was made for the use '{}', and {} is a release of the use "
                    "'{}': it was not what it was reserved for",
                    sequence, name_of(*spend->use), what, name_of(released)));
  }
  return success();
}

}  // namespace

Result<VerifiedRelease> verify_release(std::string_view bytes, const ReleaseReader& reader) {
  NF_TRY(std::optional<ReleaseParts> parts, read_document_parts(bytes));
  if (!parts && reader) {
    NF_TRY(parts, reader(bytes));
  }
  const std::string text = parts ? std::move(parts->certificate) : std::string(bytes);
  NF_TRY(SignedCertificate certificate, parse_certificate(text));
  if (parts && parts->content != certificate.certificate.released) {
    return verification_failed("the content of the file is not what its certificate is about");
  }
  return VerifiedRelease{std::move(certificate), text, parts.has_value(), blake2b(bytes)};
}

Result<void> verify_in_ledger(const VerifiedRelease& release, Ledger& ledger) {
  const Certificate& certificate = release.certificate.certificate;
  if (!certificate.spend) return invalid_argument("the certificate names no ledger: nothing was charged for it");
  const CertifiedSpend& spend = *certificate.spend;
  Result<std::uint64_t> settled = internal_error("the ledger was not read");
  const auto check = [&](const LedgerState& state) -> Result<void> {
    settled = settled_in(state, spend, release.certificate.key);
    if (!settled.has_value()) return success();
    NF_TRY_VOID(check_use(state, spend.reservations, use_of(certificate.kind), "this"));
    if (!certificate.start || !certificate.start->certificate) return success();
    return check_use(state, certificate.start->reservations, UseKind::kTraining, "the model that it started from");
  };
  NF_TRY_VOID(ledger.read(check));
  if (!settled.has_value()) return settled.error();
  NF_TRY(const DpStatement paid, paid_statement(ledger, spend.budget, spend.reservations, certificate.start));
  if (paid != certificate.statement) {
    return verification_failed(
        "the certificate states something else than what was reserved for it: its epsilon is not what was paid for");
  }
  NF_TRY_VOID(expect_exposures(certificate, ledger));
  NF_TRY_VOID(expect_blocks(ledger, spend));
  // Checks the history in which it was sealed, and the released file.
  bool has_head = false;
  std::optional<Digest> released;
  const auto look = [&](const StoredEntry& stored) -> Result<void> {
    NF_TRY(const Entry entry, parse_entry(stored.text));
    if (entry.sequence + 1 == spend.head) has_head = stored.hash == spend.head_hash;
    if (const auto* commit = std::get_if<CommitEntry>(&entry.body);
        commit != nullptr && entry.sequence == settled.value()) {
      released = commit->release;
    }
    return success();
  };
  NF_TRY_VOID(ledger.history(spend.head - 1, look));
  if (!has_head) return verification_failed("the ledger's history is not the one in which this was sealed");
  if (release.has_content && released != release.digest) {
    return verification_failed("this is not the file that was released: it was altered or replaced");
  }
  return success();
}

Result<std::string> signer_in_ledger(const VerifiedRelease& release, Ledger& ledger) {
  std::string found;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const std::optional<PublicKey>& key = release.certificate.key;
    const LedgerState::Member* const member = key ? state.find_member(*key) : nullptr;
    if (member != nullptr && state.has_roles()) {
      found = fmt::format("the {} {} of", name_of(member->role), shown(member->name));
    }
    return success();
  }));
  return found;
}

}  // namespace noisefloor
