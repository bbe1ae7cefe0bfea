#!/usr/bin/env bash
# VNN-COMP: install_tool.sh v1. Into .venv of the repository, as the README says.
set -euo pipefail
if [ "${1:-}" != v1 ]; then
    echo "install_tool.sh: expected the version v1 of the competition's interface, got '${1:-}'" >&2
    exit 1
fi
cd "$(dirname "$0")/../.."
python3 -m venv .venv
.venv/bin/pip install ".[runtime,vnnlib]"
.venv/bin/venmas --version
