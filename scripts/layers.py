#!/usr/bin/env python3
"""Checks which crate may depend on which, as `cargo metadata` has it.

Only normal dependencies count: tests may reach further. Prints each violation; exits 1 if there is one.
With --self-test it checks that it finds violations, in made-up metadata.
"""

import json
import subprocess
import sys

PREFIX = "socialgraph-"
# The contract's crate has the name of the whole.
CONTRACT = "socialgraph"

# Layer: the layers that it may use.
ALLOWED = {
    "server": {CONTRACT, "keyspace", "localcluster", "model", "service", "store", "tasks"},
    "service": {"keyspace", "model", "store", "tasks"},
    "store": {"keyspace", "model", "tasks"},
    "keyspace": {"model"},
    "model": set(),
    "tasks": set(),
    "localcluster": set(),
    CONTRACT: set(),
}

# A family of outside crates, `name` and `name-*`: the layers that may use it.
RESERVED = {
    "fred": {"store"},
    "prost": {CONTRACT, "server"},
    "tonic": {CONTRACT, "server"},
}


def layer(package):
    return package.removeprefix(PREFIX)


def violations(metadata):
    """The violations in the output of `cargo metadata`, as sentences."""
    members = {layer(package["name"]): package for package in metadata["packages"]}
    found = [f"{name} is not in the list of layers" for name in members if name not in ALLOWED]
    found += [f"{name} is in the list of layers, but not in the workspace" for name in ALLOWED if name not in members]
    for name, package in members.items():
        # The kind of a normal dependency is null.
        for outside in {d["name"] for d in package["dependencies"] if d["kind"] is None}:
            if layer(outside) in members:
                if layer(outside) not in ALLOWED.get(name, set()):
                    found.append(f"{name} must not depend on {layer(outside)}")
            for family, users in RESERVED.items():
                if (outside == family or outside.startswith(family + "-")) and name not in users:
                    found.append(f"{name} must not depend on {outside}: only {' and '.join(sorted(users))} may")
    return sorted(found)


def self_test():
    def metadata(**extra):
        def package(name):
            full = name if name == CONTRACT else PREFIX + name
            return {"name": full, "dependencies": [{"name": d, "kind": k} for d, k in extra.get(name, [])]}

        return {"packages": [package(name) for name in [*ALLOWED, *(extra.keys() - ALLOWED.keys())]]}

    def check(expected, **extra):
        found = violations(metadata(**extra))
        assert found == expected, f"{extra}: expected {expected}, found {found}"

    check([])
    check([], server=[("socialgraph-store", None), ("tonic-health", None)], store=[("fred", None)])
    check([], keyspace=[("socialgraph-localcluster", "dev"), ("prost", "build")])
    check(["model must not depend on store"], model=[("socialgraph-store", None)])
    check(["service must not depend on fred: only store may"], service=[("fred", None)])
    check(
        ["store must not depend on tonic-types: only server and socialgraph may"],
        store=[("tonic-types", None), ("tonicity", None)],
    )
    check(["extra is not in the list of layers"], extra=[])
    short = metadata()
    short["packages"].pop()
    assert violations(short) == ["socialgraph is in the list of layers, but not in the workspace"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = violations(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    for violation in found:
        print(f"layers: {violation}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
