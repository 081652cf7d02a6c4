#include "noisefloor/ledger/postgres_witness.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/open_store.h"

namespace noisefloor::internal {
namespace {

// Heads only move forward: a later epoch, or a later entry of the same one.
constexpr const char* kWitnessedSchema = R"(
BEGIN;
SELECT pg_advisory_xact_lock(5643);
CREATE TABLE IF NOT EXISTS noisefloor_ledger.witnessed (
  ledger bytea PRIMARY KEY, key bytea NOT NULL, time bigint NOT NULL, epoch bigint NOT NULL, sequence bigint NOT NULL,
  hash bytea NOT NULL, signature bytea NOT NULL);
CREATE OR REPLACE FUNCTION noisefloor_ledger.keep_forward() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN
    IF TG_OP = 'UPDATE' THEN
      IF NEW.ledger = OLD.ledger AND (NEW.epoch, NEW.sequence) >= (OLD.epoch, OLD.sequence) THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION 'heads of peers do not go back';
  END $$;
DROP TRIGGER IF EXISTS witnessed_moves_forward ON noisefloor_ledger.witnessed;
CREATE TRIGGER witnessed_moves_forward BEFORE UPDATE OR DELETE ON noisefloor_ledger.witnessed
  FOR EACH ROW EXECUTE FUNCTION noisefloor_ledger.keep_forward();
DROP TRIGGER IF EXISTS witnessed_stays ON noisefloor_ledger.witnessed;
CREATE TRIGGER witnessed_stays BEFORE TRUNCATE ON noisefloor_ledger.witnessed
  FOR EACH STATEMENT EXECUTE FUNCTION noisefloor_ledger.keep_forward();
COMMIT;
)";

using PeerConnection = std::unique_ptr<PGconn, decltype([](PGconn* c) { PQfinish(c); })>;
using PeerAnswer = std::unique_ptr<PGresult, decltype([](PGresult* r) { PQclear(r); })>;

class PostgresWitness final : public WitnessPlace {
 public:
  PostgresWitness(PeerConnection connection, std::string place, int busy_ms)
      : connection_(std::move(connection)), place_(std::move(place)), busy_ms_(busy_ms) {}
  ~PostgresWitness() override { unlock(); }
  PostgresWitness(const PostgresWitness&) = delete;
  PostgresWitness& operator=(const PostgresWitness&) = delete;

  [[nodiscard]] std::string name() const override { return without_password(place_); }

  [[nodiscard]] Result<void> set_up() {
    NF_TRY_VOID(run(fmt::format("SET synchronous_commit = on; SET lock_timeout = {}; SET client_min_messages = warning",
                                busy_ms_)));
    NF_TRY(const PeerAnswer there, run("SELECT to_regclass('noisefloor_ledger.witnessed') IS NOT NULL"));
    if (value(there, 0, 0) == "t") return success();
    NF_TRY_VOID(run(kWitnessedSchema));
    return success();
  }

