#!/bin/sh
# Run the benchmarks named, or all: `sh scripts/bench.sh [NAME…]`, where NAME is a file of benchmarks/ without `.py`.
# All of them together write benchmarks/RESULTS.md.
set -eu
cd "$(dirname "$0")/.."
exec .venv/bin/python benchmarks/run.py "$@"
