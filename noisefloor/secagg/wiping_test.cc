// Looks at the heap memory that is given back: an input, a mask's seed or a share that was not overwritten would be in
// it.
#include <gtest/gtest.h>

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/simulation.h"

namespace noisefloor::secagg {
namespace {

// Bytes to look for in freed blocks, while set.
struct Search {
  const std::uint8_t* pattern = nullptr;
  std::size_t size = 0;
  int found = 0;
};
Search search;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): operator delete has no other way

void look_into(void* block) {
  if (search.pattern == nullptr || block == nullptr) return;
  if (memmem(block, malloc_usable_size(block), search.pattern, search.size) != nullptr) ++search.found;
}

class Watch {
 public:
  explicit Watch(Bytes pattern) { search = {pattern.data(), pattern.size(), 0}; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { search = {}; }
  [[nodiscard]] int found() const { return search.found; }
};

}  // namespace
}  // namespace noisefloor::secagg

void* operator new(std::size_t size) {
  void* block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept {
  noisefloor::secagg::look_into(block);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

namespace noisefloor::secagg {
namespace {

constexpr std::uint32_t kClients = 6;
constexpr std::uint64_t kDimension = 64;

// A round of six with an honest server, in which client 0 has an input that can be recognised.
class Six {
 public:
  Six() : stream_(ReplayRandom::create(5).value()), cohort_(Cohort::draw(kClients, stream_)) {
    config = cohort_.config(1, {kClients - 1, 4, 0, 0}, ThreatModel::kLyingServer, 3, kDimension, 64);
    policy_.corrupt = 0;
    server_.emplace(Server::create(config, cohort_.registry, AgreementKey(cohort_.server.clone())).value());
    for (std::uint32_t i = 0; i < kClients; ++i) {
      clients.push_back(Client::join(config, cohort_.registry, i, cohort_.keys[i], policy_, stream_).value());
      LaneVector input(kDimension, 64);
      for (std::uint64_t k = 0; k < kDimension; ++k) input.set(k, value(i, k));
      EXPECT_TRUE(clients[i].set_input(std::move(input)).has_value());
    }
  }
  static std::uint64_t value(std::uint64_t client, std::uint64_t k) {
    return 0x5ec2e7005ec2e700 * (client + 1) + 0x9e3779b97f4a7c15 * k;
  }

  // Goes on until the server waits for this stage's answers.
  void advance_to(Stage stage) {
    for (const Client& each : clients) EXPECT_TRUE(server_->receive(each.advertisement()).has_value());
    EXPECT_TRUE(server_->close().has_value());
    while (server_->stage() != stage) {
      for (std::uint32_t i = 0; i < kClients; ++i) {
        kept_.push_back(server_->message_for(i).value());
        kept_.push_back(clients[i].receive(kept_.back()).value());
        EXPECT_TRUE(server_->receive(kept_.back()).has_value());
      }
      EXPECT_TRUE(server_->close().has_value());
    }
  }
  // A message that is authentic and not due ends the round for a client.
  void abort(Client& client) {
    const Advertisement keys = parse_advertisement(*parse_envelope(client.advertisement())).value();
    kept_.push_back(confirmations_message(0, {}, channel(keys)));
    EXPECT_FALSE(client.receive(kept_.back()).has_value());
    EXPECT_TRUE(client.aborted().has_value());
  }
  Message answer_of(std::uint32_t i) {
    kept_.push_back(server_->message_for(i).value());
    kept_.push_back(clients[i].receive(kept_.back()).value());
    return kept_.back();
  }

  RoundConfig config;
  std::vector<Client> clients;

 private:
  [[nodiscard]] Secret32 channel(const Advertisement& keys) const {
    return channel_key(AgreementKey(cohort_.server.clone()).agree(keys.channel_key).value(), digest_of(config));
  }

  ReplayRandom stream_;
  Cohort cohort_;
  Policy policy_;
  std::optional<Server> server_;
  std::vector<Message> kept_;  // the test's own copies stay where they are while the heap is watched
};

std::vector<std::uint8_t> input_of(std::uint32_t client) {
  std::vector<std::uint8_t> bytes(8 * 8);
  for (std::uint64_t k = 0; k < 8; ++k) {
    const std::uint64_t value = Six::value(client, 20 + k);
    std::memcpy(bytes.data() + 8 * k, &value, 8);
  }
  return bytes;
}

TEST(Wiping, FindsWhatIsNotWiped) {
  const std::vector<std::uint8_t> pattern = input_of(0);
  const Watch watch(pattern);
  {
    LaneVector input(kDimension, 64);
    for (std::uint64_t k = 0; k < kDimension; ++k) input.set(k, Six::value(0, k));
  }
  EXPECT_EQ(watch.found(), 1);
}

TEST(Wiping, OverwritesTheInputOnAbort) {
  Six six;
  six.advance_to(Stage::kShares);
  const std::vector<std::uint8_t> pattern = input_of(0);
  const Watch watch(pattern);
  six.abort(six.clients[0]);
  EXPECT_EQ(watch.found(), 0);
}

TEST(Wiping, OverwritesTheInputOfAClientThatIsDestroyed) {
  Six six;
  const std::vector<std::uint8_t> pattern = input_of(5);
  const Watch watch(pattern);
  six.clients.pop_back();
  EXPECT_EQ(watch.found(), 0);
}

TEST(Wiping, OverwritesTheInputOnceItIsMasked) {
  Six six;
  six.advance_to(Stage::kMaskedInputs);
  const std::vector<std::uint8_t> pattern = input_of(0);
  const Watch watch(pattern);
  static_cast<void>(six.answer_of(0));
  six.clients.clear();
  EXPECT_EQ(watch.found(), 0);
}

// The last answer holds shares of others' secrets, or a masked input whose masks are known later.
TEST(Wiping, OverwritesTheLastAnswerOnAbortAndWhenTheNextOneComes) {
  for (const Stage stage : {Stage::kMaskedInputs, Stage::kUnmaskings}) {
    for (const bool aborted : {true, false}) {
      Six six;
      six.advance_to(stage);
      const Message answer = six.answer_of(0);
      const Watch watch(Bytes(answer).subspan(60, 64));
      if (aborted) {
        six.abort(six.clients[0]);
      } else {
        six.clients.clear();
      }
      EXPECT_EQ(watch.found(), 0) << static_cast<int>(stage) << aborted;
    }
  }
}

}  // namespace
}  // namespace noisefloor::secagg
