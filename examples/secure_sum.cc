// Five hospitals add up: what each client and the server call, with a loop in the place of a network (docs/secagg.md).
#include <fmt/format.h>

#include <vector>

#include "example.h"
#include "noisefloor/secagg/fixed_point.h"
#include "noisefloor/secagg/parameters.h"
#include "noisefloor/secagg/simulation.h"

using namespace noisefloor;
using namespace noisefloor::secagg;
using example::must;

int main() {
  example::heading("A secure sum", "Five hospitals, each with two numbers; the server gets the two sums.");
  const std::vector<std::vector<double>> values{{1, 10}, {2, 20}, {3, 30}, {4, 40}, {5, 50}};
  auto stream = must(SecureRandom::create());
  const Cohort cohort = Cohort::draw(5, stream);  // everyone's signing key, which in earnest only its owner has
  Policy policy;                                  // against a server that may lie, with a cohort of 3 at least
  policy.corrupt = 0;

  // What everyone agrees on.
  const Topology topology = must(find_topology({5, 0, 0.2, ThreatModel::kLyingServer}));
  const FixedPoint code = must(FixedPoint::create({.dimension = 2, .bound = 100, .step = 0x1p-20, .clients = 5}));
  const RoundConfig config = cohort.config(1, topology, ThreatModel::kLyingServer, 3, code.dimension(), code.bits());

  // The server, and a client at each hospital.
  Server server = must(Server::create(config, cohort.registry, AgreementKey(cohort.server.clone())));
  std::vector<Client> clients;
  for (std::uint32_t i = 0; i < 5; ++i) {
    clients.push_back(must(Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream)));
    must(clients[i].set_input(code.encode(stream, values[i])));
    must(server.receive(clients[i].advertisement()));
  }
  // Each message of the server gets one answer, until there is a sum.
  while (server.close().has_value() && server.stage() != Stage::kDone) {
    for (const std::uint32_t i : server.recipients()) {
      must(server.receive(must(clients[i].receive(must(server.message_for(i))))));
    }
  }
  const std::vector<double> sums = code.decode(server.sum()).values;

  fmt::print("  sums: {:.3f} and {:.3f}\n", sums[0], sums[1]);
  example::Expectations expected;
  expected.between("the first sum", sums[0], 15 - 0x1p-17, 15 + 0x1p-17);
  expected.between("the second sum", sums[1], 150 - 0x1p-17, 150 + 0x1p-17);
  return expected.exit_code();
}
