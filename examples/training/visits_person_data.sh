#!/bin/sh
# Writes made-up visits to a hospital into the file FILE (default: visits-person.csv): 5,000 patients, who come back once or often.
# Each has 1 to 12 visits, and rows of one patient are alike; whether the patient comes back within a month is a noisy rule of
# them. Visits are in the order of time, not of patients. The same on every run.
#
#   examples/training/visits_person_data.sh [FILE]
set -eu
file=${1:-visits-person.csv}
awk '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
BEGIN {
  state = 11
  split("heart lung bone", wards, " ")
  for (p = 0; p < 5000; ++p) {
    age[p] = int(20 + 70 * uniform())
    smoker[p] = uniform() < 0.3 ? "yes" : "no"
    visits[p] = 1 + int(12 * uniform() * uniform() * uniform())
  }
  print "patient,age,pressure,smoker,ward,readmitted"
  for (turn = 0; turn < 12; ++turn) {
    for (p = 0; p < 5000; ++p) {
      if (turn >= visits[p]) continue
      pressure = int(100 + 80 * uniform())
      ward = wards[int(1 + 3 * uniform())]
      score = (age[p] - 55) / 10 + (pressure - 140) / 20 + (smoker[p] == "yes") + (ward == "heart") + 2 * (uniform() - 0.5)
      printf "P%05d,%d,%d,%s,%s,%s\n", p, age[p], pressure, smoker[p], ward, (score > 0.6 ? "yes" : "no")
    }
  }
}' >"$file"
