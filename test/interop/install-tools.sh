#!/usr/bin/env bash
# Puts the clients and judges that the tests beside this file use into a folder of their own, each in a
# fixed version with the hashes that are kept here: $GATEHOUSE_TOOLS, or gatehouse-tools in the user's
# cache. What is there in that version stays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

tools="${GATEHOUSE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse-tools}"
mkdir -p "$tools"

hvac=$(sed -n 's/^hvac==\([^ ]*\).*/\1/p' "$here/requirements.txt")
if ! "$tools/python/bin/python" -c "import hvac; assert hvac.__version__ == '$hvac'" 2>/dev/null; then
  rm -rf "$tools/python"
  python3 -m venv "$tools/python"
  "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary=:all: --require-hashes -r "$here/requirements.txt"
fi

if ! cmp -s "$here/node-vault/package-lock.json" "$tools/node-vault/package-lock.json"; then
  rm -rf "$tools/node-vault"
  mkdir -p "$tools/node-vault"
  cp "$here"/node-vault/package*.json "$tools/node-vault/"
  npm ci --prefix "$tools/node-vault" --silent --no-audit --no-fund --ignore-scripts ||
    { rm -r "$tools/node-vault"; exit 1; }
fi

zlint=$(sed -n 's|.*github.com/zmap/zlint/v3 \([^ ]*\).*|\1|p' "$here/zlint/go.mod")
if ! [ -x "$tools/zlint-$zlint/zlint" ]; then
  (cd "$here/zlint" && GOFLAGS=-mod=readonly go build -o "$tools/zlint-$zlint/zlint" github.com/zmap/zlint/v3/cmd/zlint)
fi
