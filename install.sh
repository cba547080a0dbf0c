#!/bin/sh
# Installs or upgrades podkeep: downloads the executable for this machine, verifies and installs it.
#
#   PODKEEP_BASE_URL  http(s) URL or directory with podkeep-*.gz and SHA256SUMS; default: the directory of this file
#   PODKEEP_BIN       directory to install to; default: /usr/local/bin
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
    armv* | arm) fail "podkeep needs a 64-bit system; this is 32-bit ARM: install the 64-bit edition of your OS" ;;
    *) fail "there is no podkeep for $(uname -m)" ;;
  esac
  # Older Raspberry Pi OS runs a 32-bit system on a 64-bit kernel.
  if [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 32 ]; then
    fail "podkeep needs a 64-bit system; this one is 32-bit: install the 64-bit edition of your OS"
  fi
  libc=
  if [ "$system" = linux ] && ldd --version 2>&1 | grep -qi musl; then libc=-musl; fi
  echo "$system-$machine$libc"
}

fetch() { # NAME FILE
  case "$source" in
    http://* | https://*)
      if command -v curl >/dev/null; then
        # No redirect from https to http.
        curl -fsSL --proto-redir "=${source%%:*},https" -o "$2" "$source/$1" || fail "can't download $source/$1"
      elif command -v wget >/dev/null; then
        wget -qO "$2" "$source/$1" || fail "can't download $source/$1"
      else
        fail "curl or wget is needed: install one of them"
      fi
      ;;
    *)
      [ -e "$source/$1" ] || fail "$source/$1 not found"
      cp "$source/$1" "$2" || fail "can't copy $source/$1 to $bin"
      ;;
  esac
}

sum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

main() {
  # From a pipe, $0 is the shell, and anybody may have put files into the current directory.
  [ -n "${PODKEEP_BASE_URL:-}" ] || [ "${0##*/}" = install.sh ] ||
    fail "set PODKEEP_BASE_URL to the URL of the release; with sudo: curl … | sudo PODKEEP_BASE_URL=https://… sh"
  source=${PODKEEP_BASE_URL:-$(dirname "$0")}
  source=${source%/}
  bin=${PODKEEP_BIN:-/usr/local/bin}
  name=podkeep-$(platform).gz

  mkdir -p "$bin" 2>/dev/null || true
  [ -w "$bin" ] || fail "can't write to $bin: run this with sudo, or set PODKEEP_BIN to a directory of yours"

  # With CDPATH, cd would print or find another directory.
  bin=$(CDPATH='' cd -- "$bin" && pwd)
  # mv would put the program into it.
  [ ! -d "$bin/podkeep" ] || fail "$bin/podkeep is a directory: set PODKEEP_BIN to another directory"

  # Left by an installation that was killed.
  rm -rf "$bin"/.podkeep.??????
  # In the same directory, so that mv replaces the program in one step, even while it runs.
  work=$(mktemp -d "$bin/.podkeep.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  # Not every shell runs the EXIT trap after a signal.
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM

  fetch SHA256SUMS "$work/SHA256SUMS"
  fetch "$name" "$work/$name"
  wanted=$(awk -v name="$name" '$2 == name { print $1 }' "$work/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS does not name $name"
  [ "$(sum "$work/$name")" = "$wanted" ] || fail "$name is damaged: its checksum differs from SHA256SUMS"

  gzip -dc "$work/$name" > "$work/podkeep" || fail "can't unpack $name in $bin"
  chmod 755 "$work/podkeep"
  version=$("$work/podkeep" --version 2>&1) || fail "the program does not run here: $(reason "$name" "$version")"
  # A power failure must not find the new name with an empty file. A plain sync would wait for network disks too.
  sync "$work/podkeep" 2>/dev/null || sync
  mv -f "$work/podkeep" "$bin/podkeep"

  echo "podkeep $version is installed as $bin/podkeep"
  case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo "$bin is not in your PATH" ;;
  esac
  next
}

reason() { # NAME OUTPUT
  case "$1" in
    # One line for each function of the library would follow.
    *-musl.gz) printf '%s\n' "$2" | head -n 1; echo 'On Alpine Linux it needs: apk add libstdc++' ;;
    *) echo "$2" ;;
  esac
}

next() {
  case "${XDG_CONFIG_HOME:-}" in
    /*) config=$XDG_CONFIG_HOME ;;
    *) config=${HOME:-}/.config ;;
  esac
  for unit in /etc/systemd/system/podkeep.service "$config/systemd/user/podkeep.service"; do
    grep -qs "^ExecStart=\"*$bin/podkeep\"* serve" "$unit" || continue
    case "$unit" in
      */systemd/user/*) echo "Next: $bin/podkeep service install --user, so that the service is of this version" ;;
      *) echo "Next: sudo $bin/podkeep service install, so that the service is of this version" ;;
    esac
    return
  done
  if command -v systemctl >/dev/null; then
    echo "Next: $(install_command) to have systemd run it, or $bin/podkeep serve to try it"
  else
    echo "Next: $bin/podkeep serve, which this machine's service manager can start at boot"
  fi
}

install_command() {
  case "$bin/" in
    # The service of the whole machine does not see these directories.
    /home/* | /root/* | /run/user/* | /tmp/* | /var/tmp/*) echo "$bin/podkeep service install --user" ;;
    *) echo "sudo $bin/podkeep service install" ;;
  esac
}

# Called last, so that a partly downloaded script does nothing.
main
