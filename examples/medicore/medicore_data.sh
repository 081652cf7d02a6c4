#!/bin/sh
# Writes the made-up patients of a trial at fifteen hospitals into FOLDER/medicore.csv (default: medicore): 7,500 rows
# with age, dose and ten laboratory values. Whether the treatment helped is a noisy rule of them; hospitals differ in
# size, in how they dose and in how many patients are helped. The same on every run.
#
#   examples/medicore/medicore_data.sh [FOLDER]
set -eu
folder=${1:-medicore}
mkdir -p "$folder"
awk -v folder="$folder" '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
function normal(   i, sum) { sum = 0; for (i = 0; i < 12; ++i) sum += uniform(); return sum - 6 }
function limited(x, low, high) { return x < low ? low : x > high ? high : x }
BEGIN {
  state = 17
  file = folder "/medicore.csv"
  line = "hospital,age,dose"
  for (k = 1; k <= 10; ++k) line = line ",lab" k
  print line ",helped" > file
  for (h = 1; h <= 15; ++h) {
    rows = 150 + 50 * h - 50
    threshold = 0.6 * (uniform() - 0.5)
    dosing = 20 * (uniform() - 0.5)
    for (i = 0; i < rows; ++i) {
      age = int(limited(55 + 15 * normal(), 18, 100))
      dose = int(limited(50 + dosing + 15 * normal(), 0, 100))
      score = (dose - 50) / 20 - (age - 55) / 30
      line = sprintf("H%02d,%d,%d", h, age, dose)
      for (k = 1; k <= 10; ++k) {
        value = normal()
        if (k <= 4) score += (k % 2 == 0 ? 0.6 : -0.6) * value
        line = line "," sprintf("%.2f", value)
      }
      print line "," (score + normal() > threshold ? "yes" : "no") > file
    }
  }
  close(file)
}'
