
# Profile names behind -p, asked of hermes itself so that they are right for any home.
complete -c hermes -s p -l profile -x -a "(hermes profile list --json 2>/dev/null | string replace -rf '^ *\"name\": \"(.*)\",*\$' '\$1')"
