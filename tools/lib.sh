# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: BSD-3-Clause
# Shared by the shell commands in this folder: source it, do not run it.
# Expects bash in strict mode. Sets `root`, the top of the tree, and `python`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# The distribution's python sees the distribution's packages (scapy); another
# one that comes earlier in PATH may not.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3 || echo python3)

say() { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
die() { note "tools/${0##*/}: $*"; exit 1; }

# --- Clean-up ---------------------------------------------------------------

child=

# on_exit COMMAND...: run it when the script ends, however it ends; last in, first out.
exit_commands=()
on_exit() { exit_commands+=("$(printf '%q ' "$@")"); }

run_exit_commands() {
	local status=$? i
	trap - EXIT
	trap '' INT TERM HUP
	set +e
	[ -z "$child" ] || end_process "$child"
	for ((i = ${#exit_commands[@]} - 1; i >= 0; i--)); do
		eval "${exit_commands[i]}"
	done
	exit "$status"
}
trap run_exit_commands EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# A private folder that goes away at the end, unless it is kept. Sets `scratch`.
scratch=
make_scratch() {
	[ -z "$scratch" ] || return 0
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/noref.XXXXXX")
	on_exit remove_scratch
}
keep_scratch() { scratch_kept=yes; }
remove_scratch() { [ "${scratch_kept:-no}" = yes ] || rm -rf "$scratch"; }

# end_process PID: ask it to end, insist after five seconds.
end_process() {
	local pid=$1 i
	kill -TERM "$pid" 2>/dev/null || return 0
	for ((i = 0; i < 50; i++)); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null || true
}

# run_child COMMAND...: as if called directly, but a signal to the script is acted
# upon at once (bash would wait for the command first), and ends the command too.
run_child() {
	local status=0
	"$@" </dev/null &
	child=$!
	wait "$child" || status=$?
	child=
	return "$status"
}

# --- What must be installed -------------------------------------------------

# Each entry is KIND:NAME=PACKAGE: how to see that a thing is there, and the
# Debian package that brings it.
build_needs=(
	command:cc=gcc
	header:stdio.h=libc6-dev
	command:pkg-config=pkg-config
	command:meson=meson
	command:ninja=ninja-build
	pc:libdpdk=libdpdk-dev
	pc:numa=libnuma-dev
	pc:libpcap=libpcap-dev
	pc:yajl=libyajl-dev
	pc:cmocka=libcmocka-dev
)
quickstart_needs=("${build_needs[@]}" command:tcpdump=tcpdump)
test_needs=(
	"${build_needs[@]}"
	library:libasan.so=libgcc-12-dev
	command:objdump=binutils
	command:clang=clang
	command:clang-format=clang-format
	python:scapy=python3-scapy
	command:tcpdump=tcpdump
	command:dpdk-dumpcap=dpdk-dev
	command:ip=iproute2
	command:ping=iputils-ping
	command:ethtool=ethtool
	command:socat=socat
	command:dig=bind9-dnsutils
	command:iperf3=iperf3
)

present() {
	local kind=${1%%:*} name=${1#*:}
	name=${name%=*}
	case $kind in
	command) command -v "$name" >/dev/null 2>&1 || [ -x "/usr/sbin/$name" ] || [ -x "/sbin/$name" ] ;;
	pc) pkg-config --exists "$name" 2>/dev/null ;;
	header) echo "#include <$name>" | cc -E -o /dev/null - 2>/dev/null ;;
	library) [ "$(cc -print-file-name="$name" 2>/dev/null)" != "$name" ] ;;
	python) "$python" -c "import $name" 2>/dev/null ;;
	esac
}

# install_missing NEED...: install the packages of what is missing, silently unless it fails.
install_missing() {
	local need missing=() log
	for need; do
		present "$need" || missing+=("${need##*=}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null 2>&1; then
		die "please install what brings these (Debian package names): ${missing[*]}"
	fi
	if [ "$(id -u)" != 0 ]; then
		die "please run as root: apt-get install --no-install-recommends ${missing[*]}"
	fi
	say "Installing ${missing[*]}"
	make_scratch
	log=$scratch/install.log
	if ! { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
		--no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		die "could not install: ${missing[*]}"
	fi
	hash -r
	for need; do
		present "$need" || die "${need##*=} is installed, but '${need%=*}' is still not found"
	done
}

# --- Building ---------------------------------------------------------------

# quietly COMMAND...: show its output only if it fails.
quietly() {
	local log status=0
	make_scratch
	log=$scratch/quietly.log
	run_child "$@" >"$log" 2>&1 || status=$?
	if [ "$status" -ne 0 ]; then
		note "failed: $*"
		grep -v '^\[[0-9]*/[0-9]*\] ' "$log" | tail -n 100 >&2 || true
	fi
	return "$status"
}

# configure FOLDER MESON-OPTION...: set up a build folder, or bring its options up to
# date; one that was made elsewhere and moved is begun anew.
configure() {
	local folder=$1 known=$1/meson-info/meson-info.json
	shift
	if [ ! -f "$folder/build.ninja" ]; then
		quietly meson setup "$folder" "$root" "$@"
	elif grep -qF "\"source\": \"$root\"" "$known" && grep -qF "\"build\": \"$folder\"" "$known"; then
		quietly meson configure "$folder" "$@"
	else
		quietly meson setup --wipe "$folder" "$root" "$@"
	fi
}

configure_release() { configure "$1" --buildtype=release; }

configure_sanitized() {
	configure "$1" --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
}

build_all() { quietly ninja -C "$1"; }

# --- Hugepages --------------------------------------------------------------

hugepages=/sys/kernel/mm/hugepages/hugepages-2048kB

hugepages_free() { cat "$hugepages/free_hugepages" 2>/dev/null || echo 0; }

restore_hugepages() { echo "$1" >"$hugepages/nr_hugepages"; }

# reserve_hugepages N: have N free 2 MiB pages until the script ends; false if that cannot be.
reserve_hugepages() {
	local want=$1 free before
	free=$(hugepages_free)
	[ "$free" -lt "$want" ] || return 0
	[ -w "$hugepages/nr_hugepages" ] || return 1
	before=$(cat "$hugepages/nr_hugepages")
	on_exit restore_hugepages "$before"
	{ echo $((before + want - free)) >"$hugepages/nr_hugepages"; } 2>/dev/null || return 1
	[ "$(hugepages_free)" -ge "$want" ]
}
