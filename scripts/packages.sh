# What a checkout needs beyond a bare Debian 12 or 13, and how it gets it. Sourced by ./dev.

build_packages=(g++ cmake ninja-build pkg-config ccache libnats-dev nlohmann-json3-dev libtomlplusplus-dev
  libsodium-dev libssl-dev libcrypt-dev libcli11-dev libfmt-dev libsqlite3-dev libgtest-dev libgmock-dev
  librapidcheck-dev libcurl4-openssl-dev ca-certificates)
test_packages=(python3 python3-jsonschema bash-completion buildah docker-registry busybox-static openssl
  podman runc conmon netavark iptables catatonit uidmap iproute2 procps dpkg-dev binutils)
lint_packages=(clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "this needs root or sudo: $*"
    return 1
  fi
}

has_package() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages "why" package…: installs those that are missing.
need_packages() {
  local why=$1 missing=() package
  shift
  for package in "$@"; do
    has_package "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]} ($why)"
  mkdir -p build/log
  if ! { as_root apt-get update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >build/log/apt.log 2>&1; then
    tail -n 20 build/log/apt.log >&2
    say "installing failed; the whole log is build/log/apt.log"
    return 1
  fi
}

# Node.js 18 or later with npm, for the demo's modules and the plain-client tests.
need_node() {
  command -v node >/dev/null && command -v npm >/dev/null || need_packages "to run modules in JavaScript" nodejs npm
}

# The nats-servers that are tested against: 2.10 and the newest that Debian's testing suite has.
need_nats_servers() {
  need_program_of_suite trixie nats-server build/tools/nats-2.10/nats-server
  need_program_of_suite testing nats-server build/tools/nats-newest/nats-server
  [ -e build/tools/nats-server ] || ln -sfn nats-2.10/nats-server build/tools/nats-server
}

# The program of a package of the same name in another suite of Debian, from the machine's own mirror and
# keyring through an apt root of its own. Nothing on the system changes.
need_program_of_suite() { # suite package file
  local suite=$1 package=$2 file=$3
  [ ! -x "$file" ] || return 0
  say "fetching $package of Debian's $suite suite into ${file%/*} (the system is left as it is)"
  local root
  root=$(mktemp -d "${TMPDIR:-/tmp}/mesh-apt.XXXXXX")
  if ! fetch_package_of_suite "$suite" "$package" "$root" >"$root/log" 2>&1; then
    tail -n 20 "$root/log" >&2
    say "$package could not be fetched from the $suite suite of this machine's Debian mirror"
    rm -rf "$root"
    return 1
  fi
  mkdir -p "${file%/*}"
  cp "$(find "$root/unpacked" -name "$package" -type f -perm -u+x | head -n 1)" "$file.part"
  mv "$file.part" "$file"
  rm -rf "$root"
}

# The mirror that the machine's own sources name for Debian's main suite.
debian_mirror() {
  apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
    awk '$3 == "main" && $2 !~ /security|updates|backports/ && /Debian/ {print $1; exit}'
}

fetch_package_of_suite() { # suite package root
  local suite=$1 package=$2 root=$3 mirror
  mirror=$(debian_mirror)
  if [ -z "$mirror" ]; then
    as_root apt-get update
    mirror=$(debian_mirror)
  fi
  [ -n "$mirror" ] || { echo "no Debian mirror among this machine's apt sources"; return 1; }
  mkdir -p "$root"/etc/{sources.list.d,preferences.d,apt.conf.d} "$root"/state/lists/partial "$root"/cache/archives/partial
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$mirror" "$suite" \
    >"$root/etc/sources.list"
  local apt=(apt-get -o Dir::Etc="$root/etc" -o Dir::State="$root/state" -o Dir::Cache="$root/cache"
    -o Dir::State::status=/dev/null -o Acquire::Languages=none -o APT::Architecture="$(dpkg --print-architecture)")
  [ "$(id -u)" -ne 0 ] || apt+=(-o APT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$root" && "${apt[@]}" download "$package")
  dpkg-deb -x "$root/$package"_*.deb "$root/unpacked"
}

# The mesh's registry. Installing Debian's package would start a service; its program alone is enough.
need_docker_registry() {
  [ ! -x build/tools/docker-registry ] && ! command -v docker-registry >/dev/null || return 0
  say "fetching Debian's docker-registry into build/tools (the system is left as it is)"
  local root
  root=$(mktemp -d "${TMPDIR:-/tmp}/mesh-apt.XXXXXX")
  if ! fetch_docker_registry "$root" >"$root/log" 2>&1; then
    tail -n 20 "$root/log" >&2
    say "docker-registry could not be fetched from this machine's Debian mirror"
    rm -rf "$root"
    return 1
  fi
  mkdir -p build/tools
  cp "$root/unpacked/usr/bin/docker-registry" build/tools/docker-registry.part
  mv build/tools/docker-registry.part build/tools/docker-registry
  rm -rf "$root"
  say "$(build/tools/docker-registry --version)"
}

fetch_docker_registry() { # root
  local apt=(apt-get)
  [ "$(id -u)" -ne 0 ] || apt+=(-o APT::Sandbox::User=root)
  (cd "$1" && { "${apt[@]}" download docker-registry || { as_root apt-get update && "${apt[@]}" download docker-registry; }; })
  dpkg-deb -x "$1"/docker-registry_*.deb "$1/unpacked"
}
