#!/usr/bin/env bash
# VNN-COMP: prepare_instance.sh v1 CATEGORY ONNX VNNLIB. Status 0 where network and property are read, else 1.
#
# The question is asked for a moment: that reads both files, and has numba's compiled code in its cache when time counts.
# Nothing is kept of the answer.
set -euo pipefail
if [ "${1:-}" != v1 ] || [ $# -lt 4 ]; then
    echo "prepare_instance.sh: expected v1 CATEGORY ONNX VNNLIB, got '$*'" >&2
    exit 1
fi
venmas=${VENMAS:-$(dirname "$0")/../../.venv/bin/venmas}
status=0
"$venmas" vnnlib "$3" "$4" --timeout 10 --quiet >/dev/null || status=$?
case $status in
    0 | 10 | 20) exit 0 ;;
    *) exit 1 ;;
esac
