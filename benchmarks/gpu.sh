#!/usr/bin/env bash
# All CUDA tests and all GPU figures, within ten minutes on a machine with one GPU:
#
#     bash benchmarks/gpu.sh [FOLDER]
#
# Writes tests.txt, figures.md and figures.jsonl to FOLDER (default: gpu-results). Needs an
# environment in which `pip install -e '.[dev]'` was run, with a torch that has CUDA. Its corpus is
# made up, so no other file is needed. The exit status is 1 if a test fails or a figure differs
# from that of the CPU.
set -uo pipefail
cd "$(dirname "$0")/.."
results=${1:-gpu-results}
mkdir -p "$results"
python - <<'PY' || exit 1
import sys, torch
if not torch.cuda.is_available():
    sys.exit("there is no GPU that torch can use")
print(torch.cuda.get_device_name(), "torch", torch.__version__, "CUDA", torch.version.cuda)
PY
status=0
# Four at once: most of their time goes into launches, and into starting.
timeout 240 pytest -n 4 --dist load -m cuda -q -rs 2>&1 | tee "$results/tests.txt" || status=1
timeout 330 python benchmarks/gpu.py --device cuda -o "$results/figures.jsonl" \
  | tee "$results/figures.md" || status=1
exit $status
