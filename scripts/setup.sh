#!/bin/sh
# Find a Python that can do the set-up and hand over to setup.py: `sh scripts/setup.sh run|editor|test|lint|bench`.
# PYTHON chooses the interpreter; otherwise the first of these that is 3.11 or newer.
set -eu

fits() { "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if fits "$candidate"; then
        exec "$candidate" -I -B "$(dirname "$0")/setup.py" "$@"
    fi
done

echo "set-up: no Python 3.11 or newer found (looked for: ${PYTHON:-python3 python3.13 python3.12 python3.11})." >&2
echo "set-up: install one (on Debian: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3" >&2
exit 7
