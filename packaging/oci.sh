#!/usr/bin/env bash
# Builds an OCI image of a Debian package: packaging/oci.sh PACKAGE OUTPUT-FOLDER
#
# The image is the smallest Debian of this machine's release, with the package installed. Needs
# mmdebstrap and umoci, and no daemon. The result is an archive for `podman load`, `skopeo copy` and
# `docker load` (Docker 25 or newer).
set -euo pipefail
package=$(realpath "$1")
out=$(realpath "$2")
for tool in mmdebstrap umoci; do
  command -v "$tool" >/dev/null || { echo "oci: no $tool: install it with apt-get" >&2; exit 1; }
done
. /etc/os-release
version=$(dpkg-deb -f "$package" Version)
architecture=$(dpkg-deb -f "$package" Architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

umoci init --layout "$work/image"
umoci new --image "$work/image:$version"
umoci unpack --rootless --image "$work/image:$version" "$work/bundle" 2>/dev/null
cp "$package" "$work/package.deb"
mmdebstrap --quiet --variant=minbase --include="$work/package.deb" --include=iproute2 \
  --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount \
  --dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='APT::Install-Recommends "false"' \
  "$VERSION_CODENAME" "$work/bundle/rootfs"
rm -rf "$work"/bundle/rootfs/var/cache/apt/* "$work"/bundle/rootfs/var/lib/apt/lists/*
umoci repack --image "$work/image:$version" "$work/bundle"
umoci config --image "$work/image:$version" --config.entrypoint /usr/bin/paceline \
  --config.cmd=--help --os linux --architecture "$architecture"
archive=$out/paceline-$version-$architecture.oci.tar
tar -C "$work/image" --sort=name --owner=0 --group=0 -cf "$archive" .
echo "$archive"
