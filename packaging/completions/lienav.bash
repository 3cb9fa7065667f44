# Completions of the command line for bash. What can be completed is read from the help of the command that is being
# written, so that this file follows the executable.

_lienav() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} program=${COMP_WORDS[0]}
    local -a commands=()
    local k help list values
    for ((k = 1; k < COMP_CWORD; k++)); do
        [[ ${COMP_WORDS[k]} =~ ^[a-z][a-z-]*$ ]] || break
        commands+=("${COMP_WORDS[k]}")
    done
    help=$("$program" "${commands[@]}" --help 2>/dev/null) || help=$("$program" "${commands[0]}" --help 2>/dev/null)
    COMPREPLY=()
    if [[ $before == --* ]]; then
        # The values that an option names: [possible values: a, b] on its line or below it.
        values=$(printf '%s\n' "$help" | awk -v option="$before" '
            inside && /^ +-/ { exit }
            $1 == option || $2 == option { inside = 1 }
            inside { text = text " " $0 }
            END { if (match(text, /\[possible values: [^]]*\]/)) print substr(text, RSTART + 18, RLENGTH - 19) }')
        if [[ -n $values ]]; then
            mapfile -t COMPREPLY < <(compgen -W "${values//,/ }" -- "$word")
            return
        fi
    fi
    if [[ $word == -* ]]; then
        list=$(printf '%s\n' "$help" | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
    else
        list=$(printf '%s\n' "$help" | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
    fi
    mapfile -t COMPREPLY < <(compgen -W "$list" -- "$word")
}
complete -o default -F _lienav lienav
