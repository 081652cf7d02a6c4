// `noisefloor secagg`, as its users meet it.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace noisefloor {
namespace {

using testing::expect_refused;
using testing::noisefloor_run;
using testing::Outcome;
using Json = nlohmann::json;

Json run(const std::string& arguments) {
  const Outcome outcome = noisefloor_run("secagg " + arguments + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out);
}

TEST(CliSecagg, TheDemoHidesRecoversAndAborts) {
  for (const char* seed : {"7", "8"}) {
    const Json demo = run(std::string("demo --seed ") + seed);
    EXPECT_EQ(demo["everyone"]["survivors"].size(), 5U);
    EXPECT_EQ(demo["one_dropped"]["survivors"], Json({0, 1, 3, 4}));
    for (const char* round : {"everyone", "one_dropped"}) EXPECT_LT(demo[round]["error"], 1e-10) << round;
    EXPECT_EQ(demo["below_threshold"]["aborted"], "too-few-neighbours");
    // What is sent is of the size of the modulus, not of the update.
    double far = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      far = std::max(far, std::abs(demo["masked_message"][i].get<double>() - demo["update"][i].get<double>()));
    }
    EXPECT_GT(far, 5);
  }
}

// The three check points, and 001's exercise 14.6.3.
TEST(CliSecagg, ParametersForAnyCohort) {
  const auto degree = [](const std::string& arguments, int wanted, int threshold) {
    const Json found = run("parameters " + arguments);
    EXPECT_EQ(found["degree"], wanted) << arguments;
    EXPECT_EQ(found["threshold"], threshold) << arguments;
    EXPECT_LE(found["log2_insecure"], -40);
    EXPECT_LE(found["log2_incorrect"], -20);
  };
  degree("--clients 1000 --corrupt 0.33 --drop 0.33 --curious", 286, 150);
  degree("--clients 10000 --corrupt 0.33 --drop 0.33 --curious", 422, 221);
  degree("--clients 1000 --corrupt 0.1 --drop 0.2", 250, 166);
  degree("--clients 1000 --corrupt 0.1 --drop 0.2 --grinding 0", 202, 130);
  degree("--clients 1000 --corrupt 0.1 --drop 0.2 --roster 800", 266, 178);
  EXPECT_EQ(run("parameters --clients 1000 --roster 800")["minimum_roster"], 800);
  // By default a server may lie, as a client's policy has it.
  const Json usual = run("parameters --clients 1000");
  EXPECT_EQ(usual["threat"], "lying-server");
  EXPECT_EQ(usual["degree"], 250);
  EXPECT_EQ(run("parameters --clients 1000 --curious")["degree"], 66);
  EXPECT_LT(usual["upload_over_payload"], 1.03);
  EXPECT_LT(usual["upload_over_float32"], 0.55);
  EXPECT_GT(usual["server"]["mask_bytes"], 1e9);
}

TEST(CliSecagg, ParametersPlanNoiseToo) {
  const Json noisy = run("parameters --clients 10000 --dimension 65536 --noise-multiplier 1");
  EXPECT_NEAR(noisy["noise"]["sensitivity_over_clip"], 1.52, 0.005);
  EXPECT_EQ(noisy["noise"]["colluders"], 1000);
  EXPECT_EQ(noisy["noise"]["bits_for_little_rounding"], 19);
  const Json other = run("parameters --clients 1000 --noise-multiplier 1 --law discrete-gaussian");
  EXPECT_EQ(other["noise"]["law"], "discrete-gaussian");
  EXPECT_LT(other["noise"]["sensitivity_over_clip"], 1.02);
  EXPECT_FALSE(run("parameters --clients 1000").contains("noise"));
}

TEST(CliSecagg, BadNumbers) {
  const auto refused = [](const std::string& arguments, const std::string& named) {
    expect_refused("secagg " + arguments, 2, named);
  };
  refused("parameters", "--clients");
  refused("parameters --clients 1", "from 2");
  refused("parameters --clients 1e3", "--clients");
  refused("parameters --clients 100 --corrupt 1", "--corrupt");
  refused("parameters --clients 100 --drop -0.1", "--drop");
  refused("parameters --clients 100 --corrupt nan", "--corrupt");
  refused("parameters --clients 100 --corrupt 0.6 --drop 0.5", "Assume fewer");
  refused("parameters --clients 100 --bits 65", "--bits");
  refused("parameters --clients 100 --roster 101", "--roster");
  refused("parameters --clients 100 --grinding x", "--grinding");
  refused("parameters --clients 100 --security 0", "--security");
  refused("parameters --clients 100 --noise-multiplier 0", "noise multiplier");
  refused("parameters --clients 100 --noise-multiplier x", "--noise-multiplier");
  refused("parameters --clients 100 --noise-multiplier 1 --law laplace", "--law");
  refused("parameters --clients 1000 --noise-multiplier 100 --bits 4", "too few");
  refused("demo --seed x", "--seed");
}

}  // namespace
}  // namespace noisefloor
