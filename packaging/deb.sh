#!/usr/bin/env bash
# Builds a Debian package of a built program: packaging/deb.sh PROGRAM OUTPUT-FOLDER
#
# Contents: the program, a manual page for each command, completions for bash, zsh and fish, systemd
# units for the tunnel, recv, programs in the kernel and routers, examples in /etc/paceline, documents, the
# list of changes, and the licences of all packages that the program is linked with.
# dpkg-shlibdeps derives the dependencies from the program, so the package suits the release of
# Debian or Ubuntu on which it is built.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
program=$1
out=$2
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "deb: no $tool: install dpkg-dev" >&2; exit 1; }
done
version=$("$program" --version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
maintainer='Paceline developers <maintainers@paceline.invalid>'
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
root=$tree/root
doc=$root/usr/share/doc/paceline

install -D -m 755 "$program" "$root/usr/bin/paceline"
strip --strip-unneeded --remove-section=.comment "$root/usr/bin/paceline"
mkdir -p "$root/usr/share/man/man1"
"$program" man "$root/usr/share/man/man1" >/dev/null
gzip -9n "$root"/usr/share/man/man1/*.1
completions() { "$program" completions "$1" | install -D -m 644 /dev/stdin "$root/usr/share/$2"; }
completions bash bash-completion/completions/paceline
completions zsh zsh/vendor-completions/_paceline
completions fish fish/vendor_completions.d/paceline.fish
for unit in packaging/systemd/*.service; do
  install -D -m 644 "$unit" "$root/usr/lib/systemd/system/$(basename "$unit")"
done
for example in packaging/systemd/*.example; do
  install -D -m 644 "$example" "$root/etc/paceline/$(basename "$example")"
done
{
  printf 'Paceline is under the MIT licence or the Apache licence 2.0, as you choose.\n'
  printf 'The programs for the kernel inside it are under the MIT licence or the GPL.\n\n'
  cat LICENSE-MIT
  printf '\nThe Apache licence 2.0 is in /usr/share/common-licenses/Apache-2.0.\n'
  printf '\nThe packages that the program is linked with, and their licences: third-party-licenses.txt.gz in this folder.\n'
} | install -D -m 644 /dev/stdin "$doc/copyright"
.ci/xtask release licenses paceline-cli "$tree/licenses.txt" --features paceline-cli/bpf >/dev/null
gzip -9nc "$tree/licenses.txt" | install -D -m 644 /dev/stdin "$doc/third-party-licenses.txt.gz"
gzip -9nc CHANGELOG.md | install -D -m 644 /dev/stdin "$doc/CHANGELOG.md.gz"
# In Debian's format, which Debian's tools read (Debian policy 12.7).
printf 'paceline (%s) unstable; urgency=medium\n\n  * Changes: CHANGELOG.md.gz in this folder.\n\n -- %s  %s\n' \
  "$version" "$maintainer" "$(date -uR -r CHANGELOG.md)" | gzip -9nc | install -D -m 644 /dev/stdin "$doc/changelog.gz"
# The page of `paceline serve`, if `make site` has built it.
site=${CARGO_TARGET_DIR:-target}/site
if [ -e "$site/index.html" ]; then
  mkdir -p "$root/usr/share/paceline"
  cp -r "$site" "$root/usr/share/paceline/site"
  # The interfaces are for those who write programs, and as large as all else.
  rm -rf "$root/usr/share/paceline/site/api"
  sed -i '/href="api\/index.html"/d' "$root/usr/share/paceline/site/index.html"
  # The server sends to this computer only; compressed forms of the files would double the package.
  find "$root/usr/share/paceline/site" \( -name '*.br' -o -name '*.gz' \) -delete
fi
mkdir -p "$doc/examples"
cp -r scenarios examples/cluster "$doc/examples/"
cp -r docs "$doc/"
find "$doc/docs" -type f -exec chmod 644 {} +
# A checkout made with another umask may have files that only its owner reads.
chmod -R u=rwX,go=rX "$root"

# dpkg-shlibdeps must run inside a source package.
mkdir "$tree/debian"
printf 'Source: paceline\n\nPackage: paceline\nArchitecture: any\n' >"$tree/debian/control"
depends=$(cd "$tree" && dpkg-shlibdeps -O root/usr/bin/paceline 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: paceline
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Recommends: iproute2
Section: net
Priority: optional
Description: congestion control on wireless links: simulator, emulator, tunnel
 Runs the congestion controls of research and practice in a deterministic
 simulator, in an emulator under real programs, and on sockets: ABC, Sprout,
 Remy, C2TCP, XCP, Cubic, BBR, Copa and others, over recorded cellular links,
 Wi-Fi and satellites.
CONTROL
# Files below /etc belong to the administrator: dpkg asks before it changes them.
(cd "$root" && find etc -type f -printf '/%p\n') >"$root/DEBIAN/conffiles"
(cd "$root" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
mkdir -p "$out"
package=$out/paceline_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
