#!/bin/sh
# Installs podkeep, or brings it up to date: picks the executable of this machine, verifies and installs it.
#
#   PODKEEP_BASE_URL  where podkeep-*.gz and SHA256SUMS are: an http(s) address or a folder; default: beside this file
#   PODKEEP_BIN       folder to install to; default: /usr/local/bin
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

platform() {
  case "$(uname -s)" in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no podkeep for $(uname -s)" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    armv* | arm) fail "podkeep needs a 64-bit system, and this one is 32-bit ARM: install the 64-bit edition of your OS" ;;
    *) fail "there is no podkeep for $(uname -m)" ;;
  esac
  # A 64-bit kernel may run a 32-bit system: older Raspberry Pi OS does.
  if [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 32 ]; then
    fail "podkeep needs a 64-bit system, and this one is 32-bit: install the 64-bit edition of your OS"
  fi
  libc=
  if [ "$system" = linux ] && ldd --version 2>&1 | grep -qi musl; then libc=-musl; fi
  echo "$system-$machine$libc"
}

fetch() { # NAME FILE
  case "$source" in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl -fsSL -o "$2" "$source/$1" || fail "$source/$1 can't be fetched"
      elif command -v wget >/dev/null; then
        wget -qO "$2" "$source/$1" || fail "$source/$1 can't be fetched"
      else
        fail "neither curl nor wget is here"
      fi
      ;;
    *) cp "$source/$1" "$2" 2>/dev/null || fail "there is no $source/$1" ;;
  esac
}

sum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

main() {
  source=${PODKEEP_BASE_URL:-$(dirname "$0")}
  source=${source%/}
  bin=${PODKEEP_BIN:-/usr/local/bin}
  name=podkeep-$(platform).gz

  mkdir -p "$bin" 2>/dev/null || true
  [ -w "$bin" ] || fail "$bin can't be written: run this with sudo, or set PODKEEP_BIN to a folder of yours"

  # In the folder itself, so that the last step replaces the program in one move, even while it runs.
  work=$(mktemp -d "$bin/.podkeep.XXXXXX")
  trap 'rm -rf "$work"' EXIT

  fetch SHA256SUMS "$work/SHA256SUMS"
  fetch "$name" "$work/$name"
  wanted=$(awk -v name="$name" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS does not name $name"
  [ "$(sum "$work/$name")" = "$wanted" ] || fail "$name is damaged: its checksum is not the one in SHA256SUMS"

  gzip -dc "$work/$name" > "$work/podkeep"
  chmod 755 "$work/podkeep"
  version=$("$work/podkeep" --version 2>&1) || fail "the program does not run here: $version
On Alpine Linux it needs: apk add libstdc++"
  mv -f "$work/podkeep" "$bin/podkeep"

  echo "podkeep $version is installed as $bin/podkeep"
  case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "$bin is not in your PATH" ;;
  esac
  echo "Next: sudo $bin/podkeep service install, or $bin/podkeep serve to try it"
}

# Called last, so that a script which came in half does nothing.
main
