#!/bin/sh
# Makes FOLDER/readmissions.csv (default: readmissions) from diabetic_data.csv, a public data set: "Diabetes 130-US
# hospitals for years 1999-2008", from the UCI machine learning repository. The first encounter of each patient, and
# whether the patient was readmitted at all.
#
#   examples/audit/readmissions_data.sh diabetic_data.csv [FOLDER]
set -eu
table=${1:?name diabetic_data.csv}
folder=${2:-readmissions}
mkdir -p "$folder"
awk -F, -v OFS=, '
{ sub(/\r$/, "") }
NR == 1 { print; next }
!seen[$2]++ { $NF = ($NF == "NO" ? "no" : "yes"); print }' "$table" >"$folder/readmissions.csv"
