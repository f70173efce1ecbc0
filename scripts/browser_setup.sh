#!/usr/bin/env bash
# Installs what the tests of the page need: Chromium (Debian's), playwright-core and onnxruntime-web (npm's).
# Without them these tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v chromium >/dev/null; then
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  $as_root apt-get update -q
  $as_root apt-get install -y -q --no-install-recommends chromium nodejs npm
fi
npm ci --prefix tests/play --ignore-scripts --no-audit --no-fund
.venv/bin/python scripts/web_engine.py
