#include "noisefloor/secagg/costs.h"

#include <bit>
#include <cmath>

#include "noisefloor/secagg/messages.h"

namespace noisefloor::secagg {

double SideCost::seconds(const Rates& rates) const {
  return mask_bytes / rates.mask_bytes + tagged_bytes / rates.tagged_bytes + agreements / rates.agreements +
         verifications / rates.verifications;
}

namespace {

// How many hashes prove `known` leaves at random places of a tree with `leaves` leaves: at each level, the siblings
// that are not known. A block of leaves is empty if none of the known ones, drawn one by one, falls into it.
double proof_hashes(double leaves, double known) {
  const auto empty = [&](double block) {
    double log_probability = 0;
    for (double i = 0; i < known; ++i) {
      if (leaves - block - i <= 0) return 0.0;
      log_probability += std::log((leaves - block - i) / (leaves - i));
    }
    return std::exp(log_probability);
  };
  double hashes = 0;
  for (double block = 1; block < leaves; block *= 2) hashes += leaves / block * (empty(block) - empty(2 * block));
  return hashes;
}

}  // namespace

RoundCost cost_of_round(const Assumptions& assumptions, const Topology& topology, std::uint64_t dimension,
                        unsigned bits) {
  const double clients = assumptions.clients;
  const double degree = topology.degree;
  const double dropped = std::floor(assumptions.drop * clients);
  const double stayed = clients - dropped;
  const double lying = assumptions.threat == ThreatModel::kLyingServer ? 1 : 0;
  constexpr double around = kHeaderBytes + kTagBytes;
  const double set = std::ceil(clients / 8);

  const auto payload = static_cast<double>(packed_bytes(dimension, bits));
  const auto lane_bytes = static_cast<double>(dimension) * static_cast<double>(bytes_of(LaneVector(0, bits).lanes()));

  const double advertisement = kHeaderBytes + kAdvertisementBytes;
  const double shares = around + kSealedBytes * degree;
  const double receipt = around + std::ceil(degree / 8) + kCheckBytes * degree;
  const double masked = around + 32 + kPrintBytes * degree + payload;
  const double confirmation = lying * (around + 64);
  const double gone = std::round(degree * dropped / clients);  // of the neighbours
  const double unmasking = around + kShareBytes * degree + kMaskSeedBytes * gone;
  const double roster = around + 32 + set + kKeysBytes * degree + 32 * proof_hashes(clients, degree + 1);
  const double delivery = around + 32 + std::ceil(degree / 8) + kSealedBytes * degree;
  const double sharers = around + set;
  const double survivors = around + set;
  const double confirmations = lying * (around + (4 + 64) * static_cast<double>(topology.threshold));

  const double up = shares + receipt + masked + confirmation + unmasking;
  const double down = roster + delivery + sharers + survivors + confirmations;
  const SideCost client{.sent_bytes = advertisement + up,
                        .received_bytes = down,
                        .mask_bytes = (degree + 1) * lane_bytes,
                        .tagged_bytes = up + down,
                        .agreements = 2 * degree + 3,  // two make the own public keys
                        .verifications = degree + lying * static_cast<double>(topology.threshold)};
  const double recovered = dropped * degree * stayed / clients;  // masks between those who left and those who stayed
  const double received = clients * (shares + receipt) + stayed * (masked + confirmation + unmasking);
  const double sent = clients * (roster + delivery + sharers) + stayed * (survivors + confirmations);
  const SideCost server{.sent_bytes = sent,
                        .received_bytes = clients * advertisement + received,
                        .mask_bytes = (stayed + recovered) * lane_bytes,
                        .tagged_bytes = sent + received,
                        .agreements = clients + dropped,
                        .verifications = clients + lying * degree};
  const double neighbours = roster - around - 32 - set + kSealedBytes * degree;
  return {client, server, neighbours, payload, 4 * static_cast<double>(dimension)};
}

Result<PlannedRound> plan_round(const Assumptions& assumptions, std::uint64_t dimension, unsigned bits,
                                const std::optional<NoiseWish>& noise) {
  NF_TRY(const Topology topology, find_topology(assumptions));
  PlannedRound round{assumptions, dimension, bits, topology, {}};
  std::uint64_t coordinates = dimension;
  if (noise.has_value()) {
    const auto dropped = static_cast<std::uint32_t>(std::floor(assumptions.drop * assumptions.clients));
    NF_TRY(round.noise, plan_noise({.law = noise->law,
                                    .dimension = dimension,
                                    .clip = ClipNorm::of(1),  // all that follows is relative to it
                                    .noise_multiplier = noise->multiplier,
                                    .clients = assumptions.clients,
                                    .minimum_survivors = assumptions.clients - dropped,
                                    .colluders = corrupt_clients(assumptions.corrupt, assumptions.clients),
                                    .bits = bits}));
    coordinates = std::bit_ceil(dimension);
  }
  round.cost = cost_of_round(assumptions, topology, coordinates, bits);
  return round;
}

}  // namespace noisefloor::secagg
