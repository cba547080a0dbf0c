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
echo 'Installing the dependencies into node_modules, once ...' >&2
npm install $with --no-save --no-audit --no-fund --loglevel=error | sed '/^>/d; /^$/d' >&2
is_ready
