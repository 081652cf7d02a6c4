#!/bin/sh
# Writes 400 made-up rows into the folder FOLDER (default: letters): twenty numbers, and a class that nothing explains.
# The same on every run.
#
#   examples/audit/letters_data.sh [FOLDER]
set -eu
folder=${1:-letters}
mkdir -p "$folder"
awk -v file="$folder/letters.csv" '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
BEGIN {
  state = 11
  for (i = 1; i <= 20; ++i) printf "x%d,", i > file
  print "letter" > file
  for (row = 0; row < 400; ++row) {
    for (i = 1; i <= 20; ++i) printf "%.4f,", 2 * uniform() - 1 > file
    print (uniform() < 0.5 ? "a" : "b") > file
  }
}'
