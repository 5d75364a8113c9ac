/** What a shell has to be told so that it asks us what may come next. */

export type CompletedShell = "bash" | "zsh" | "fish";

// Candidates come one a line, with a tab before what they mean; none holds a character that a shell would interpret.
const BASH = `# toolport completion for bash: source <(toolport completion bash)
_toolport() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(toolport __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # A name that ends in a dot goes on.
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[.=] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -o default -F _toolport toolport
`;

const ZSH = `#compdef toolport
# toolport completion for zsh: source <(toolport completion zsh), after compinit
_toolport() {
  local line
  local -a found
  for line in "\${(@f)$(toolport __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then
    _describe -t toolport toolport found
  else
    _files
  fi
}
if [ "\${funcstack[1]}" = "_toolport" ]; then
  _toolport "$@"
else
  compdef _toolport toolport
fi
`;

const FISH = `# toolport completion for fish: toolport completion fish | source
function __toolport_complete
  set -l words (commandline -opc) (commandline -ct)
  toolport __complete -- $words[2..-1] 2>/dev/null
end
complete -c toolport -a '(__toolport_complete)'
`;

export const SHELL_SCRIPTS: Readonly<Record<CompletedShell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
