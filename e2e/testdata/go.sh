#!/bin/bash
# Stands in for go: the released program is the one that the test has built.
if [ "$1 ${2-}" = "run github.com/peakgate/peakgate@v1" ]; then
  shift 2
  exec peakgate "$@"
fi
exec "$REALGO" "$@"
