# Completion of bash for rooftop and the four programs. make install puts it where bash-completion looks; else
#   source tools/completion/rooftop.bash
#
# Options and their values come from PROGRAM --help, rungs from PROGRAM --list, when they are first needed, and are kept
# for this shell. So it fits any build; only a program that is rebuilt with other options needs a new shell.

declare -gA _rooftop_kept # "what program" -> text

# _rooftop_ask PROGRAM ARGUMENT...: puts what it prints into $said and keeps it. Empty if it cannot be started.
_rooftop_ask() {
    local key=$*
    if [ -z "${_rooftop_kept[$key]+set}" ]; then
        _rooftop_kept[$key]=$("${1/#\~/$HOME}" "${@:2}" 2>/dev/null </dev/null)
    fi
    said=${_rooftop_kept[$key]}
}

# _rooftop_table: --help on standard input to lines 'OPTION ARGUMENT VALUE...'; ARGUMENT is - where there is none.
# Values are written [a, b or c; ...] in a program's help and {a,b,c} in rooftop's; a description may span lines.
_rooftop_table() {
    awk '
        function flush(  values, no) {
            if (name == "")
                return
            values = ""
            if (match(text, /\[([a-z0-9-]+, )*[a-z0-9-]+ or [a-z0-9-]+[];]/)) {
                values = substr(text, RSTART + 1, RLENGTH - 2)
                gsub(/, | or /, " ", values)
                if (argument == "-")
                    argument = "VALUE"
            } else if (argument ~ /^[{].*[}]$/) {
                values = substr(argument, 2, length(argument) - 2)
                gsub(/,/, " ", values)
            }
            no = sub(/^--\[no-\]/, "--", name)
            print name, argument, values
            if (no)
                print "--no-" substr(name, 3), "-"
            name = ""
        }
        /^  (-[a-z], )?--/ {
            flush()
            sub(/^  (-[a-z], )?/, "")
            split($0, column, /  +/)
            argument = split(column[1], word, / /) > 1 ? word[2] : "-"
            name = word[1]
            text = substr($0, length(column[1]) + 1)
            next
        }
        /^ / { sub(/^ +/, " "); text = text $0; next }
        { flush() }
        END { flush() }'
}

# _rooftop_rungs PROGRAM, _rooftop_ladders PROGRAM: puts the names in --list into $said.
_rooftop_rungs() {
    _rooftop_ask "$1" --list
    said=$(awk '$2 ~ /^(cpu|cuda|kokkos|openacc)$/ && /^[^ ]/ { print $1 }' <<<"$said")
}
_rooftop_ladders() {
    _rooftop_ask "$1" --list
    said=$(sed -n 's/^\([a-z-]*\):$/\1/p' <<<"$said")
}

