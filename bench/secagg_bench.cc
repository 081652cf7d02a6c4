// What secure sums cost: masks beside OpenSSL's own AES-CTR in the same run, and whole rounds, each side's processor
// time apart. The answers are checked first: a wrong mask or a wrong sum is an error, not a speed.
#include <fmt/format.h>
#include <malloc.h>
#include <openssl/evp.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/crypto/mask.h"
#include "noisefloor/secagg/costs.h"
#include "noisefloor/secagg/distributed_noise.h"
#include "noisefloor/secagg/simulation.h"

namespace noisefloor::secagg {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "secagg_bench: {}\n", what);
  std::exit(1);
}

template <class T>
T value_of(Result<T> result) {
  if (!result.has_value()) fail(result.error().message);
  return std::move(result).value();
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Once>
double seconds_of(Once once) {
  const double start = cpu_seconds();
  once();
  return cpu_seconds() - start;
}

void line(Json& json, const std::string& name, const std::string& what, double value, const char* unit) {
  fmt::print("{:<58} {:>12.4g} {}\n", what, value, unit);
  json[name] = value;
}

// --- Masks -----------------------------------------------------------------------------------------------------------

constexpr std::size_t kLanes = std::size_t{1} << 20;
constexpr std::size_t kMasks = 64;
constexpr int kSlices = 7;

// AES-128-CTR of OpenSSL over zeros, in pieces, each handed to `use`.
class Openssl {
 public:
  Openssl() : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free), zeros_(kPiece), piece_(kPiece) {}

  template <class Use>
  void run(const Mask& mask, std::size_t bytes, Use use) {
    std::array<unsigned char, 16> counter{};
    std::memcpy(counter.data(), mask.seed.bytes().data() + 16, 12);
    EVP_EncryptInit_ex(context_.get(), EVP_aes_128_ctr(), nullptr, mask.seed.bytes().data(), counter.data());
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      int written = 0;
      EVP_EncryptUpdate(context_.get(), piece_.data(), &written, zeros_.data(), static_cast<int>(kPiece));
      use(at, piece_);
    }
  }

 private:
  static constexpr std::size_t kPiece = 16384;  // stays in the cache
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_;
  std::vector<unsigned char> zeros_;
  std::vector<unsigned char> piece_;
};

template <class Lane>
void add_lanes(std::uint8_t* sum, const unsigned char* mask, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(Lane)) {
    Lane a;
    Lane b;
    std::memcpy(&a, sum + at, sizeof a);
    std::memcpy(&b, mask + at, sizeof b);
    a = static_cast<Lane>(a + b);
    std::memcpy(sum + at, &a, sizeof a);
  }
}

template <class Lane>
void measure_masks(Json& json, Openssl& openssl, LaneBits lanes) {
  std::vector<Mask> masks(kMasks);
  for (std::size_t i = 0; i < kMasks; ++i) masks[i].seed.bytes()[0] = static_cast<std::uint8_t>(i + 1);
  std::vector<std::uint8_t> ours(kLanes * sizeof(Lane));
  std::vector<std::uint8_t> theirs(ours.size());
  const auto plain = [&] {
    for (const Mask& mask : masks) {
      openssl.run(mask, theirs.size(), [&](std::size_t at, const std::vector<unsigned char>& piece) {
        add_lanes<Lane>(theirs.data() + at, piece.data(), piece.size());
      });
    }
  };
  apply_masks(masks, lanes, ours);
  plain();
  if (ours != theirs) fail("a mask is wrong");
  double cipher = 1e9;
  double add = 1e9;
  double fused = 1e9;
  for (int slice = 0; slice < kSlices; ++slice) {
    cipher = std::min(cipher, seconds_of([&] {
                        for (const Mask& mask : masks)
                          openssl.run(mask, theirs.size(), [](std::size_t, const auto&) {});
                      }));
    add = std::min(add, seconds_of(plain));
    fused = std::min(fused, seconds_of([&] { apply_masks(masks, lanes, ours); }));
  }
  const double bytes = static_cast<double>(kMasks * ours.size());
  const auto bits = static_cast<unsigned>(lanes);
  line(json, fmt::format("openssl_ctr_gb_u{}", bits), fmt::format("u{}: OpenSSL AES-128-CTR alone", bits),
       bytes / cipher / 1e9, "GB/s");
  line(json, fmt::format("openssl_add_gb_u{}", bits), fmt::format("u{}: OpenSSL and add loop", bits), bytes / add / 1e9,
       "GB/s");
  line(json, fmt::format("mask_gb_u{}", bits), fmt::format("u{}: masks added", bits), bytes / fused / 1e9, "GB/s");
  line(json, fmt::format("mask_over_openssl_u{}", bits), "  over OpenSSL and add loop", add / fused, "");
  line(json, fmt::format("mask_ms_u{}", bits), "  a mask of 2^20 lanes", 1e3 * fused / kMasks, "ms");
}

