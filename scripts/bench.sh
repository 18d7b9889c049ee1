#!/bin/sh
# Run the benchmarks named, or all: `sh scripts/bench.sh [NAME…]`, where NAME is a file of benchmarks/ without `.py`.
# Files whose name begins with an underscore are parts of others.
set -eu
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
    for file in benchmarks/[a-z]*.py; do
        [ -e "$file" ] || { echo "bench: there is no benchmark in benchmarks/" >&2; exit 3; }
        name=${file##*/}
        set -- "$@" "${name%.py}"
    done
fi

failed=
for name in "$@"; do
    echo "== $name"
    .venv/bin/python "benchmarks/$name.py" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "bench: failed:$failed" >&2; exit 1; }
