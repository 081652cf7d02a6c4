// What leaves a site in a round, as one vector whose sum over sites is all that the server needs: in clear, or inside a
// secure sum.
//
//   [ p̂ Δ … | p̂ | p̂ τ ]      p̂ = the site's weight over the largest that counts, at most 1
//
// Weights:       with equal weights p̂ is 1 and no lane tells it; the denominator is the number of sites, or a fixed
//                number where privacy needs one. Only FedNova's layout has Δ / τ in place of Δ, and the lane p̂ τ.
// Guarantee:     lanes() depends on public numbers alone.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/federated/strategy.h"

namespace noisefloor::federated {

enum class Weighting : std::uint8_t {
  kEqual,    // every site counts the same
  kByCount,  // by its rows; the sum tells the total over sites
};

struct UploadOptions {
  std::size_t parameters = 0;
  StrategyKind strategy = StrategyKind::kFedAvg;
  Weighting weighting = Weighting::kEqual;
  std::uint32_t max_weight = 1;         // kByCount: a site with more rows counts as one with so many
  std::uint32_t max_local_steps = 1;    // FedNova: the largest τ
  std::optional<double> denominator{};  // kEqual: divides the sum by this number, whoever came
  double total_weight = 0;              // SCAFFOLD: of all sites of the run; for kEqual their number
  friend bool operator==(const UploadOptions&, const UploadOptions&) = default;
};

class UploadLayout {
 public:
  // Fails for numbers out of range, and for a fixed denominator with weights by count.
  [[nodiscard]] static Result<UploadLayout> create(const UploadOptions& options);

  [[nodiscard]] const UploadOptions& options() const { return options_; }
  [[nodiscard]] std::size_t lanes() const;

  // Requires delta.size() == parameters (checked). Weight and steps are brought into their ranges.
  [[nodiscard]] std::vector<float> lanes_of(std::span<const float> delta, std::uint32_t weight,
                                            std::uint32_t local_steps) const;

  struct Mean {
    std::vector<double> update;
    double share = 1;
    double steps = 1;
    [[nodiscard]] RoundMean view() const { return {.update = update, .share = share, .steps = steps}; }
  };
  // The mean of so many sites, from the sum of their lanes. kProtocol if no weight came together.
  [[nodiscard]] Result<Mean> mean_of(std::span<const double> sum, std::uint32_t sites) const;

 private:
  explicit UploadLayout(const UploadOptions& options) : options_(options) {}
  [[nodiscard]] bool has_weight() const { return options_.weighting == Weighting::kByCount; }
  [[nodiscard]] bool has_steps() const { return options_.strategy == StrategyKind::kFedNova; }

  UploadOptions options_;
};

}  // namespace noisefloor::federated
