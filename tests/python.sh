#!/usr/bin/env bash
# Builds and tests the Python package. `tests/python.sh test` builds it with the profile of tests
# and tests it; `wheel` leaves one wheel in target/wheels; `wheel-test` installs this wheel into a
# fresh virtual environment and runs the quick-start notebook; `wheels` leaves wheels for all Linux
# distributions since 2014 (manylinux2014), for x86-64 and ARM, in target/wheels: zig links them with
# glibc 2.17; `docs FOLDER` writes the package's interface as pages. Packages come from the Python Package Index, with the versions in
# bindings/python/requirements-*.txt, into target/python.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
package=bindings/python
# Which packages of Python are needed, and the virtual environment that has them: a wheel needs few.
case ${1:-test} in
wheel)
  environment=$target/python/build
  requirements=$package/requirements-build.txt
  ;;
*)
  environment=$target/python/venv
  requirements=$package/requirements-test.txt
  ;;
esac

# Reports that the tests cannot run because a requirement is missing; fails if PACELINE_REQUIRE
# names it.
skip() {
  echo "SKIPPED the Python package: $1" >&2
  case ",${PACELINE_REQUIRE:-}," in
  *,python,*)
    echo "PACELINE_REQUIRE has \`python\`" >&2
    exit 1
    ;;
  esac
  if [ -n "${PACELINE_SKIPS:-}" ]; then
    printf 'python\t%s\t%s\n' "the tests of the Python package" "$1" >>"$PACELINE_SKIPS"
  fi
  exit 0
}

# Prepares the virtual environment with its packages; rebuilds it when their versions change.
prepare() {
  local wanted have
  wanted=$(cat $package/requirements-build.txt "$requirements" | sha256sum | cut -d' ' -f1)
  have=$(cat "$environment/wanted" 2>/dev/null || true)
  [ "$wanted" = "$have" ] && return 0
  command -v python3 >/dev/null || return 1
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || return 1
  rm -rf "$environment"
  mkdir -p "$(dirname "$environment")"
  python3 -m venv "$environment" >/dev/null 2>&1 || return 1
  "$environment/bin/pip" install -q --disable-pip-version-check \
    -r "$requirements" >&2 || return 1
  echo "$wanted" >"$environment/wanted"
}

# Builds a wheel with the given cargo profile into the given folder. The wheel has the licences of all
# packages that it is linked with; further arguments are those of maturin. A wheel for users takes minutes, so that
# cargo shows its progress.
build() {
  local profile=$1 folder=$2 quiet=()
  shift 2
  [ "$profile" = release ] || quiet=(--quiet)
  mkdir -p "$folder"
  .ci/xtask "$profile" licenses paceline-python $package/THIRD-PARTY-LICENSES.txt >/dev/null
  "$environment/bin/maturin" build "${quiet[@]}" --locked --profile "$profile" -m $package/Cargo.toml -o "$folder" "$@"
}

# Builds a wheel for each kind of processor, and has auditwheel read from which glibc on it runs.
build_portable() {
  local machine shown
  "$environment/bin/pip" install -q --disable-pip-version-check -r $package/requirements-wheels.txt
  for machine in ${MACHINES:-x86_64 aarch64}; do
    rustup target add "$machine-unknown-linux-gnu" >/dev/null 2>&1 || {
      [ -d "$(rustc --print sysroot)/lib/rustlib/$machine-unknown-linux-gnu" ] || {
        echo "Rust's target $machine-unknown-linux-gnu cannot be installed: rustup target add" >&2
        return 1
      }
    }
    PATH=$environment/bin:$PATH build "$1" "$2" --zig --compatibility manylinux2014 --target "$machine-unknown-linux-gnu"
    shown=$("$environment/bin/auditwheel" show "$2"/*manylinux2014_"$machine"*.whl)
    case $shown in
    *"\"manylinux_2_17_$machine\""* | *"\"manylinux2014_$machine\""*) ;;
    *)
      echo "$shown" >&2
      echo "the wheel for $machine needs a newer glibc than 2.17" >&2
      return 1
      ;;
    esac
  done
}

# Installs the wheel of a folder into a virtual environment.
install() {
  "$1/bin/pip" install -q --disable-pip-version-check --no-deps --force-reinstall "$2"/*.whl
}

# Installs the wheel of a folder into a fresh environment, and runs the quick start there. The other
# packages are those of the tests' environment, so nothing is downloaded twice.
fresh() {
  local new=$target/python/fresh
  rm -rf "$new"
  python3 -m venv "$new"
  "$environment/bin/python" -c 'import site; print(site.getsitepackages()[0])' \
    >"$("$new/bin/python" -c 'import site; print(site.getsitepackages()[0])')/others.pth"
  "$environment/bin/pip" uninstall -q -y paceline >/dev/null 2>&1 || true
  install "$new" "$1"
  (cd "$target" && "$new/bin/python" "$OLDPWD/$package/tests/run_notebook.py" \
    "$OLDPWD/$package/examples/quick-start.ipynb")
}

# Writes the pages of the package that is installed in the tests' environment; builds and installs it if it is not. Fails if
# pdoc warns.
pages() {
  "$environment/bin/python" -c 'import paceline' 2>/dev/null || {
    rm -rf "$target/python/wheels"
    build dev "$target/python/wheels"
    install "$environment" "$target/python/wheels"
  }
  "$environment/bin/pip" install -q --disable-pip-version-check -r $package/requirements-docs.txt
  "$environment/bin/python" -W error::UserWarning -m pdoc --no-show-source -o "$1" paceline paceline.cluster paceline.gym
}

needs="python3 (3.10 or newer) with venv, and the packages of $requirements"
prepare || {
  [ "${1:-test}" = test ] && skip "$needs are not to be had"
  echo "$needs are not to be had" >&2
  exit 1
}
case ${1:-test} in
test)
  rm -rf "$target/python/wheels"
  build dev "$target/python/wheels"
  fresh "$target/python/wheels"
  install "$environment" "$target/python/wheels"
  # They take 4 to 11 minutes; one that waits for ever must not keep the others' results.
  timeout -k 30 2400 "$environment/bin/python" -m pytest -c $package/pyproject.toml $package/tests
  ;;
wheel)
  rm -rf "$target/wheels"
  build release "$target/wheels"
  ls "$target"/wheels/*.whl
  ;;
wheels)
  rm -rf "$target/wheels"
  build_portable release "$target/wheels"
  ls "$target"/wheels/*.whl
  ;;
docs)
  pages "${2:?a folder}"
  ;;
wheel-test)
  fresh "$target/wheels"
  ;;
*)
  echo "usage: $0 test|wheel|wheel-test|wheels|docs FOLDER" >&2
  exit 2
  ;;
esac
