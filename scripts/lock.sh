#!/bin/sh
# Compile requirements/*.in into the hash-locked requirements/*.txt. Needs `uv` on PATH; a user never runs this.
# Each lock holds everything its make target needs, and the later ones take the earlier ones' versions.
set -eu
cd "$(dirname "$0")/.."

compile() {
    name=$1
    shift
    echo "lock $name"
    uv pip compile --quiet --universal --python-version 3.11 --only-binary :all: \
        --generate-hashes --no-header --no-emit-index-url --no-emit-find-links \
        --extra vector --extra scene --extra mcp \
        "$@" --output-file "requirements/$name.txt" pyproject.toml
}

compile run requirements/run.in
compile editor --constraint requirements/run.txt requirements/run.in requirements/editor.in
compile test --constraint requirements/editor.txt requirements/run.in requirements/editor.in requirements/test.in
compile lint --constraint requirements/test.txt requirements/run.in requirements/editor.in requirements/test.in \
    requirements/lint.in
compile bench --constraint requirements/lint.txt requirements/run.in requirements/editor.in requirements/bench.in

if grep -n '://' requirements/*.txt; then
    echo "lock: a lock file names a host; see the lines above" >&2
    exit 1
fi
