#!/bin/sh
# Runs each test program that is named where it finds no nats-server: it must fail (exit code 1) and
# run to its end, with the count of its tests as its last words.
set -u
broken=0
words=$(mktemp)
trap 'rm -f "$words"' EXIT
for program in "$@"; do
  MESH_TEST_TOOLS=/nowhere "$program" --gtest_brief=1 >"$words" 2>&1
  code=$?
  if [ "$code" -ne 1 ] || ! grep -q '^\[  PASSED  \]' "$words"; then
    echo "$program: exit code $code"
    tail -n 5 "$words"
    broken=1
  fi
done
exit "$broken"
