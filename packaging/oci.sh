#!/usr/bin/env bash
# Builds an OCI image of a Debian package: packaging/oci.sh PACKAGE OUTPUT-FOLDER [WHEEL]
#
# The image is the smallest Debian of this machine's release, with the package installed. With WHEEL it
# also has Python, this wheel and what `paceline.cluster` needs (bindings/python/requirements-cluster.txt), for
# the workers and the scheduler of a Dask cluster; it is called paceline-dask and has no entry point. Needs
# mmdebstrap and umoci (with WHEEL: pip), and no daemon. The result is an archive for `podman load`,
# `skopeo copy` and `docker load` (Docker 25 or newer).
set -euo pipefail
package=$(realpath "$1")
out=$(realpath "$2")
wheel=${3:+$(realpath "$3")}
here=$(realpath "$(dirname "$0")/..")
for tool in mmdebstrap umoci ${wheel:+python3}; do
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
root=$work/bundle/rootfs
cp "$package" "$work/package.deb"
mmdebstrap --quiet --variant=minbase --include="$work/package.deb" --include=iproute2${wheel:+,python3} \
  --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount \
  --dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='APT::Install-Recommends "false"' \
  "$VERSION_CODENAME" "$root"
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
if [ -n "$wheel" ]; then
  # pip of this machine, for the image's Python: only wheels, which have nothing to build.
  python=$(basename "$(readlink "$root/usr/bin/python3")")
  packages=$root/usr/local/lib/$python/dist-packages
  # Wheels for a glibc of 2.17 up to that of the image.
  glibc=$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version}' libc6 | sed -E 's/^2\.([0-9]+).*/\1/')
  platforms=()
  for ((minor = glibc; minor >= 17; minor--)); do platforms+=(--platform "manylinux_2_${minor}_$(uname -m)"); done
  python3 -m pip install -q --disable-pip-version-check --no-compile --only-binary=:all: --implementation cp \
    --python-version "${python#python}" "${platforms[@]}" --platform "manylinux2014_$(uname -m)" --target "$packages" \
    -r "$here/bindings/python/requirements-cluster.txt" "$wheel"
  # pip writes the programs for the Python that it runs on.
  for program in "$packages"/bin/*; do
    sed -i '1s|^#!.*python.*$|#!/usr/bin/python3|' "$program"
    mv "$program" "$root/usr/local/bin/"
  done
  rmdir "$packages/bin"
  # Tests of packages are not run here.
  find "$packages" -type d -name tests -prune -exec rm -rf {} +
fi
umoci repack --image "$work/image:$version" "$work/bundle"
name=paceline${wheel:+-dask}
if [ -n "$wheel" ]; then
  umoci config --image "$work/image:$version" --config.cmd python3 --os linux --architecture "$architecture"
else
  umoci config --image "$work/image:$version" --config.entrypoint /usr/bin/paceline \
    --config.cmd=--help --os linux --architecture "$architecture"
fi
archive=$out/$name-$version-$architecture.oci.tar
tar -C "$work/image" --sort=name --owner=0 --group=0 -cf "$archive" .
echo "$archive"
