#!/usr/bin/env bash
# Prints a formula for Homebrew on Linux: packaging/formula.sh VERSION FOLDER. FOLDER has the archives of that release
# (packaging/archive.sh) for one machine or both.
set -euo pipefail
version=${1#v}
folder=$2
release=https://github.com/paceline/paceline/releases/download/v$version
# One machine's archive: NAME-IN-HOMEBREW MACHINE.
machine() {
  local archive=paceline-$2-linux.tar.gz
  [ -e "$folder/$archive" ] || return 0
  cat <<BLOCK

  on_$1 do
    url "$release/$archive"
    sha256 "$(sha256sum "$folder/$archive" | cut -d' ' -f1)"
  end
BLOCK
}
blocks=$(machine intel x86_64 && machine arm aarch64)
[ -n "$blocks" ] || { echo "formula: no archive paceline-MACHINE-linux.tar.gz in $folder" >&2; exit 1; }
cat <<FORMULA
class Paceline < Formula
  desc "Congestion control for wireless links: compare, emulate, use"
  homepage "https://github.com/paceline/paceline"
  version "$version"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux
$blocks

  def install
    bin.install "bin/paceline"
    man1.install Dir["share/man/man1/*.1.gz"]
    bash_completion.install "share/bash-completion/completions/paceline"
    zsh_completion.install "share/zsh/site-functions/_paceline"
    fish_completion.install "share/fish/vendor_completions.d/paceline.fish"
    doc.install Dir["share/doc/paceline/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/paceline --version")
  end
end
FORMULA
