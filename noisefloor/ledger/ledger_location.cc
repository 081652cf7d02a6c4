#include "noisefloor/ledger/ledger_location.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/ledger/guards.h"

namespace noisefloor {
namespace {

bool is_file(const std::string& place) { return place.find("://") == std::string::npos; }

// A witness that has seen a ledger which is not there says that it was lost. Ledgers keep heads by the name of the
// ledger, which nobody knows here, so only files can say so.
Result<void> expect_never_made(const LedgerLocation& location) {
  for (const std::string& one : location.witnesses) {
    NF_TRY(const std::unique_ptr<WitnessPlace> place, open_witness_place(full_place(one), {}));
    NF_TRY(const std::optional<Witness> seen, place->read({}));
    if (seen) return internal::lost_ledger(fmt::format("the witness {}", shown(one)), seen->head, location.place);
  }
  return success();
}

LedgerOptions options_of(const LedgerLocation& location) {
  LedgerOptions options;
  options.witnesses = location.witnesses;
  return options;
}

}  // namespace

std::string usual_place(const std::string& stated) {
  if (!stated.empty()) return stated;
  const char* const other = std::getenv("NOISEFLOOR_LEDGER");
  return other == nullptr || *other == 0 ? "noisefloor.ledger" : other;
}

std::string usual_key_file(const std::string& stated, const std::string& place) {
  if (!stated.empty()) return stated;
  const char* const other = std::getenv("NOISEFLOOR_LEDGER_KEY");
  if (other != nullptr && *other != 0) return other;
  return is_file(place) ? place + ".key" : "";
}

bool is_there(const LedgerLocation& location) {
  return std::filesystem::exists(is_file(location.place) ? location.place : location.key_file);
}

Result<std::unique_ptr<Ledger>> open_to_write(const LedgerLocation& location, OpenFor purpose) {
  if (!is_there(location)) NF_TRY_VOID(expect_never_made(location));
  NF_TRY(SigningKey key, SigningKey::load(location.key_file));
  NF_TRY(std::unique_ptr<Ledger> ledger, Ledger::open(location.place, std::move(key), options_of(location)));
  if (purpose == OpenFor::kWriting) NF_TRY_VOID(ledger->expect_current(Ledger::Asked::kWitnessesToo));
  return ledger;
}

Result<std::unique_ptr<Ledger>> open_to_read(const LedgerLocation& location) {
  return Ledger::open_to_read(location.place, options_of(location));
}

Result<std::unique_ptr<Ledger>> open_to_look_ahead(const LedgerLocation& location) {
  if (!location.key_file.empty() && std::filesystem::exists(location.key_file)) {
    Result<std::unique_ptr<Ledger>> as_member = open_to_write(location);
    if (as_member.has_value() || as_member.error().code != ErrorCode::kIo) return as_member;
  }
  NF_TRY(std::unique_ptr<Ledger> ledger, open_to_read(location));
  NF_TRY_VOID(ledger->expect_current(Ledger::Asked::kThisMachine));
  return ledger;
}

Result<OpenedLedger> open_or_create(const LedgerLocation& location) {
  if (is_there(location)) {
    NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(location));
    return OpenedLedger{std::move(ledger), false};
  }
  NF_TRY_VOID(expect_never_made(location));
  if (std::filesystem::exists(location.key_file)) {
    return invalid_argument(
        fmt::format("there is a key {} but no ledger {}: was it lost? Restore it, or move the key away",
                    shown(location.key_file), shown(location.place)));
  }
  SigningKey key = SigningKey::generate();
  NF_TRY_VOID(key.save(location.key_file));
  Result<std::unique_ptr<Ledger>> made = Ledger::create(location.place, std::move(key), options_of(location));
  if (!made.has_value()) {
    ::unlink(location.key_file.c_str());
    return made.error();
  }
  return OpenedLedger{std::move(made).value(), true};
}

Result<OpenedLedger> open_to_pay(const LedgerLocation& location, const WantedBudget& budget,
                                 const AskOutlook& outlook) {
  const auto refusal = [&](const char* what) {
    return invalid_argument(fmt::format(
        "there is no {}; this would make the budget {} with epsilon {:g}, delta {:g}. {}. Nothing was spent", what,
        shown(budget.terms.name), budget.terms.epsilon.value(), budget.terms.delta.value(), budget.remedy));
  };
  if (!is_there(location)) {
    NF_TRY_VOID(expect_never_made(location));
    NF_TRY(const Outlook anew, outlook(nullptr));
    NF_TRY_VOID(expect_fits(anew));
    if (!budget.may_be_made) return refusal("ledger");
    return open_or_create(location);
  }
  NF_TRY(OpenedLedger opened, open_or_create(location));
  NF_TRY(const Outlook there, outlook(opened.ledger.get()));
  if (there.makes_budget && !budget.may_be_made) return refusal("such budget");
  return opened;
}

Result<Outlook> outlook_at(const LedgerLocation& location, const AskOutlook& outlook) {
  if (!is_there(location)) {
    NF_TRY_VOID(expect_never_made(location));
    return outlook(nullptr);
  }
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_look_ahead(location));
  return outlook(ledger.get());
}

}  // namespace noisefloor
