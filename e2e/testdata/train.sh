#!/bin/bash
# Stands in for python: the program to train writes a capture, or for a soak its
# steps.
set -eu
model=
while [ $# -gt 0 ]; do
  case $1 in
    --model) model=/$2; shift ;;
    --steps) steps=$2; shift ;;
  esac
  shift
done
if [ "$steps" -gt 1000 ]; then
  for i in $(seq 100); do echo "step $i"; done
  exit
fi
mkdir -p "captures$model"
cp "$CAPTURE" "captures$model/head.hlo.pb"
