#!/usr/bin/env bash
# VNN-COMP: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT. RESULTS gets sat with a counterexample, unsat,
# timeout, unknown, or error where a file is not read (stderr says why).
set -euo pipefail
if [ "${1:-}" != v1 ] || [ $# -lt 6 ]; then
    echo "run_instance.sh: expected v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT, got '$*'" >&2
    exit 1
fi
venmas=${VENMAS:-$(dirname "$0")/../../.venv/bin/venmas}
status=0
"$venmas" vnnlib "$3" "$4" --rules vnncomp --timeout "$6" --quiet >"$5" || status=$?
case $status in
    0 | 10 | 20) ;;
    *) echo error >"$5" ;;
esac
