#include "noisefloor/cli/ledger_access.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/options.h"
#include "noisefloor/crypto/signing.h"

namespace noisefloor::cli {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_file(const std::string& location) { return location.find("://") == std::string::npos; }

LedgerOptions ledger_options(const LedgerAccess& access) {
  LedgerOptions options;
  if (!access.witnesses.empty()) options.witness = access.witnesses.front();
  return options;
}

}  // namespace

void LedgerAccess::add_to(CLI::App& command, bool writes, bool with_witnesses) {
  const OptionGroup group(command, "Ledger");
  group.optional("--ledger", ledger, "File or postgresql://… (NOISEFLOOR_LEDGER, or noisefloor.ledger)", "PLACE");
  if (writes) {
    group.optional("--key-file", key_file, "Its signing key (NOISEFLOOR_LEDGER_KEY, or PLACE.key)", "FILE");
  }
  if (with_witnesses) {
    group.repeatable("--witness", witnesses,
                     writes ? "Check this witness first, and move it on" : "Compare with this witness; may be repeated",
                     "FILE");
  }
}

std::string location_of(const LedgerAccess& access) {
  if (!access.ledger.empty()) return access.ledger;
  const std::string other = from_environment("NOISEFLOOR_LEDGER");
  return other.empty() ? "noisefloor.ledger" : other;
}

Result<std::string> key_file_of(const LedgerAccess& access) {
  if (!access.key_file.empty()) return access.key_file;
  if (const std::string other = from_environment("NOISEFLOOR_LEDGER_KEY"); !other.empty()) return other;
  const std::string location = location_of(access);
  if (is_file(location)) return location + ".key";
  return invalid_argument("a ledger in PostgreSQL needs the file of its key: give --key-file");
}

Result<std::unique_ptr<Ledger>> open_to_write(const LedgerAccess& access) {
  NF_TRY(const std::string key_file, key_file_of(access));
  NF_TRY(SigningKey key, SigningKey::load(key_file));
  return Ledger::open(location_of(access), std::move(key), ledger_options(access));
}

Result<std::unique_ptr<Ledger>> open_to_read(const LedgerAccess& access) {
  return Ledger::open_to_read(location_of(access), {});
}

bool ledger_is_there(const LedgerAccess& access) {
  const std::string location = location_of(access);
  if (is_file(location)) return std::filesystem::exists(location);
  const Result<std::string> key_file = key_file_of(access);
  return key_file.has_value() && std::filesystem::exists(key_file.value());
}

Result<OpenedLedger> open_or_create(const LedgerAccess& access) {
  const std::string location = location_of(access);
  NF_TRY(const std::string key_file, key_file_of(access));
  const bool has_key = std::filesystem::exists(key_file);
  if (ledger_is_there(access)) {
    NF_TRY(std::unique_ptr<Ledger> ledger, open_to_write(access));
    return OpenedLedger{std::move(ledger), false};
  }
  if (has_key) {
    return invalid_argument(
        fmt::format("there is a key {} but no ledger {}: was it lost? Restore it, or move the key away",
                    shown(key_file), shown(location)));
  }
  SigningKey key = SigningKey::generate();
  NF_TRY_VOID(key.save(key_file));
  Result<std::unique_ptr<Ledger>> made = Ledger::create(location, std::move(key), {});
  if (!made.has_value()) {
    ::unlink(key_file.c_str());
    return made.error();
  }
  return OpenedLedger{std::move(made).value(), true};
}

Result<OpenedLedger> open_to_pay(const LedgerAccess& access, bool create, const BudgetTerms& if_new,
                                 const std::string& file, const AskOutlook& outlook) {
  const auto refusal = [&](const char* what) {
    return invalid_argument(fmt::format(
        "there is no {}; this would make the budget {} with epsilon {:g}, delta {:g}. Run `noisefloor dataset add {}` "
        "first, or give --create. Nothing was spent",
        what, shown(if_new.name), if_new.epsilon.value(), if_new.delta.value(), file));
  };
  if (!ledger_is_there(access)) {
    NF_TRY(const Outlook anew, outlook(nullptr));
    NF_TRY_VOID(expect_fits(anew));
    if (!create) return refusal("ledger");
    return open_or_create(access);
  }
  NF_TRY(OpenedLedger opened, open_or_create(access));
  NF_TRY(const Outlook there, outlook(opened.ledger.get()));
  if (there.makes_budget && !create) return refusal("such budget");
  return opened;
}

Result<Outlook> outlook_at(const LedgerAccess& access, const AskOutlook& outlook) {
  if (!ledger_is_there(access)) return outlook(nullptr);
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(access));
  return outlook(ledger.get());
}

}  // namespace noisefloor::cli
