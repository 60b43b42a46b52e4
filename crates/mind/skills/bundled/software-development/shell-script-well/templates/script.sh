#!/usr/bin/env bash
# What it does, in one line.
set -euo pipefail

usage() {
  cat <<'EOF'
usage: script.sh [-n] [-o DIR] FILE...
  -n      say what would be done, do nothing
  -o DIR  put results there (default: .)
EOF
}

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
run() { if [ -n "$dry" ]; then printf 'would run:'; printf ' %q' "$@"; echo; else "$@"; fi; }

dry='' out=.
while getopts ':no:h' option; do
  case $option in
    n) dry=1 ;;
    o) out=$OPTARG ;;
    h) usage; exit 0 ;;
    :) die "-$OPTARG needs a value" ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2; exit 2; }

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

for file in "$@"; do
  [ -r "$file" ] || die "cannot read $file"
  sort -- "$file" > "$scratch/result"
  run mkdir -p -- "$out"
  run cp -- "$scratch/result" "$out/$(basename -- "$file").sorted"
done
