#!/usr/bin/env bash
# Installs what is missing on a Debian or Ubuntu machine, and nothing that is there.
#
# Usage: scripts/install.sh redis|venv...
set -euo pipefail

missing=()

# need COMMAND PACKAGE
need() {
    command -v "$1" >/dev/null || missing+=("$2")
}

if ! command -v cargo >/dev/null; then
    echo "cargo was not found: install Rust with rustup, see https://rustup.rs" >&2
    exit 1
fi
# Linker for cargo, and compiler for the C parts of zstd and ring.
need cc build-essential
for what in "$@"; do
    case $what in
    redis)
        need redis-server redis-server
        need redis-cli redis-tools
        ;;
    venv)
        need python3 python3
        python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
        ;;
    *)
        echo "usage: $0 redis|venv..." >&2
        exit 2
        ;;
    esac
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

if ! command -v apt-get >/dev/null; then
    echo "please install: ${missing[*]} (these are their names on Debian)" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "please install, as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "installing ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" </dev/null