void measure_paths(Json& json) {
  std::vector<Mask> masks(kMasks);
  std::vector<std::uint8_t> sum(4 * kLanes);
  const std::array<const char*, 4> names = {"portable", "aes-ni", "vaes-256", "vaes-512"};
  for (const MaskPath path : {MaskPath::kPortable, MaskPath::kAesNi, MaskPath::kVaes256, MaskPath::kVaes512}) {
    if (!is_supported(path)) continue;
    double best = 1e9;
    for (int slice = 0; slice < kSlices; ++slice) {
      best = std::min(best, seconds_of([&] { apply_masks(masks, LaneBits::k32, sum, path); }));
    }
    const std::string name = names[static_cast<std::size_t>(path)];
    line(json, "path_gb_" + name, "u32: path " + name, static_cast<double>(kMasks * sum.size()) / best / 1e9, "GB/s");
  }
}

// --- Rounds ----------------------------------------------------------------------------------------------------------

struct Measured {
  double server_seconds = 0;
  double client_seconds = 0;  // mean of those that stay; so are the next two
  double upload_bytes = 0;
  double download_bytes = 0;
  double server_bytes = 0;  // most on the heap
};

// What the server keeps: the heap before and after each of its calls.
class ServerMeter {
 public:
  explicit ServerMeter(Measured& into) : into_(into) {}
  template <class Call>
  auto run(Call call) {
    const double before = heap();
    const double start = cpu_seconds();
    auto result = call();
    into_.server_seconds += cpu_seconds() - start;
    held_ += heap() - before;
    into_.server_bytes = std::max(into_.server_bytes, held_);
    return result;
  }

 private:
  static double heap() {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  }
  Measured& into_;
  double held_ = 0;
};

