#!/usr/bin/env bash
# package.sh BUILD OUT: the Debian package of mesh-host, from what was built in BUILD, as a file in OUT;
# prints its path. Needs dpkg-dev.
set -euo pipefail
build=$(readlink -f "$1")
out=$(readlink -f "$2")
source=$(dirname "$(dirname "$(readlink -f "$0")")")
version=$("$build/bin/mesh-host" --version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# mesh-host finds mesh-keeper beside itself.
mkdir -p "$root/usr/lib/mesh-host" "$root/usr/bin"
for program in mesh-host mesh-keeper; do
  install -m 755 "$build/bin/$program" "$root/usr/lib/mesh-host/$program"
  strip "$root/usr/lib/mesh-host/$program"
done
ln -s ../lib/mesh-host/mesh-host "$root/usr/bin/mesh-host"
for unit in mesh-host.service mesh-host.path; do
  install -D -m 644 "$source/packaging/$unit" "$root/lib/systemd/system/$unit"
done
install -D -m 644 "$source/packaging/host.toml" "$root/usr/share/doc/mesh-host/host.toml"
install -D -m 644 "$source/LICENSE" "$root/usr/share/doc/mesh-host/copyright"
mkdir "$root/DEBIAN"
for script in postinst prerm postrm; do
  install -m 755 "$source/packaging/$script" "$root/DEBIAN/$script"
done

# The libraries that it was linked with, as dpkg-shlibdeps knows them: it wants a source package.
mkdir "$work/debian"
printf 'Source: mesh\n\nPackage: mesh-host\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O root/usr/lib/mesh-host/* 2>"$work/shlibdeps.log" |
  sed -n 's/^shlibs:Depends=//p') || { cat "$work/shlibdeps.log" >&2; exit 1; }
cat >"$root/DEBIAN/control" <<TEXT
Package: mesh-host
Version: $version
Architecture: $architecture
Section: admin
Priority: optional
Maintainer: The Mesh authors
Depends: $depends
Recommends: podman
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Description: keeps a machine at what its mesh declares for it
 The agent of one machine of a mesh: it joins with a token, hears its signed
 declaration over the bus, runs the modules of it as containers or commands,
 and reports. What runs goes on without the bus and after a reboot.
TEXT
package=$out/mesh-host_${version}_${architecture}.deb
dpkg-deb --root-owner-group --build "$root" "$package" >"$work/dpkg-deb.log" || { cat "$work/dpkg-deb.log" >&2; exit 1; }
printf '%s\n' "$package"
