#!/usr/bin/env bash
# Puts the clients and judges that the tests beside this file use into a folder of their own, each in a
# fixed version with the hashes that are kept here: $GATEHOUSE_TOOLS, or gatehouse-tools in the user's
# cache. What is there in that version stays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

tools="${GATEHOUSE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse-tools}"
mkdir -p "$tools"

if ! cmp -s "$here/requirements.txt" "$tools/python/requirements.txt"; then
  rm -rf "$tools/python"
  python3 -m venv "$tools/python"
  "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary=:all: --require-hashes -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$tools/python/requirements.txt"
fi

for client in node-vault generated-client; do
  if ! cmp -s "$here/$client/package-lock.json" "$tools/$client/package-lock.json"; then
    rm -rf "${tools:?}/$client"
    mkdir -p "$tools/$client"
    cp "$here/$client"/package*.json "$tools/$client/"
    npm ci --prefix "$tools/$client" --silent --no-audit --no-fund --ignore-scripts ||
      { rm -r "${tools:?}/$client"; exit 1; }
  fi
done

zlint=$(sed -n 's|.*github.com/zmap/zlint/v3 \([^ ]*\).*|\1|p' "$here/zlint/go.mod")
if ! [ -x "$tools/zlint-$zlint/zlint" ]; then
  (cd "$here/zlint" && GOFLAGS=-mod=readonly go build -o "$tools/zlint-$zlint/zlint" github.com/zmap/zlint/v3/cmd/zlint)
fi

versitygw=$(sed -n 's|.*github.com/versity/versitygw \([^ ]*\).*|\1|p' "$here/versitygw/go.mod")
if ! [ -x "$tools/versitygw-$versitygw/versitygw" ]; then
  (cd "$here/versitygw" && GOFLAGS=-mod=readonly go build -o "$tools/versitygw-$versitygw/versitygw" github.com/versity/versitygw/cmd/versitygw)
fi
