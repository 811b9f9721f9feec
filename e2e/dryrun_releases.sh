#!/usr/bin/env bash
# Runs the tests of dry runs with releases that .ci/run does not install: older JAX with
# the libtpu of its time, and PyTorch without NVIDIA's packages. Not a part of .ci/run:
# each set is 400 to 900 MB to fetch and takes minutes on two cores.
#
#   e2e/dryrun_releases.sh [FOLDER]     FOLDER keeps what is installed for the next time
#
# Needs Go and a Python of 3.11 or newer. Passed on 2026-11-30 with the sets below.
set -euo pipefail
cd "$(dirname "$0")/.."
keep=${1:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/peakgate/releases}
mkdir -p "$keep"
step() { printf '== %s (at %ds)\n' "$*" "$SECONDS"; }

# python NAME ARGUMENTS... installs with pip into a Python of its own, once.
python() {
  local name=$1
  shift
  if [ ! -e "$keep/$name/whole" ]; then
    rm -rf "${keep:?}/$name"
    python3 -m venv "$keep/$name"
    "$keep/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    case $name in jax-*)
      "$keep/$name/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        "libtpu==$libtpu" "jax-cuda12-plugin==$jax" "jax-cuda12-pjrt==$jax" ;;
    torch-*)
      "$keep/$name/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps "torch==$torch" ;;
    esac
    touch "$keep/$name/whole"
  fi
}

# JAX, its libtpu, and what its devices lack.
while read -r jax libtpu lacks; do
  step "jax $jax with libtpu $libtpu"
  python "jax-$jax" "jax==$jax" "jaxlib==$jax"
  PEAKGATE_JAX_PYTHON=$keep/jax-$jax/bin/python \
    go test -count=1 ./dryrun/jax -run 'TestContract|TestDocumented|TestFaults' ${lacks:+-skip "$lacks"}
done <<'SETS'
0.9.2 0.0.37
0.8.1 0.0.30
0.6.2 0.0.17.1 /.*tpu7x
0.5.3 0.0.11.4 /.*(tpu7x|a100|h100|h200|b200)
SETS

while read -r torch numpy; do
  step "torch $torch"
  python "torch-$torch" filelock typing-extensions sympy networkx jinja2 fsspec setuptools "numpy$numpy"
  PEAKGATE_TORCH_PYTHON=$keep/torch-$torch/bin/python go test -count=1 ./dryrun/torch/... -run 'TestPrograms|TestTorch'
done <<'SETS'
2.3.1 <2
2.6.0
2.12.1
2.15.0
SETS
