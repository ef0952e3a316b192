"""dragoman completion: a script that completes commands and options in a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.parser import Parser

__all__ = (
    "COMPLETION",
    "SCRIPTS",
    "Script",
)


_FILES: Final = "@files"
"""Stands for the names of files, which the shell knows better."""


def _declare(parser: Parser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="shell to write the script for")


def _complete(invocation: Invocation) -> int:
    script = SCRIPTS[invocation.arguments.shell]
    program = invocation.surroundings.program
    words = {name: _words_after(parser) for name, parser in invocation.parsers.items()}
    filled_in = {
        "program": program,
        "function": re.sub(r"\W", "_", program),
        "files": _FILES,
        "words": _table(script, words),
        "values": _table(script, _values(invocation.parsers)),
    }
    invocation.output.print(re.sub(r"{{(\w+)}}", lambda name: filled_in[name[1]], script.text))
    return 0


def _words_after(parser: Parser) -> str:
    """Return what may follow a command: further commands, choices and options."""
    flags = [spelling for flag in parser.flags() for spelling in flag.spellings]
    return " ".join((*parser.positional_choices(), *flags))


def _values(parsers: Mapping[str, Parser]) -> dict[str, str]:
    """Return what may follow an option that takes a value; an option means the same everywhere."""
    return {
        spelling: " ".join(flag.choices) or _FILES
        for parser in parsers.values()
        for flag in parser.flags()
        if flag.takes_value
        for spelling in flag.spellings
    }


def _table(script: Script, entries: Mapping[str, str]) -> str:
    return "\n".join(script.entry % (key, words) for key, words in entries.items())


COMPLETION: Final = Body(run=_complete, declare=_declare)


# --- scripts --------------------------------------------------------------------------------------


class Script(Struct, frozen=True):
    """The script of a shell, and how it has one entry of a table: a key, and words."""

    text: str
    entry: str


_BASH: Final = r"""# Completion of {{program}} for bash: source <({{program}} completion bash)
_{{function}}_words() {
    case "$1" in
{{words}}
    esac
}
_{{function}}_values() {
    case "$1" in
{{values}}
    esac
}
_{{function}}() {
    local word name="" list current="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case " $(_{{function}}_words "$name") " in
        *" $word "*) [[ $word == -* ]] || name="${name:+$name }$word" ;;
        esac
    done
    list="$(_{{function}}_values "${COMP_WORDS[COMP_CWORD-1]}")"
    if [[ $list == {{files}} ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "${list:-$(_{{function}}_words "$name")}" -- "$current")
}
complete -o filenames -F _{{function}} {{program}}
"""

_ZSH: Final = r"""#compdef {{program}}
# Completion of {{program}} for zsh: source <({{program}} completion zsh)
_{{function}}_words() {
    case "$1" in
{{words}}
    esac
}
_{{function}}_values() {
    case "$1" in
{{values}}
    esac
}
_{{function}}() {
    local word name="" list
    for word in "${(@)words[2,CURRENT-1]}"; do
        case " $(_{{function}}_words "$name") " in
        *" $word "*) [[ $word == -* ]] || name="${name:+$name }$word" ;;
        esac
    done
    list="$(_{{function}}_values "${words[CURRENT-1]}")"
    if [[ $list == {{files}} ]]; then
        _files
        return
    fi
    [[ -n $list ]] || list="$(_{{function}}_words "$name")"
    compadd -- ${=list}
}
compdef _{{function}} {{program}}
"""

_FISH: Final = r"""# Completion of {{program}} for fish: {{program}} completion fish | source
function __{{function}}_words
    switch "$argv[1]"
{{words}}
    end
end
function __{{function}}_values
    switch "$argv[1]"
{{values}}
    end
end
function __{{function}}
    set -l typed (commandline -opc)
    set -l name ""
    for word in $typed[2..-1]
        if not string match -q -- '-*' $word
            and contains -- $word (__{{function}}_words "$name" | string split ' ')
            set name (string trim "$name $word")
        end
    end
    set -l list (__{{function}}_values "$typed[-1]")
    if test "$list" = {{files}}
        __fish_complete_path (commandline -ct)
    else if test -n "$list"
        string split ' ' -- $list
    else
        __{{function}}_words "$name" | string split ' '
    end
end
complete -c {{program}} -f -a '(__{{function}})'
"""

_POWERSHELL: Final = r"""# Completion of {{program}} for PowerShell:
# {{program}} completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName {{program}} -ScriptBlock {
    param($current, $ast, $cursor)
    $words = @{
{{words}}
    }
    $values = @{
{{values}}
    }
    $typed = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } |
        ForEach-Object { $_.ToString() })
    $name = ''
    foreach ($word in ($typed | Select-Object -Skip 1)) {
        if (-not $word.StartsWith('-') -and $words[$name] -and
            $words[$name].Split(' ') -contains $word) {
            $name = "$name $word".Trim()
        }
    }
    $list = $values[$typed[-1]]
    if ($list -eq '{{files}}') { return }
    if (-not $list) { $list = $words[$name] }
    $list.Split(' ') | Where-Object { $_ -like "$current*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
"""

_CASE: Final = '    "%s") echo "%s" ;;'

SCRIPTS: Final = {
    "bash": Script(_BASH, _CASE),
    "zsh": Script(_ZSH, _CASE),
    "fish": Script(_FISH, "        case '%s'\n            echo '%s'"),
    "powershell": Script(_POWERSHELL, "        '%s' = '%s'"),
}
