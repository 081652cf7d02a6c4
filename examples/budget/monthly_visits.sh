#!/bin/sh
# Writes made-up visits to a hospital, 2,000 for each MONTH, as CSV to standard output: a table that grows by a month at
# a time. The rows of a month are the same on every run.
#
#   examples/budget/monthly_visits.sh 2026-01 2026-02 >visits.csv
set -eu
awk -v months="$*" '
function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }  # which every awk computes alike
BEGIN {
  print "visited,visit,minutes,admitted"
  count = split(months, month, " ")
  for (m = 1; m <= count; ++m) {
    split(month[m], part, "-")
    state = 1 + part[1] * 100 + part[2]
    for (i = 0; i < 20; ++i) uniform()  # small seeds give small first numbers
    for (i = 0; i < 2000; ++i) {
      day = int(1 + 28 * uniform())
      minutes = int(5 + 100 * uniform() * uniform())
      admitted = uniform() < 0.2 ? "yes" : "no"
      printf "%s-%02d,%d-%d,%d,%s\n", month[m], day, state, i, minutes, admitted
    }
  }
}'
