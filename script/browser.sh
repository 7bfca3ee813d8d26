# Debian's Chromium and fonts for the UI tests: installed as root, else named. Run by suite.py.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
if [ -n "${MUSTER_CHROMIUM:-}" ]; then
  exit 0
fi
need 'command -v chromium' chromium fonts-dejavu-core fonts-liberation
