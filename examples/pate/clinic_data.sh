#!/bin/sh
# Writes made-up patients of a clinic into the folder FOLDER (default: clinic): private.csv with 2,000 of them, public.csv
# with 3,000 others without their outcome, and test.csv with 2,000. There are six kinds of patients; some kinds come back
# within a year and some do not, and no line through the measurements tells them apart. The same on every run.
#
#   examples/pate/clinic_data.sh [FOLDER]
set -eu
folder=${1:-clinic}
mkdir -p "$folder"
awk -v folder="$folder" '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
function about(center, spread) { return center + spread * (uniform() + uniform() + uniform() + uniform() - 2) }
function write(file, rows, outcome,   i, k, back) {
  print "age,pressure,glucose,oxygen" (outcome ? ",returned" : "") > file
  for (i = 0; i < rows; ++i) {
    k = int(1 + 6 * uniform())
    back = uniform() < 0.03 ? 1 - returns[k] : returns[k]
    printf "%d,%d,%d,%d%s\n", about(age[k], 6), about(pressure[k], 9), about(glucose[k], 9), about(oxygen[k], 2.5),
           outcome ? "," (back ? "yes" : "no") : "" > file
  }
  close(file)
}
BEGIN {
  state = 11
  split("30 70 45 60 35 75", age, " ")
  split("115 160 120 125 165 120", pressure, " ")
  split("90 95 150 85 100 160", glucose, " ")
  split("97 95 94 86 88 96", oxygen, " ")
  split("0 1 1 0 1 0", returns, " ")
  write(folder "/private.csv", 2000, 1)
  write(folder "/public.csv", 3000, 0)
  write(folder "/test.csv", 2000, 1)
}'
