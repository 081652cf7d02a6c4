#!/bin/sh
# Writes synthetic click data of a StreamRec kind into the folder FOLDER (default: streamrec): train.csv with 50,000 rows and
# test.csv with 100 suggestions to each of 100 users. 40 features, drawn from a normal law; a click, one in five, is a noisy linear
# rule of them. The same on every run.
#
#   examples/training/streamrec_data.sh [FOLDER]
set -eu
folder=${1:-streamrec}
mkdir -p "$folder"
awk -v folder="$folder" '
function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
function write(file, rows, per_user,   i, j, x, score, line) {
  line = "user,click"
  for (j = 0; j < 40; ++j) line = line ",f" j
  print line > file
  for (i = 0; i < rows; ++i) {
    score = 0.3 * normal()
    line = ""
    for (j = 0; j < 40; ++j) { x = normal(); score += w[j] * x; line = line sprintf(",%.4f", x) }
    print int(i / per_user) "," (score > often ? 1 : 0) line > file
  }
  close(file)
}
BEGIN {
  srand(42)
  for (j = 0; j < 40; ++j) { w[j] = 0.5 * normal(); squares += w[j] * w[j] }
  often = 0.8416 * sqrt(squares + 0.09)
  write(folder "/train.csv", 50000, 100)
  write(folder "/test.csv", 10000, 100)
}'
