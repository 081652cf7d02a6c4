// Files as users write them, for tests of whatever reads, checks or shows one.
#pragma once

#include <string>

namespace noisefloor::testing {

inline const std::string kPipelineFile = R"([budget]
epsilon = 3
delta = 1e-6
[data]
rows = 60_000
[[run]]
name = "model"
technique = "dp-sgd"
target_epsilon = 2
clip_norm = 1
batch_size = 600
epochs = 10
)";

inline const std::string kPatientsFile = R"(name = "patients"

[data]
format = "csv"
file = "patients.csv"
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "age"
lower = 0
upper = 120

[budget]
epsilon = 3
delta = 1e-6
)";

// A training on what kPatientsFile describes, which it names as patients.toml.
inline const std::string kStudyFile = R"(name = "study"

[data]
dataset = "patients.toml"
test_fraction = 0.2

[model]
kind = "logistic"

[training]
target_epsilon = 1
batch_size = 100
epochs = 2
clip_norm = 1.0
learning_rate = 0.1
)";

}  // namespace noisefloor::testing
