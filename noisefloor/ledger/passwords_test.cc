// The password of a ledger's place appears in no error, also where libpq would quote it. No server is needed: nothing
// listens at port 1.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/ledger_pieces.h"

namespace noisefloor {
namespace {

// Passwords of which libpq takes some apart.
std::vector<std::string> hostile_places() {
  std::vector<std::string> places;
  for (const std::string word : {"zqxwvk", "zqx@wvk", "zqx/wvk", "zqx?wvk", "zqx:wvk", "zqx#wvk", "zqx wvk", "zqx&wvk",
                                 "zqx%4wvk", "zqx[wvk", "zqx%40wvk"}) {
    places.push_back("postgresql://eve:" + word + "@127.0.0.1:1/db");
    places.push_back("postgres://eve:" + word + "@127.0.0.1:1/db?connect_timeout=1");
    places.push_back("postgresql://127.0.0.1:1/db?user=eve&password=" + word);
    places.push_back("postgresql://127.0.0.1:1/db?pass%77ord=" + word);
    places.push_back("postgresql://[127.0.0.1:1/db?password=" + word);  // the bracket is not closed
    places.push_back("postgress://eve:" + word + "@127.0.0.1:1/db");    // the scheme is not known: this is a file
    places.push_back("host=127.0.0.1 port=1 password=" + word);
  }
  places.push_back("postgresql://eve:zqxwvk/db");
  places.push_back("postgresql://eve:zqxwvk");
  return places;
}

template <class T>
void expect_secret(const Result<T>& result, const std::string& place) {
  ASSERT_FALSE(result.has_value()) << place;
  for (const char* piece : {"zqx", "wvk"}) {
    EXPECT_EQ(result.error().message.find(piece), std::string::npos) << place << "\n" << result.error().message;
  }
}

TEST(Passwords, AppearInNoError) {
  for (const std::string& place : hostile_places()) {
    expect_secret(Ledger::open(place, SigningKey::from_seed({1}), {}), place);
    expect_secret(Ledger::open_to_read(place, {}), place);
    expect_secret(verify_ledger(place, {}), place);
    expect_secret(SigningKey::load(place + ".key"), place);
    if (place.starts_with("postgresql") || place.starts_with("postgres:")) {
      expect_secret(Ledger::create(place, SigningKey::from_seed({1}), {}), place);
    }
  }
}

TEST(Passwords, AnErrorStillSaysWhatIsWrong) {
  testing::expect_error(Ledger::open_to_read("postgresql://eve:zqx%40wvk@127.0.0.1:1/db", {}), ErrorCode::kIo,
                        "Connection refused");
  testing::expect_error(Ledger::open_to_read("postgresql://eve:zqx@wvk@127.0.0.1:1/db", {}),
                        ErrorCode::kInvalidArgument, "'postgresql://eve@127.0.0.1:1/db'");
}

}  // namespace
}  // namespace noisefloor
