#include "noisefloor/torch/c10d_group.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <torch/torch.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/torch/c10d_backend.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMostWorkers = 1024;

Error protocol_error(std::string message) { return {ErrorCode::kProtocol, std::move(message)}; }

class C10dGroup final : public WorkerGroup {
 public:
  C10dGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, torch::Device device, std::chrono::milliseconds timeout)
      : group_(std::move(group)), device_(device), timeout_(timeout) {}

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(group_->getRank()); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(group_->getSize()); }

  [[nodiscard]] Result<void> sum(std::span<float> numbers) override {
    if (lost_) return *lost_;
    if (numbers.empty()) return success();
    try {
      // A tensor of its own: what was given up on may still be written to.
      const torch::Tensor own = torch::empty({static_cast<std::int64_t>(numbers.size())}, torch::kFloat32);
      std::copy(numbers.begin(), numbers.end(), own.data_ptr<float>());
      std::vector<torch::Tensor> shared{own.to(device_)};
      if (!group_->allreduce(shared)->wait()) throw std::runtime_error("no sum");
      const torch::Tensor sums = shared[0].to(torch::kCPU);
      std::copy_n(sums.data_ptr<float>(), numbers.size(), numbers.data());
      return success();
    } catch (const std::exception&) {
      lost_ = protocol_error(
          fmt::format("a worker is gone, or did not answer within {} ms: the exchange of this step failed, and the "
                      "step was not taken",
                      timeout_.count()));
      return *lost_;
    }
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  torch::Device device_;
  std::chrono::milliseconds timeout_;
  std::optional<Error> lost_;  // why there are no more sums
};

// The address of this machine that a packet to the host would leave from.
std::optional<std::string> address_towards(const TcpRendezvous& rendezvous) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(rendezvous.host.c_str(), fmt::format("{}", rendezvous.port).c_str(), &hints, &found) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  const int socket = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::nullopt;
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  auto* address = reinterpret_cast<sockaddr*>(&own);  // NOLINT: as the interface of sockets wants it
  const bool known = ::connect(socket, found->ai_addr, found->ai_addrlen) == 0 &&
                     ::getsockname(socket, address, &length) == 0 &&
                     ::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  ::close(socket);
  if (!known) return std::nullopt;
  return std::string(text.data());
}

c10::intrusive_ptr<c10d::Store> open_store(const C10dOptions& options) {
  auto store = std::visit(Overloaded{[&](const TcpRendezvous& tcp) -> c10::intrusive_ptr<c10d::Store> {
                                       c10d::TCPStoreOptions store_options;
                                       store_options.port = tcp.port;
                                       store_options.isServer = options.rank == 0;
                                       store_options.numWorkers = options.size;
                                       store_options.timeout = options.timeout;
                                       return c10::make_intrusive<c10d::TCPStore>(tcp.host, store_options);
                                     },
                                     [&](const FileRendezvous& file) -> c10::intrusive_ptr<c10d::Store> {
                                       return c10::make_intrusive<c10d::FileStore>(file.path.string(),
                                                                                   static_cast<int>(options.size));
                                     }},
                          options.rendezvous);
  store->setTimeout(options.timeout);
  return store;
}

}  // namespace

std::unique_ptr<WorkerGroup> workers_of(c10::intrusive_ptr<c10d::ProcessGroup> group, c10::Device device,
                                        std::chrono::milliseconds timeout) {
  return std::make_unique<C10dGroup>(std::move(group), device, timeout);
}

Result<TcpRendezvous> parse_rendezvous(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return invalid_argument(fmt::format("a place to meet is HOST:PORT, such as 10.0.0.1:29500; got {}", shown(text)));
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port == 0 || host.empty()) {
    return invalid_argument(
        fmt::format("a place to meet is HOST:PORT, with a port of 1 to 65535; got {}", shown(text)));
  }
  return TcpRendezvous{std::string(host), port};
}

Result<std::unique_ptr<WorkerGroup>> meet_workers(const C10dOptions& options) {
  if (options.size == 0 || options.size > kMostWorkers) {
    return invalid_argument(fmt::format("there are 1 to {} workers; got {}", kMostWorkers, options.size));
  }
  if (options.rank >= options.size) {
    return invalid_argument(
        fmt::format("workers are numbered from 0: there is no number {} among {} workers", options.rank, options.size));
  }
  std::string address = "127.0.0.1";
  if (const auto* tcp = std::get_if<TcpRendezvous>(&options.rendezvous)) {
    const std::optional<std::string> own = address_towards(*tcp);
    if (!own) return protocol_error(fmt::format("the host {} cannot be reached", shown(tcp->host)));
    address = *own;
  }
  try {
    auto process_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
    process_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    process_options->threads = 1;
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(open_store(options), static_cast<int>(options.rank),
                                                             static_cast<int>(options.size), process_options);
    return workers_of(std::move(group), torch::kCPU, options.timeout);
  } catch (const std::exception&) {
    return protocol_error(
        fmt::format("the {} workers did not meet within {} ms: are all of them started, with ranks 0 to {}, and "
                    "does nothing else use the place?",
                    options.size, options.timeout.count(), options.size - 1));
  }
}

}  // namespace noisefloor