# _rooftop_parameters PROGRAM: puts lines 'RUNG NAME VALUE...' of the launch parameters of all rungs into $said.
_rooftop_parameters() {
    _rooftop_ask "$1" --list --ladder
    said=$(awk '
        /^[^ ]/ { rung = $1; next }
        match($0, /^ +[a-z0-9_-]+: /) && $1 != "absent:" {
            name = substr($1, 1, length($1) - 1)
            sub(/^[^:]*: /, "")
            sub(/;.*/, "")
            gsub(/ \(default\)|,/, "")
            print rung, name, $0
        }' <<<"$said")
}

# _rooftop_choose PROGRAM: completes NAME=VALUE,NAME=VALUE.. after --choose: parameters of --rung, or of every rung. bash
# breaks it at each =.
_rooftop_choose() {
    local i rung= whole= last name value
    for ((i = 1; i <= COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" != --rung ] || rung=${COMP_WORDS[i + 1]}
        if [ "${COMP_WORDS[i]}" = --choose ]; then whole=; else whole+=${COMP_WORDS[i]}; fi
    done
    [ "${rung:-=}" != = ] || rung='[^ ]*'
    last=${whole#=}
    last=${last##*,}
    name=${last%%=*} value=${last#*=}
    _rooftop_parameters "$1"
    if [ "$last" = "$name" ]; then
        said=$(sed -n "s/^$rung \([^ ]*\) .*/\1=/p" <<<"$said")
        compopt -o nospace 2>/dev/null
    else
        said=$(sed -n "s/^$rung $name //p" <<<"$said")
        last=$value
    fi
    COMPREPLY=($(compgen -P "${current%"$last"}" -W "$(printf '%s\n' $said | sort -u)" -- "$last"))
}

_rooftop_words() { COMPREPLY=($(compgen -W "$1" -- "$current")); }
_rooftop_files() {
    compopt -o filenames 2>/dev/null # fails outside a completion, as in a test
    mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

# _rooftop_value OPTION PROGRAM: offers what may follow the option; fails if it takes no value. $table has the options.
_rooftop_value() {
    local said row argument values
    row=$(grep -m 1 -e "^$1 " <<<"$table") || return 1
    read -r _ argument values <<<"$row"
    case $1,$argument in
    *,-) return 1 ;;
    --rung,*) _rooftop_rungs "$2"; _rooftop_words "$said" ;;
    --only,*) _rooftop_ladders "$2"; _rooftop_words "cpu gpu $said" ;;
    --size,NAME) _rooftop_words "tiny small medium large full" ;;
    --device,*) _rooftop_words "auto cpu 0" ;;
    --choose,*) _rooftop_choose "$2" ;;
    --apps,*) _rooftop_words "$_rooftop_apps" ;;
    *,FILE | *,PATH) _rooftop_files -f ;;
    *,DIR) _rooftop_files -d ;;
    *) if [ -n "$values" ]; then _rooftop_words "$values"; fi ;;
    esac
}

_rooftop_apps="nekbone alya-rhs fun3d-mcpi gfnn-wave"

# _rooftop COMMAND: completes all five commands. bash breaks --rung=ja into three words; they are read as one option and
# its value.
_rooftop() {
    local program=$1 current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} said table command=
    COMPREPLY=()
    if [ "$current" = = ]; then
        current=
    elif [ "$before" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi

    if [ "${program##*/}" = rooftop ]; then
        _rooftop_ask "$program" --help
        if [ "$COMP_CWORD" -lt 2 ]; then
            _rooftop_words "--help --version $(awk '/^  [a-z]/ { print $1 }' <<<"$said")"
            return
        fi
        command=${COMP_WORDS[1]}
        _rooftop_ask "$program" "$command" --help
    else
        _rooftop_ask "$program" --help
    fi
    table=$(_rooftop_table <<<"$said")

    if [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1}" =~ \ --choose(\ =)?(\ [^\ =]+\ =)?(\ [^\ ]*)?$ ]]; then before=--choose; fi
    case $before in --*) if _rooftop_value "$before" "$program"; then return; fi ;; esac
    case $command,$current in
    *,-*) _rooftop_words "$(awk '{ print $1 }' <<<"$table")" ;;
    ,*) ;; # the programs take only options
    climb,* | scale,*) _rooftop_words "$_rooftop_apps" ;;
    exercise,* | grade,*)
        if [ "$COMP_CWORD" = 2 ]; then
            _rooftop_words "$_rooftop_apps"
        elif [ "$COMP_CWORD" = 3 ]; then
            _rooftop_ask "$program" exercise "${COMP_WORDS[2]}"
            _rooftop_words "$(awk '{ print $1 }' <<<"$said")"
        else
            _rooftop_files -f
        fi ;;
    *) _rooftop_files -f ;;
    esac
}

# bash finds a command by the last part of its path, so these serve apps/nekbone/nekbone too.
complete -F _rooftop rooftop
complete -F _rooftop nekbone
complete -F _rooftop alya-rhs
complete -F _rooftop fun3d-mcpi
complete -F _rooftop gfnn-wave
