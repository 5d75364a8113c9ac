/** `toolport completion` prints the script of a shell, which calls `toolport __complete` for candidates. */
import type { RunCommand } from "../command.js";
import { completeLine } from "../completion/complete-line.js";
import { createLookUp } from "../completion/look-up.js";
import { EXIT } from "../exit-codes.js";

export const completionCommand: RunCommand = async ({ words }, context) => {
  const name = words[0] as CompletedShell;
  const script = SHELL_SCRIPTS[name];
  if (context.form === "json") context.printJson({ shell: name, script });
  else context.print(script.trimEnd());
  return EXIT.ok;
};

type CompletedShell = "bash" | "zsh" | "fish";

// Each candidate is one line: value, tab, description. No value contains a character that a shell would interpret.
const BASH = `# toolport completion for bash: source <(toolport completion bash)
_toolport() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(toolport __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # Add no space after a value that ends in a dot or equals sign.
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

const SHELL_SCRIPTS: Readonly<Record<CompletedShell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export const completeCommand: RunCommand = async ({ passthrough, commands }, context) => {
  try {
    const candidates = await completeLine(passthrough, commands, createLookUp(context));
    if (context.form === "json") context.printJson({ candidates });
    else
      for (const { value, meaning } of candidates)
        context.print(meaning === "" ? value : `${value}\t${meaning}`);
  } catch {
    // Print nothing: the user is typing a command line.
  }
  return EXIT.ok;
};
