# What a part of the tests needs from the system: installed as root, else named. Run by suite.py.
#   packages.sh unit          shellcheck, which reads the job scripts the tests render
#   packages.sh ui            Debian's Chromium and fonts; without a browser the part fails
#   packages.sh integration   tools some tests look with; without them those tests are skipped
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
case ${1:-} in
  unit)
    need 'command -v shellcheck' shellcheck
    ;;
  ui)
    [ -n "${MUSTER_CHROMIUM:-}" ] ||
      need 'command -v chromium' chromium fonts-dejavu-core fonts-liberation
    ;;
  integration)
    need 'command -v strace && command -v ps' strace procps || true
    ;;
  *)
    say "usage: packages.sh unit|ui|integration"
    exit 2
    ;;
esac
