#!/bin/sh
# Installs the program `paceline` of a release, with its manual pages and completions, for the user who runs this:
#
#   curl -fsSL https://github.com/paceline/paceline/releases/latest/download/install.sh | sh
#
# Variables: PACELINE_VERSION (such as 0.1.0; the newest release), PREFIX (a folder; ~/.local), PACELINE_FROM (an address with
# the files of a release, or a folder; PACELINE_VERSION is then not used). What is there already stays as it is unless the archive
# has the checksum that the release says, and its program runs on this machine.
set -eu

main() {
  repository=https://github.com/paceline/paceline
  prefix=${PREFIX:-$HOME/.local}
  if [ -n "${PACELINE_FROM:-}" ]; then
    from=$PACELINE_FROM
  elif [ -n "${PACELINE_VERSION:-}" ]; then
    from=$repository/releases/download/v${PACELINE_VERSION#v}
  else
    from=$repository/releases/latest/download
  fi
  system=$(uname -s)
  [ "$system" = Linux ] || fail "Paceline runs on Linux, and this is $system: its container may run here ($repository)"
  machine=$(uname -m)
  case $machine in
  x86_64 | aarch64) ;;
  *) fail "there is no program for $machine: build it from the source, $repository" ;;
  esac
  for tool in tar gzip sha256sum; do
    command -v "$tool" >/dev/null || fail "no $tool in the PATH: install it"
  done

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM
  archive=paceline-$machine-linux.tar.gz
  fetch "$from" "$archive" "$work"
  fetch "$from" SHA256SUMS "$work"
  (cd "$work" && grep " $archive\$" SHA256SUMS >sum) || fail "SHA256SUMS of $from does not name $archive"
  (cd "$work" && sha256sum -c sum >/dev/null 2>&1) ||
    fail "$archive of $from has another checksum than SHA256SUMS says: nothing was installed; try again, or tell us"
  tar -C "$work" -xzf "$work/$archive" || fail "$archive cannot be unpacked"
  new=$work/paceline
  version=$("$new/bin/paceline" --version 2>"$work/why") ||
    fail "the program does not run here, so nothing was installed: $(cat "$work/why")
Build it from the source: $repository"

  mkdir -p "$prefix/bin" || fail "$prefix/bin cannot be made: set PREFIX to a folder of yours"
  (cd "$new" && find bin share -type f) >"$work/files"
  while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    # Renamed, so that a running program is not written over.
    { cp "$new/$file" "$prefix/$file.new" && mv -f "$prefix/$file.new" "$prefix/$file"; } ||
      fail "$prefix/$file cannot be written: set PREFIX to a folder of yours"
  done <"$work/files"
  echo "$version is now $prefix/bin/paceline"
  case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not in your PATH. Put this into ~/.profile: export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
  echo "Begin with: paceline compare --trace lte-driving --schemes abc,cubic -o results"
}

fail() {
  echo "install: $1" >&2
  exit 1
}

# Copies a file of a release: fetch FROM NAME FOLDER.
fetch() {
  if [ -d "$1" ]; then
    cp "$1/$2" "$3/$2" || fail "there is no $2 in $1"
  elif command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$3/$2" "$1/$2" || fail "$1/$2 cannot be fetched"
  elif command -v wget >/dev/null; then
    wget -q -O "$3/$2" "$1/$2" || fail "$1/$2 cannot be fetched"
  else
    fail "neither curl nor wget is in the PATH: install one of them"
  fi
}

# The last line, so that a file that ends early does nothing.
main
