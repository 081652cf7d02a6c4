// The oracle of per-example gradients: each example alone through the same module, by ordinary autograd without a tape.
//
// check_layer compares everything that a tape gives with it, for every norm rule and clip mode, with one and more rows
// an example, for one and no examples, in single precision (to 10^-5) and in double precision (to 10^-9).
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "noisefloor/torch/factors.h"
#include "noisefloor/torch/tape.h"

namespace noisefloor::testing {

// From rows of inputs to one loss a row. It must treat rows alike and each by itself.
using RowLosses = std::function<torch::Tensor(const torch::Tensor& rows)>;

// Some loss that no gradient of any layer is special for.
inline torch::Tensor wavy_loss(const torch::Tensor& output) {
  const torch::Tensor flat =
      output.reshape({output.size(0), output.numel() / std::max<std::int64_t>(1, output.size(0))});
  const torch::Tensor frequencies = torch::arange(1, flat.size(1) + 1, flat.options().requires_grad(false)).sin() + 1.2;
  return (flat * frequencies).sin().sum(1);
}

inline void forget_gradients(torch::nn::Module& module) {
  for (torch::Tensor parameter : module.parameters()) parameter.mutable_grad() = torch::Tensor();
}

// The gradient of every example alone: [example][parameter of the tape], in double precision.
inline std::vector<std::vector<torch::Tensor>> oracle_gradients(torch::nn::Module& module, const Tape& tape,
                                                                const torch::Tensor& rows, std::int64_t multiplicity,
                                                                const RowLosses& losses) {
  std::vector<std::vector<torch::Tensor>> result;
  for (std::int64_t begin = 0; begin < rows.size(0); begin += multiplicity) {
    forget_gradients(module);
    losses(rows.slice(0, begin, begin + multiplicity)).sum().backward();
    std::vector<torch::Tensor> gradients;
    for (const TapeParameter& parameter : tape.parameters()) {
      const torch::Tensor& gradient = parameter.tensor.grad();
      gradients.push_back(gradient.defined() ? gradient.detach().clone().to(torch::kDouble)
                                             : torch::zeros_like(parameter.tensor.detach(), torch::kDouble));
    }
    result.push_back(gradients);
  }
  forget_gradients(module);
  return result;
}

inline torch::Tensor oracle_norms(const Tape& tape, const std::vector<std::vector<torch::Tensor>>& gradients) {
  torch::Tensor norms = torch::zeros(
      {static_cast<std::int64_t>(tape.groups().size()), static_cast<std::int64_t>(gradients.size())}, torch::kDouble);
  for (std::size_t e = 0; e < gradients.size(); ++e)
    for (std::size_t p = 0; p < gradients[e].size(); ++p)
      norms[static_cast<std::int64_t>(tape.parameters()[p].group)][static_cast<std::int64_t>(e)] +=
          gradients[e][p].square().sum();
  return norms;
}

// Σ factor · gradient of the oracle, compared with what the tape gives.
inline void expect_weighted(Tape& tape, const std::vector<std::vector<torch::Tensor>>& gradients,
                            const torch::Tensor& factors, double tolerance) {
  const auto sums = tape.weighted_gradients(factors);
  ASSERT_TRUE(sums.has_value()) << sums.error().message;
  ASSERT_EQ(sums.value().size(), tape.parameters().size());
  for (std::size_t p = 0; p < tape.parameters().size(); ++p) {
    const TapeParameter& parameter = tape.parameters()[p];
    torch::Tensor expected = torch::zeros_like(parameter.tensor.detach(), torch::kDouble);
    double size = 1e-6;
    for (std::size_t e = 0; e < gradients.size(); ++e) {
      const torch::Tensor row = factors[factors.size(0) == 1 ? 0 : static_cast<std::int64_t>(parameter.group)];
      const torch::Tensor term = row[static_cast<std::int64_t>(e)] * gradients[e][p];
      expected += term;
      size += term.norm().item<double>();
    }
    EXPECT_EQ(sums.value()[p].sizes(), parameter.tensor.sizes());
    const double error = (sums.value()[p].to(torch::kDouble) - expected).norm().item<double>();
    EXPECT_LE(error, tolerance * size) << parameter.name;
  }
}

inline void check_recording(torch::nn::Module& module, const torch::Tensor& rows, std::int64_t multiplicity,
                            const RowLosses& losses, NormOptions options, double tolerance) {
  Tape tape(module, options);
  const auto gradients = oracle_gradients(module, tape, rows, multiplicity, losses);
  for (int repeat = 0; repeat < 2; ++repeat) {  // a cleared tape serves again
    {
      const Tape::Recording recording(tape, multiplicity);
      losses(rows).sum().backward();
    }
    for (const TapeParameter& parameter : tape.parameters())
      EXPECT_FALSE(parameter.tensor.grad().defined()) << parameter.name;
    const auto norms = tape.squared_norms();
    ASSERT_TRUE(norms.has_value()) << norms.error().message;
    const torch::Tensor expected = oracle_norms(tape, gradients);
    ASSERT_EQ(norms.value().sizes(), expected.sizes());
    EXPECT_TRUE(torch::allclose(norms.value(), expected, tolerance, 1e-12)) << norms.value() << expected;
    if (gradients.empty()) {
      expect_weighted(tape, gradients, torch::zeros({1, 0}, torch::kDouble), tolerance);
      continue;
    }
    const ClipNorm clip = ClipNorm::make(expected.sum(0).sqrt().mean().item<double>() + 1e-9).value();
    const std::vector<ClipRule::Kind> rules{FlatClip{clip}, AutomaticClip{clip, 0.01},
                                            GroupClip{std::vector<ClipNorm>(tape.groups().size(), clip)}};
    for (const ClipRule::Kind& rule : rules) {
      expect_weighted(tape, gradients, factors_of(ClipRule::create(rule).value(), expected).factors, tolerance);
    }
    const auto all = tape.per_example_gradients();
    ASSERT_TRUE(all.has_value());
    for (std::size_t p = 0; p < all.value().size(); ++p)
      for (std::size_t e = 0; e < gradients.size(); ++e)
        EXPECT_LE((all.value()[p][static_cast<std::int64_t>(e)] - gradients[e][p]).norm().item<double>(),
                  tolerance * (gradients[e][p].norm().item<double>() + 1e-6))
            << tape.parameters()[p].name;
    tape.clear();
  }
}

// The gradient of the input is what it is without a tape.
inline void check_input_gradient(torch::nn::Module& module, const torch::Tensor& rows, const RowLosses& losses) {
  if (!rows.is_floating_point()) return;
  torch::Tensor with = rows.detach().clone().requires_grad_();
  torch::Tensor without = rows.detach().clone().requires_grad_();
  losses(without).sum().backward();
  forget_gradients(module);
  Tape tape(module);
  const Tape::Recording recording(tape);
  losses(with).sum().backward();
  EXPECT_TRUE(torch::allclose(with.grad(), without.grad(), 1e-5, 1e-7));
}

// Requires a number of rows that 3 divides. Leaves the module in single precision.
inline void check_layer(torch::nn::Module& module, const torch::Tensor& rows, const RowLosses& losses) {
  ASSERT_EQ(rows.size(0) % 3, 0);
  for (const torch::ScalarType type : {torch::kDouble, torch::kFloat}) {
    const double tolerance = type == torch::kDouble ? 1e-9 : 1e-5;
    module.to(type);
    const torch::Tensor typed = rows.is_floating_point() ? rows.to(type) : rows;
    for (const NormRule rule : {NormRule::kCheapest, NormRule::kGhost, NormRule::kDirect}) {
      SCOPED_TRACE("rule " + std::to_string(static_cast<int>(rule)));
      for (const std::int64_t buffer : {std::int64_t{1} << 28, std::int64_t{1}}) {
        const NormOptions options{rule, buffer};
        check_recording(module, typed, 1, losses, options, tolerance);
        check_recording(module, typed, 3, losses, options, tolerance);
      }
      check_recording(module, typed.slice(0, 0, 1), 1, losses, {rule}, tolerance);
    }
    check_recording(module, typed.slice(0, 0, 0), 1, losses, {}, tolerance);
    check_input_gradient(module, typed, losses);
  }
}

}  // namespace noisefloor::testing
