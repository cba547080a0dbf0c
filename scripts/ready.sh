#!/bin/sh
# Installs what is missing in node_modules: for running the program, or with --dev for its tests and tools too.
set -eu
with=--omit=dev marker=node_modules/.ready-to-run
# What is there stays: npm would remove the tools.
if [ "${1-}" = --dev ] || [ -e node_modules/typescript ]; then
  with=--include=dev marker=node_modules/.ready
fi
is_ready() { [ $marker -nt package-lock.json ]; }
is_ready && exit
# npm would name the package that is not for this machine, but no way out.
arch=$(node -p process.arch)
case $arch in
  x64 | arm64) ;;
  *)
    echo "podkeep needs a 64-bit system, x86-64 or ARM; the Node.js here is for $arch." \
      'On a Raspberry Pi install the 64-bit edition of its OS.' >&2
    exit 1
    ;;
esac
echo 'Installing the dependencies into node_modules, once ...' >&2
# The quickest way into nothing. It deletes what an interrupted installation left, which npm would take for whole.
how=ci
[ -e node_modules/.ready-to-run ] && how='install --no-save'
rm -f node_modules/.ready node_modules/.ready-to-run
npm $how $with --no-audit --no-fund --loglevel=error | sed '/^>/d; /^$/d' >&2
is_ready && exit
if [ "$(npm config get ignore-scripts)" = true ]; then
  echo 'npm ran no install scripts (ignore-scripts), and Bun needs its own. Run this, and repeat the command:' \
    'npm rebuild --ignore-scripts=false' >&2
fi
exit 1
