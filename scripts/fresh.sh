#!/bin/sh
# The proof that `make demo` and `make test` need nothing but what they say: run them from a clean clone in a bare
# Debian (debootstrap minbase + make, ca-certificates, python3-venv), then look that the clone's tree is clean.
#
#   make fresh                       both, then clean up
#   make fresh ARGS=keep             leave the folder for a look
#   FRESH_TARGETS="demo" make fresh  only these targets
#
# Needs root on a Debian whose apt works. How this machine reaches its mirrors and package index (sources, proxies,
# certificates, pip's settings) is passed on from its own configuration. Everything is mounted in a mount namespace of
# its own, so that no mount outlives the run and clean-up cannot reach through one.
set -eu

project=$(cd "$(dirname "$0")/.." && pwd)
targets=${FRESH_TARGETS:-demo test}
keep=${1:-}

stop() { echo "fresh: $1" >&2; exit 7; }
say() { echo "fresh: $*"; }
now() { date +%s; }
size() { du -sxm "$1" | cut -f1; }

# --- inside: second call, in a mount and process namespace of its own -------------------------------------------------
if [ "${FRESH_INSIDE:-}" ]; then
    root=$FRESH_INSIDE
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    if [ -d "$root/src/shared" ]; then
        mount --bind "$FRESH_SHARED" "$root/src/shared"
        mount -o remount,bind,ro "$root/src/shared"
    fi
    exec chroot "$root" /usr/bin/env -i \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        /bin/sh -c '. /src/environment; cd /src/countermark; for target in '"$FRESH_TARGETS"'; do
            echo "fresh: make $target"; began=$(date +%s)
            make "$target" </dev/null || exit 1
            echo "fresh: make $target took $(($(date +%s) - began)) s"
        done'
fi

# --- outside ----------------------------------------------------------------------------------------------------------
[ "$(id -u)" -eq 0 ] || stop "a chroot needs root"
[ -r /etc/os-release ] || stop "this is not Debian (no /etc/os-release)"
# shellcheck disable=SC1091
. /etc/os-release
[ "${ID:-}" = debian ] || stop "this is ${ID:-unknown}; a bare Debian is made from a Debian"
suite=$VERSION_CODENAME
if ! command -v debootstrap >/dev/null; then
    say "running: apt-get update && apt-get install --yes --no-install-recommends debootstrap"
    [ "${COUNTERMARK_NO_APT:-0}" = 0 ] || stop "COUNTERMARK_NO_APT is set; install debootstrap yourself"
    apt-get update -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 debootstrap >/dev/null
fi

dirty=$(git -C "$project" status --porcelain)
[ -z "$dirty" ] || say "note: the work tree has changes; what is proved is the last commit"

root=$(mktemp -d "${TMPDIR:-/var/tmp}/countermark-fresh.XXXXXX")
chmod 755 "$root"
clean() {
    status=$?
    trap - EXIT INT TERM HUP
    if [ "$keep" = keep ]; then
        say "kept: $root"
    elif grep -q " $root/" /proc/self/mountinfo; then
        say "something is mounted under $root; left as it is" >&2
    else
        rm -rf --one-file-system "$root"
    fi
    exit $status
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

# The mirror and the lists that this machine's own apt uses for its suite.
lists=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' \
    | sort -u)
mirror=$(echo "$lists" | awk -v suite="$suite" '$2 == suite { print $1; exit }')
[ "$mirror" ] || stop "apt names no mirror of $suite; run apt-get update first"

began=$(now)
debootstrap --variant=minbase --include=make,ca-certificates,python3-venv "$suite" "$root" "$mirror" \
    >"$root.log" 2>&1 || { tail -20 "$root.log" >&2; rm -f "$root.log"; stop "debootstrap failed"; }
rm -f "$root.log"
say "bare $suite: $(($(now) - began)) s, $(size "$root") MB"

echo "$lists" | awk '{ print "deb", $1, $2, $3 }' >"$root/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::((http|https|ftp)(::|  *")|Check-|Retries|ForceIPv)' \
    >"$root/etc/apt/apt.conf.d/00host" || true
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/hosts "$root/etc/hosts"

# How this machine's pip reaches its index; the certificates as a file of their own, as a company's would be.
mkdir -p "$root/src"
: >"$root/src/environment"
pass() { printf "export %s='%s'\n" "$1" "$(printf %s "$2" | sed "s/'/'\\\\''/g")" >>"$root/src/environment"; }
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY all_proxy ALL_PROXY \
    PIP_INDEX_URL PIP_TRUSTED_HOST PIP_PROXY PIP_DEFAULT_TIMEOUT PIP_RETRIES; do
    value=$(printenv "$name" || true)
    [ -z "$value" ] || pass "$name" "$value"
done
setting() { python3 -m pip config get "global.$1" 2>/dev/null || true; }
for pair in index-url:PIP_INDEX_URL trusted-host:PIP_TRUSTED_HOST proxy:PIP_PROXY; do
    value=$(setting "${pair%%:*}")
    [ -z "$value" ] || [ "$(printenv "${pair#*:}" || true)" ] || pass "${pair#*:}" "$value"
done
bundle=${PIP_CERT:-${SSL_CERT_FILE:-$(setting cert)}}
if [ -r "${bundle:-/nowhere}" ]; then
    cp -L "$bundle" "$root/src/host-certificates.pem"
    pass PIP_CERT /src/host-certificates.pem
    pass NODE_EXTRA_CA_CERTS /src/host-certificates.pem
fi
# What is proved is that no part is missing, not that the suite can say so.
pass COUNTERMARK_REQUIRE_ALL 1

git clone --quiet --no-hardlinks "$project" "$root/src/countermark"
shared=$(cd "$project/.." && pwd)/shared
[ -z "${COUNTERMARK_DATA:-}" ] || shared=$(cd "$COUNTERMARK_DATA/.." && pwd)
[ ! -d "$shared/data" ] || mkdir "$root/src/shared"

FRESH_INSIDE=$root FRESH_SHARED=$shared FRESH_TARGETS=$targets \
    unshare --mount --pid --fork --kill-child --propagation private sh "$0" ||
    stop "failed in the bare Debian; the lines above say where"

say "the folder holds $(size "$root") MB after it; .venv $(size "$root/src/countermark/.venv") MB"
dirty=$(git -C "$root/src/countermark" status --porcelain)
[ -z "$dirty" ] || { echo "$dirty" >&2; stop "the tree is not clean after $targets"; }
say "passed: $targets, from a clean clone, the tree clean after"
