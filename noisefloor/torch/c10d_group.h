// Workers that exchange sums through c10d with Gloo: processes on one machine, or on several.
//
// Guarantee:     as WorkerGroup. A member that ends, or does not answer within the timeout, makes the others fail, and
//                never wait longer than that. Sums have the same bits everywhere: Gloo adds each stretch of numbers in
//                one place and passes the result around.
// Security:      neither encrypted nor authenticated: for one machine, or for a network whose every machine is trusted.
// Others:        NCCL and MPI, where libtorch was built with them, through c10d_backend.h.
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "noisefloor/base/result.h"
#include "noisefloor/sgd/worker_group.h"

namespace noisefloor {

// Where workers meet: rank 0 listens there. Sums then go over the interface that reaches the host.
struct TcpRendezvous {
  std::string host;
  std::uint16_t port;
};
// Or a file that is not there yet, for workers on this machine; sums then go over its loopback.
struct FileRendezvous {
  std::filesystem::path path;
};
using Rendezvous = std::variant<TcpRendezvous, FileRendezvous>;

// "host:port", or "[address]:port" for IPv6.
[[nodiscard]] Result<TcpRendezvous> parse_rendezvous(std::string_view text);

struct C10dOptions {
  Rendezvous rendezvous;
  std::size_t rank = 0;
  std::size_t size = 1;
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};  // of meeting, and of each sum
};

// Returns when all have met. kProtocol if they do not within the timeout.
[[nodiscard]] Result<std::unique_ptr<WorkerGroup>> meet_workers(const C10dOptions& options);

}  // namespace noisefloor
