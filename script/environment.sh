# Sourced by the scripts beside it: where the project is, its own programs first on PATH, and how to
# install what the system lacks.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv="$top/.venv"
# The real Node: the `node` of .venv/bin is a Python wrapper that does not pass signals on.
export PATH="$venv/node:$top/node_modules/.bin:$venv/bin:$PATH"
unset NODE_OPTIONS PYTHONHOME PYTHONPATH

say() { printf '%s\n' "$*" >&2; }

# need PROGRAM-OR-TEST PACKAGE...: where the test fails, install the packages (as root), else name the
# command that does. Returns 1 where they are still missing.
need() {
  local check=$1
  shift
  if eval "$check" >/dev/null 2>&1; then
    return 0
  fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "Installing $* ..."
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update >&2 </dev/null || say "apt-get update failed; trying with what is known."
    apt-get -qq install --no-install-recommends -y "$@" >&2 </dev/null || true
    if eval "$check" >/dev/null 2>&1; then
      return 0
    fi
  fi
  say "Missing: $*. Install with:"
  say "    sudo apt-get install $*"
  return 1
}