Measured run_round(const Assumptions& assumptions, const Topology& topology, std::uint64_t dimension, unsigned bits) {
  SecureRandom stream = value_of(SecureRandom::create());
  const Cohort cohort = Cohort::draw(assumptions.clients, stream);
  const auto dropped = static_cast<std::uint32_t>(assumptions.drop * assumptions.clients);
  const RoundConfig config =
      cohort.config(1, topology, assumptions.threat, assumptions.clients - dropped, dimension, bits);
  const Policy policy{
      .threat = assumptions.threat, .corrupt = assumptions.corrupt, .drop = assumptions.drop, .last_round = {}};
  LaneVector input(dimension, bits);
  for (std::uint64_t i = 0; i < dimension; ++i) input.set(i, i * i + 7);

  Measured measured;
  ServerMeter meter(measured);
  Server server =
      meter.run([&] { return value_of(Server::create(config, cohort.registry, AgreementKey(cohort.server.clone()))); });
  std::vector<Client> clients;
  std::vector<double> seconds(assumptions.clients);
  std::vector<double> sent(assumptions.clients);
  std::vector<double> received(assumptions.clients);
  const auto send = [&](std::uint32_t i, const Message& message) {
    sent[i] += static_cast<double>(message.size());
    if (!meter.run([&] { return server.receive(message); }).has_value()) fail("a message was turned away");
  };
  clients.reserve(assumptions.clients);
  for (std::uint32_t i = 0; i < assumptions.clients; ++i) {
    seconds[i] += seconds_of(
        [&] { clients.push_back(value_of(Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream))); });
    send(i, clients[i].advertisement());
  }
  // Those with the lowest numbers leave after sharing their keys, when it costs most.
  while (meter.run([&] { return server.close(); }).has_value() && server.stage() != Stage::kDone) {
    for (const std::uint32_t i : server.recipients()) {
      if (i < dropped && server.stage() == Stage::kMaskedInputs) continue;
      Message message = [&] {
        const double start = cpu_seconds();
        Message made = value_of(server.message_for(i));
        measured.server_seconds += cpu_seconds() - start;
        return made;
      }();
      received[i] += static_cast<double>(message.size());
      if (server.stage() == Stage::kMaskedInputs && !clients[i].set_input(input).has_value())
        fail("an input was refused");
      Message answer;
      seconds[i] += seconds_of([&] { answer = value_of(clients[i].receive(message)); });
      send(i, answer);
    }
  }
  if (server.stage() != Stage::kDone) fail("the round was aborted");
  const std::uint64_t stayed = assumptions.clients - dropped;
  for (std::uint64_t i = 0; i < dimension; ++i) {
    LaneVector expected(1, bits);
    expected.set(0, stayed * input.get(i));
    if (server.sum().get(i) != expected.get(0)) fail("a sum is wrong");
  }
  for (std::uint32_t i = dropped; i < assumptions.clients; ++i) {
    measured.client_seconds += seconds[i] / static_cast<double>(stayed);
    measured.upload_bytes += sent[i] / static_cast<double>(stayed);
    measured.download_bytes += received[i] / static_cast<double>(stayed);
  }
  return measured;
}

constexpr std::uint64_t kLargeDimension = std::uint64_t{1} << 20;

void measure_large_round(Json& json, ThreatModel threat, std::uint32_t degree) {
  const Assumptions assumptions{1000, 0.1, 0.2, threat};
  const Topology topology = value_of(find_topology(assumptions));
  if (topology.degree != degree) fail(fmt::format("another degree than {}", degree));
  const Measured round = run_round(assumptions, topology, kLargeDimension, 16);
  const RoundCost cost = cost_of_round(assumptions, topology, kLargeDimension, 16);
  // Predicted for the expected number of dropouts among the neighbours, and of hashes in the roster's proof.
  if (std::fabs(round.upload_bytes / cost.client.sent_bytes - 1) > 1e-3) fail("the predicted upload is wrong");
  if (std::fabs(round.download_bytes / cost.client.received_bytes - 1) > 0.02) fail("the predicted download is wrong");
  line(json, "round_server_seconds",
       fmt::format("1,000 clients, 2^20 x 16 bits, 20 % dropped, {}: server", name_of(threat)), round.server_seconds,
       "s");
  line(json, "round_client_ms", "  client", 1e3 * round.client_seconds, "ms");
  line(json, "round_upload_over_payload", "  upload over packed vector", round.upload_bytes / cost.payload_bytes, "");
  line(json, "round_upload_over_float32", "  upload over plain float32", round.upload_bytes / cost.plain_bytes, "");
  line(json, "round_download_kib", "  download", round.download_bytes / 1024, "KiB");
  line(json, "round_server_mib", "  server's memory", round.server_bytes / 0x1p20, "MiB");
}

void measure_encoding(Json& json) {
  constexpr std::uint64_t dimension = kLargeDimension;

  const DistributedNoise noise = value_of(DistributedNoise::create({.dimension = dimension,
                                                                    .clip = ClipNorm::of(1),
                                                                    .noise_multiplier = NoiseMultiplier::of(1),
                                                                    .clients = 1000,
                                                                    .minimum_survivors = 800,
                                                                    .colluders = 100,
                                                                    .bits = 16},
                                                                   blake2b("bench")));
  SecureRandom stream = value_of(SecureRandom::create());
  const std::vector<double> values(dimension, 1e-3);
  double best = 1e9;
  for (int i = 0; i < 3; ++i)
    best = std::min(best, seconds_of([&] { static_cast<void>(noise.encode(stream, values)); }));
  line(json, "encode_with_noise_ms", "  rotate, round and add Skellam noise, before", 1e3 * best, "ms");
  line(json, "sensitivity_over_clip", "  sensitivity over clip norm", noise.l2_sensitivity() * noise.granularity(), "");
}