  // The lock is one of the ledger's name, not one of the peer: its own writers go on, and two ledgers that watch each
  // other do not wait for each other. The row comes along in the same round trip.
  [[nodiscard]] Result<void> lock(const Digest& ledger) override {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      PQreset(connection_.get());
      NF_TRY_VOID(set_up());
    }
    locked_ = true;
    const std::string name = to_hex(ledger);
    NF_TRY(row_, run(fmt::format("BEGIN; SELECT pg_advisory_xact_lock(('x' || '{}')::bit(64)::bigint); {}",
                                 name.substr(0, 16), row_of(name))));
    return success();
  }
  [[nodiscard]] Result<std::optional<Witness>> read(const Digest& ledger) override {
    if (!row_) {
      NF_TRY(row_, run(row_of(to_hex(ledger))));
    }
    const PeerAnswer row = std::move(row_);
    if (PQntuples(row.get()) == 0) return std::optional<Witness>();
    Witness witness{};
    witness.head.ledger = ledger;
    const bool whole = PQntuples(row.get()) == 1 && from_hex(value(row, 0, 0), witness.key) &&
                       number(value(row, 0, 1), witness.time) && number(value(row, 0, 2), witness.head.epoch) &&
                       number(value(row, 0, 3), witness.head.sequence) &&
                       from_hex(value(row, 0, 4), witness.head.hash) &&
                       from_hex(value(row, 0, 5), witness.head.signature);
    if (whole && is_signed_by(witness.head, witness.key)) return std::optional(witness);
    return verification_failed(
        fmt::format("the head that the witness {} keeps was altered: its signature does not hold", shown(name())));
  }
  [[nodiscard]] Result<void> write(const Witness& witness) override {
    const Head& head = witness.head;
    NF_TRY_VOID(run(fmt::format(
        R"(INSERT INTO noisefloor_ledger.witnessed VALUES ('\x{}', '\x{}', {}, {}, {}, '\x{}', '\x{}') ON CONFLICT (ledger) )"
        "DO UPDATE SET key = excluded.key, time = excluded.time, epoch = excluded.epoch, sequence = excluded.sequence, "
        "hash = excluded.hash, signature = excluded.signature; COMMIT",
        to_hex(head.ledger), to_hex(witness.signer.value_or(witness.key)), witness.time, head.epoch, head.sequence,
        to_hex(head.hash), to_hex(head.signature))));
    locked_ = false;
    return success();
  }
  void unlock() override {
    row_.reset();
    if (!locked_) return;
    locked_ = false;
    static_cast<void>(run("ROLLBACK"));  // fails if the connection is lost, and the lock with it
  }

 private:
  static std::string row_of(const std::string& ledger) {
    return fmt::format(
        "SELECT encode(key, 'hex'), time, epoch, sequence, encode(hash, 'hex'), encode(signature, 'hex') FROM "
        R"(noisefloor_ledger.witnessed WHERE ledger = '\x{}')",
        ledger);
  }
  static std::string_view value(const PeerAnswer& rows, int row, int column) {
    return {PQgetvalue(rows.get(), row, column), static_cast<std::size_t>(PQgetlength(rows.get(), row, column))};
  }
  template <class Whole>
  static bool number(std::string_view text, Whole& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc() && end == text.data() + text.size();
  }
  [[nodiscard]] Result<PeerAnswer> run(const std::string& sql) {
    PeerAnswer rows(PQexec(connection_.get(), sql.c_str()));
    const ExecStatusType status = PQresultStatus(rows.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return rows;
    const char* text = PQresultErrorField(rows.get(), PG_DIAG_MESSAGE_PRIMARY);
    return io_error(fmt::format("the witness {} could not be asked: {}", shown(name()),
                                text != nullptr ? text : "the connection was lost"));
  }

  PeerConnection connection_;
  std::string place_;
  int busy_ms_;
  bool locked_ = false;
  PeerAnswer row_;  // what lock() has read, for the next read()
};

}  // namespace

Result<std::unique_ptr<WitnessPlace>> open_postgres_witness(const std::string& place,
                                                            const WitnessPlaceOptions& options) {
  {
    // This checks the text of the place, and that a ledger of a known version is there.
    NF_TRY(const std::unique_ptr<LedgerStore> store,
           open_store(place, {.read_only = true, .busy_ms = options.busy_ms}));
    NF_TRY(const std::unique_ptr<LedgerTransaction> look, store->begin(LedgerStore::Mode::kRead));
    NF_TRY(const std::optional<Head> head, look->head());
    if (!head) return verification_failed(fmt::format("the peer {} has no entries", shown(place)));
    if (head->ledger == options.ledger) {
      return invalid_argument(fmt::format(
          "{} is this ledger, or a copy of it, and cannot be its own witness: name another ledger", shown(place)));
    }
  }
  auto witness = std::make_unique<PostgresWitness>(PeerConnection(PQconnectdb(place.c_str())), place, options.busy_ms);
  NF_TRY_VOID(witness->set_up());
  return std::unique_ptr<WitnessPlace>(std::move(witness));
}

}  // namespace noisefloor::internal
