#!/usr/bin/env bash
# Puts the clients and judges that the tests beside this file use into a folder of their own, each in a
# fixed version: $GATEHOUSE_TOOLS, or gatehouse-tools in the user's cache. What is there stays.
set -euo pipefail

tools="${GATEHOUSE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse-tools}"
mkdir -p "$tools"

hvac=2.4.0
if ! "$tools/python/bin/python" -c "import hvac; assert hvac.__version__ == '$hvac'" 2>/dev/null; then
  rm -rf "$tools/python"
  python3 -m venv "$tools/python"
  "$tools/python/bin/pip" install --quiet --disable-pip-version-check "hvac==$hvac"
fi

node_vault=0.12.0
if ! grep -qs "\"version\": \"$node_vault\"" "$tools/node-vault/node_modules/node-vault/package.json"; then
  rm -rf "$tools/node-vault"
  mkdir -p "$tools/node-vault"
  npm install --prefix "$tools/node-vault" --silent --no-audit --no-fund --ignore-scripts "node-vault@$node_vault"
fi

zlint=v3.6.0
if ! [ -x "$tools/zlint-$zlint/zlint" ]; then
  GOBIN="$tools/zlint-$zlint" go install "github.com/zmap/zlint/v3/cmd/zlint@$zlint"
fi