void measure_growth(Json& json, ThreatModel threat) {
  fmt::print("\n{}\n{:>8} {:>8} {:>6} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10}\n", name_of(threat), "clients", "lanes",
             "drop", "degree", "server s", "predicted", "client ms", "predicted", "server MiB");
  const auto row = [&](std::uint32_t clients, unsigned log2_dimension, double drop) {
    const Assumptions assumptions{clients, 0.1, drop, threat};
    const Topology topology = value_of(find_topology(assumptions));
    const std::uint64_t dimension = std::uint64_t{1} << log2_dimension;
    const Measured round = run_round(assumptions, topology, dimension, 16);
    const RoundCost cost = cost_of_round(assumptions, topology, dimension, 16);
    fmt::print("{:>8} {:>8} {:>6} {:>7} {:>10.3f} {:>10.3f} {:>10.2f} {:>10.2f} {:>10.1f}\n", clients,
               fmt::format("2^{}", log2_dimension), drop, topology.degree, round.server_seconds, cost.server.seconds(),
               1e3 * round.client_seconds, 1e3 * cost.client.seconds(), round.server_bytes / 0x1p20);
    std::fflush(stdout);
    json.push_back({{"clients", clients},
                    {"log2_dimension", log2_dimension},
                    {"drop", drop},
                    {"degree", topology.degree},
                    {"server_seconds", round.server_seconds},
                    {"client_seconds", round.client_seconds},
                    {"server_bytes", round.server_bytes}});
  };
  for (const std::uint32_t clients : {125U, 250U, 500U, 1000U}) row(clients, 16, 0.2);
  for (const unsigned log2_dimension : {14U, 18U, 20U}) row(250, log2_dimension, 0.2);
  for (const double drop : {0.0, 0.1, 0.3}) row(250, 18, drop);
}

// --- Epochs ----------------------------------------------------------------------------------------------------------

// The processor time of one round of sites that meet every round: until the masked input is due (keys, shares and what
// is said about them), and all of it.
struct SiteSeconds {
  double client_setup = 0;  // mean of all clients
  double client = 0;
  double server_setup = 0;
  double server = 0;
};

SiteSeconds play(Server& server, std::vector<Client>& clients, double joining, const RoundConfig& config) {
  const LaneVector input(config.dimension, config.bits);
  const auto count = static_cast<double>(clients.size());
  SiteSeconds seconds{joining / count, joining / count};
  const auto receive = [&](const Message& message) {
    seconds.server += seconds_of([&] {
      if (!server.receive(message).has_value()) fail("a message was turned away");
    });
  };
  for (const Client& each : clients) receive(each.advertisement());
  for (;;) {
    seconds.server += seconds_of([&] {
      if (!server.close().has_value()) fail("the round was aborted");
    });
    if (server.stage() == Stage::kDone) return seconds;
    if (server.stage() == Stage::kMaskedInputs) {
      seconds.client_setup = seconds.client;
      seconds.server_setup = seconds.server;
      for (Client& each : clients) {
        if (!each.set_input(input).has_value()) fail("an input was refused");
      }
    }
    for (const std::uint32_t i : server.recipients()) {
      Message message;
      Message answer;
      seconds.server += seconds_of([&] { message = value_of(server.message_for(i)); });
      seconds.client += seconds_of([&] { answer = value_of(clients[i].receive(message)); }) / count;
      receive(answer);
    }
  }
}

// The best of several rounds, each figure for itself.
void keep_best(SiteSeconds& best, const SiteSeconds& other) {
  best = {std::min(best.client_setup, other.client_setup), std::min(best.client, other.client),
          std::min(best.server_setup, other.server_setup), std::min(best.server, other.server)};
}

