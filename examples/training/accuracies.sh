#!/usr/bin/env bash
# The table of accuracies in the README: four trainings at (ε = 3, δ = 1e-5), three times each, and the means over the three.
# Fashion-MNIST comes with `apt-get install dataset-fashion-mnist`; MNIST's four files are in the folder MNIST, or left out.
#
#   examples/training/accuracies.sh FOLDER [MNIST]        (about half an hour on two cores)
set -euo pipefail
noisefloor=$(command -v "${NOISEFLOOR:-noisefloor}")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
configurations=(fashion fashion-scattering)
if [ $# -gt 1 ]; then
  configurations+=(mnist mnist-scattering)
  ln -sfn "$(realpath "$2")" "$1/mnist"
fi
cd "$1"
for configuration in "${configurations[@]}"; do
  cp "$here/$configuration.toml" .
  sum=0
  for run in 1 2 3; do
    output=$configuration-$run
    "$noisefloor" train "$configuration.toml" --create --ledger "$output.ledger" --output "$output" --quiet --json >"$output.json"
    accuracy=$(grep -A6 '"test"' "$output.json" | sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p')
    sum=$(awk -v sum="$sum" -v accuracy="$accuracy" 'BEGIN { print sum + accuracy }')
    printf '%-20s run %d  accuracy %.4f  seconds %.0f\n' "$configuration" "$run" "$accuracy" \
      "$(sed -n 's/.*"seconds": *\([0-9.]*\).*/\1/p' "$output.json" | head -n 1)"
  done
  printf '%-20s mean   accuracy %.4f\n' "$configuration" "$(awk -v sum="$sum" 'BEGIN { print sum / 3 }')"
done
