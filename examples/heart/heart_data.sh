#!/bin/sh
# Makes heart.csv, in FOLDER, of the four files of the Heart Disease dataset of the UCI Machine Learning Repository, which
# are to be in SOURCE: processed.cleveland.data, processed.hungarian.data, processed.switzerland.data, processed.va.data.
# Leaves out slope, ca and thal, which three of the hospitals hardly ever measured, and then incomplete rows, as FLamby
# does: 303, 261, 46 and 130 rows are left.
#
#   examples/heart/heart_data.sh SOURCE [FOLDER]
set -eu
source=$1
folder=${2:-heart}
mkdir -p "$folder"
{
  echo 'hospital,age,sex,cp,trestbps,chol,fbs,restecg,thalach,exang,oldpeak,ill'
  for hospital in cleveland hungarian switzerland va; do
    awk -F, -v hospital="$hospital" '{
      sub(/\r$/, "")
      if ($1 ~ /[a-z]/) next  # some copies have a header
      line = hospital
      for (k = 1; k <= 10; ++k) {
        if ($k == "?" || $k == "") next
        line = line "," ($k + 0)
      }
      print line "," ($14 > 0 ? "yes" : "no")
    }' "$source/processed.$hospital.data"
  done
} >"$folder/heart.csv"
