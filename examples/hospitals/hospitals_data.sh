#!/bin/sh
# Writes made-up patients of five hospitals into FOLDER/hospitals.csv (default: hospitals): 2,000 rows with 15 laboratory
# values. Whether a patient came back is a noisy rule of them. The hospitals differ in size, in how many come back, in
# how their machines measure the first value, and in how much the second one says. The same on every run.
#
#   examples/hospitals/hospitals_data.sh [FOLDER]
set -eu
folder=${1:-hospitals}
mkdir -p "$folder"
awk -v folder="$folder" '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
function normal(   i, sum) { sum = 0; for (i = 0; i < 12; ++i) sum += uniform(); return sum - 6 }
function hospital(name, rows, threshold, offset, second,   i, k, score, line, value) {
  for (i = 0; i < rows; ++i) {
    line = name
    score = 0
    for (k = 1; k <= 15; ++k) {
      value = normal()
      score += (k == 2 ? second : weight[k]) * value
      line = line "," sprintf("%.2f", value + (k == 1 ? offset : 0))
    }
    print line "," (score + 1.0 * normal() > threshold ? "yes" : "no") > file
  }
}
BEGIN {
  state = 11
  file = folder "/hospitals.csv"
  line = "hospital"
  for (k = 1; k <= 15; ++k) { line = line ",lab" k; weight[k] = (k % 3 == 0 ? 0 : (k % 2 == 0 ? 0.5 : -0.5)) }
  print line ",readmitted" > file
  hospital("Boston", 800, 1.0, 0, 0.5)
  hospital("Chicago", 500, 0.5, 0.3, 0.7)
  hospital("London", 350, 0.75, -0.2, 0.4)
  hospital("Munich", 200, 1.3, 0.2, 0.3)
  hospital("Tokyo", 150, 0, -0.4, 0.6)
  close(file)
}'
