#include "noisefloor/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/report/html.h"
#include "noisefloor/training/model_release.h"

namespace noisefloor {
namespace {

// Stops at the first error, which names its file if there are several.
Result<void> verify_each(std::span<Verdict> verdicts, const std::function<Result<void>(Verdict&)>& verify) {
  for (Verdict& verdict : verdicts) {
    Result<void> verified = verify(verdict);
    if (verified.has_value()) continue;
    Error error = std::move(verified).error();
    if (verdicts.size() > 1) error.message = fmt::format("{}: {}", verdict.file, error.message);
    return error;
  }
  return success();
}

bool is_add_remove(const Certificate& certificate) { return certificate.statement.adjacency == Adjacency::kAddRemove; }

}  // namespace

bool Verdict::is_private() const { return std::isfinite(certificate().epsilon.upper); }

Result<Verdict> verify_file(const std::string& path) {
  NF_TRY(const std::string bytes, read_file(path, kMaxReleaseBytes));
  NF_TRY(VerifiedRelease release, verify_any_release(bytes));
  Verdict verdict{path, std::move(release), Payment::kNotLookedAt, {}, {}, {}, {}};
  if (!verdict.certificate().spend) verdict.payment = Payment::kNotCharged;
  // These fields are only shown, and nothing is computed from them; their types were checked with the certificate.
  const nlohmann::json json = nlohmann::json::parse(verdict.release.certificate_text, nullptr, false);
  NF_CHECK(json.is_object(), "a certificate that verifies is a JSON object");
  const auto accountant = json.find("accountant");
  if (accountant != json.end() && accountant->is_string()) verdict.accountant = accountant->get<std::string>();
  for (const auto& item : json.at("not_covered")) verdict.not_covered.push_back(item.get<std::string>());
  return verdict;
}

Result<void> verify_signer(Verdict& verdict, std::span<const Signer> trusted) {
  const std::optional<PublicKey>& key = verdict.release.certificate.key;
  if (trusted.empty() || !key) return success();
  const Signer* const found = find_signer(trusted, *key);
  if (found == nullptr) {
    return verification_failed(
        fmt::format("it was signed with the key {}, which is none of the keys that you trust", to_hex(*key)));
  }
  verdict.signer = found->name.empty() ? "a key that you trust" : shown(found->name);
  return success();
}

Result<void> verify_signers(std::span<Verdict> verdicts, std::span<const Signer> trusted) {
  return verify_each(verdicts, [&](Verdict& verdict) { return verify_signer(verdict, trusted); });
}

Result<void> verify_payment(Verdict& verdict, Ledger& ledger, LedgerIs ledger_is) {
  if (verdict.payment == Payment::kNotCharged) return success();
  NF_TRY_VOID(verify_in_ledger(verdict.release, ledger));
  verdict.payment = Payment::kPaid;
  NF_TRY(const std::string member, signer_in_ledger(verdict.release, ledger));
  if (ledger_is == LedgerIs::kNamed && !verdict.signer) {
    verdict.signer = member.empty() ? "the ledger that you named" : member + " the ledger that you named";
  }
  return success();
}

Result<void> verify_payments(std::span<Verdict> verdicts, Ledger& ledger, LedgerIs ledger_is) {
  return verify_each(verdicts, [&](Verdict& verdict) { return verify_payment(verdict, ledger, ledger_is); });
}

bool awaits_ledger(std::span<const Verdict> verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const Verdict& verdict) { return verdict.payment == Payment::kNotLookedAt; });
}

std::string claim_of(const Verdict& verdict) {
  const Certificate& certificate = verdict.certificate();
  return fmt::format("epsilon {} at delta {:g}, for one {} {}",
                     shown_interval(certificate.epsilon.lower, certificate.epsilon.upper), certificate.delta.value(),
                     name_of(certificate.statement.unit),
                     is_add_remove(certificate) ? "added or removed" : "exchanged");
}

std::string meaning_of(const Verdict& verdict) {
  const Certificate& certificate = verdict.certificate();
  if (!verdict.is_private()) {
    return "NOT PRIVATE: it was made for comparison, without noise or with noise that can be repeated, and promises "
           "nothing to anyone";
  }
  return fmt::format(
      "no conclusion drawn from this {} becomes more than {:.4g} times as likely because any one {} {}, except with "
      "probability {:g}",
      name_of(certificate.kind), std::exp(certificate.epsilon.upper), name_of(certificate.statement.unit),
      is_add_remove(certificate) ? "was in the data or was not" : "was what it is and not another",
      certificate.delta.value());
}

std::string signature_of(const Verdict& verdict, const std::string& remedy) {
  const std::optional<PublicKey>& key = verdict.release.certificate.key;
  if (!key) return "none";
  if (verdict.signer) return fmt::format("valid, by {}: {}", *verdict.signer, to_hex(*key));
  return fmt::format("valid, by an UNKNOWN key: {}{}{}", to_hex(*key), remedy.empty() ? "" : ". ", remedy);
}

std::string start_of(const Verdict& verdict) {
  const std::optional<StartPoint>& start = verdict.certificate().start;
  if (!start) return "";
  if (!start->certificate) return fmt::format("weights that are declared public: {}", shown(start->declared_public));
  return fmt::format("a model that the budget {} has paid for{}", shown(start->budget),
                     start->counted ? ", whose cost is included" : ": other rows, whose cost is not included");
}

std::string exposures_of(const Verdict& verdict) {
  const std::vector<CertifiedExposure>& exposures = verdict.certificate().exposures;
  if (exposures.empty()) return "";
  constexpr std::size_t kMostShown = 10;
  std::string list;
  for (std::size_t i = 0; i < exposures.size() && i < kMostShown; ++i) {
    list += fmt::format("{}{} (entry {})", i > 0 ? ", " : "", name_of(exposures[i].kind), exposures[i].entry);
  }
  if (exposures.size() > kMostShown) list += fmt::format(" and {} more", exposures.size() - kMostShown);
  return fmt::format(
      "these rows had been looked at without noise before, {}: {}. Choices that were made after seeing it are not "
      "covered by epsilon",
      exposures.size() == 1 ? "once" : fmt::format("{} times", exposures.size()), list);
}

std::string coverage_of(const Verdict& verdict) {
  const Certificate& certificate = verdict.certificate();
  if (verdict.release.has_content) {
    return fmt::format("{}: the file holds what the certificate is about, unaltered", shown(certificate.name));
  }
  return fmt::format("{}: this is its certificate alone. Verify the {} to know that it is the one",
                     shown(certificate.name), name_of(certificate.kind));
}

}  // namespace noisefloor
