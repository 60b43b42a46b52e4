
# Profile names behind -p, asked of hermes itself so that they are right for any home.
_hermes_with_profiles() {
    if [[ "${words[CURRENT-1]}" == (-p|--profile) ]]; then
        local -a names
        names=(${(f)"$(hermes profile list --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",*$/\1/p')"})
        compadd -a names
        return
    fi
    _hermes "$@"
}
compdef _hermes_with_profiles hermes
