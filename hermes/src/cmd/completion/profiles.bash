
# Profile names behind -p, asked of hermes itself so that they are right for any home.
_hermes_with_profiles() {
    local previous="${COMP_WORDS[COMP_CWORD-1]}"
    if [ "$previous" = "-p" ] || [ "$previous" = "--profile" ]; then
        local names
        names="$(hermes profile list --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",*$/\1/p')"
        COMPREPLY=($(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}"))
        return 0
    fi
    _hermes "$@"
}
complete -F _hermes_with_profiles -o nosort -o bashdefault -o default hermes
