#!/bin/sh
# Writes made-up visits to a hospital into the folder FOLDER (default: visits): train.csv with 20,000 rows and test.csv with 5,000.
# Age, blood pressure, smoking and ward; whether the patient came back within a month is a noisy rule of them. The same
# on every run.
#
#   examples/training/visits_data.sh [FOLDER]
set -eu
folder=${1:-visits}
mkdir -p "$folder"
awk -v folder="$folder" '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
function write(file, rows,   i, age, pressure, smoker, ward, score) {
  print "age,pressure,smoker,ward,readmitted" > file
  for (i = 0; i < rows; ++i) {
    age = int(20 + 70 * uniform())
    pressure = int(100 + 80 * uniform())
    smoker = uniform() < 0.3 ? "yes" : "no"
    ward = wards[int(1 + 3 * uniform())]
    score = (age - 55) / 10 + (pressure - 140) / 20 + (smoker == "yes") + (ward == "heart") + 2 * (uniform() - 0.5)
    print age "," pressure "," smoker "," ward "," (score > 0.6 ? "yes" : "no") > file
  }
  close(file)
}
BEGIN {
  state = 7
  split("heart lung bone", wards, " ")
  write(folder "/train.csv", 20000)
  write(folder "/test.csv", 5000)
}'