void measure_epoch(Json& json, std::uint32_t sites, std::uint64_t dimension) {
  constexpr std::uint64_t rounds = 12;
  SecureRandom stream = value_of(SecureRandom::create());
  const Cohort cohort = Cohort::draw(sites, stream);
  const Topology topology = value_of(find_topology({sites, 0.1, 0.2, ThreatModel::kLyingServer}));
  Policy policy;
  policy.epoch_rounds = rounds;
  constexpr SiteSeconds never{1e9, 1e9, 1e9, 1e9};
  SiteSeconds fresh = never;
  SiteSeconds resumed = never;
  std::vector<ClientEpoch> epochs;
  std::optional<ServerEpoch> epoch;
  for (std::uint64_t round = 0; round < 2 * rounds; ++round) {
    RoundConfig config = cohort.config(round, topology, ThreatModel::kLyingServer, 3, dimension, 16);
    const bool resumes = epoch.has_value() && round >= rounds;
    std::vector<Client> clients;
    double joining = 0;
    if (resumes) config.epoch = epoch->terms().id;
    Server server = resumes
                        ? value_of(Server::resume(config, cohort.registry, AgreementKey(cohort.server.clone()), *epoch))
                        : value_of(Server::create(config, cohort.registry, AgreementKey(cohort.server.clone())));
    for (std::uint32_t i = 0; i < sites; ++i) {
      joining += seconds_of([&] {
        clients.push_back(
            resumes ? value_of(Client::resume(config, cohort.registry, epochs[i], cohort.keys[i], policy, stream))
                    : value_of(Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream)));
      });
    }
    keep_best(resumes ? resumed : fresh, play(server, clients, joining, config));
    if (round + 1 != rounds) continue;
    for (Client& each : clients) epochs.push_back(value_of(each.epoch()));
    epoch.emplace(value_of(server.epoch()));
  }
  fmt::print("\n{} sites that meet every round, {} x 16 bits, lying-server\n", sites, dimension);
  line(json, "fresh_client_setup_ms", "  keys and shares, each round anew: client", 1e3 * fresh.client_setup, "ms");
  line(json, "epoch_client_setup_ms", "  the same in an epoch", 1e3 * resumed.client_setup, "ms");
  line(json, "client_setup_ratio", "  times cheaper", fresh.client_setup / resumed.client_setup, "");
  line(json, "fresh_server_setup_ms", "  keys and shares, each round anew: server", 1e3 * fresh.server_setup, "ms");
  line(json, "epoch_server_setup_ms", "  the same in an epoch", 1e3 * resumed.server_setup, "ms");
  line(json, "server_setup_ratio", "  times cheaper", fresh.server_setup / resumed.server_setup, "");
  line(json, "fresh_client_ms", "  the whole round anew: client", 1e3 * fresh.client, "ms");
  line(json, "epoch_client_ms", "  in an epoch", 1e3 * resumed.client, "ms");
  line(json, "fresh_server_ms", "  the whole round anew: server", 1e3 * fresh.server, "ms");
  line(json, "epoch_server_ms", "  in an epoch", 1e3 * resumed.server, "ms");
}

int run(int argc, char** argv) {
  if (argc != 2) fail("usage: secagg_bench RESULT.json");
  Json json;
  // What a policy asks for by default comes first.
  measure_large_round(json["lying_server"], ThreatModel::kLyingServer, 250);
  measure_large_round(json["curious_server"], ThreatModel::kCuriousServer, 66);
  measure_encoding(json["encoding"]);
  measure_epoch(json["epoch"], 15, 10'000);
  measure_growth(json["growth"]["lying_server"], ThreatModel::kLyingServer);
  measure_growth(json["growth"]["curious_server"], ThreatModel::kCuriousServer);
  Openssl openssl;
  measure_masks<std::uint16_t>(json["masks"], openssl, LaneBits::k16);
  measure_masks<std::uint32_t>(json["masks"], openssl, LaneBits::k32);
  measure_masks<std::uint64_t>(json["masks"], openssl, LaneBits::k64);
  measure_paths(json["masks"]);
  std::ofstream(argv[1]) << json.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace noisefloor::secagg

int main(int argc, char** argv) { return noisefloor::secagg::run(argc, argv); }
