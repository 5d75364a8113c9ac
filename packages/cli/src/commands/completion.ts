/** `toolport completion` prints the script of a shell, which calls `toolport __complete` for candidates. */

import { isRecord, type ToolInfo } from "@toolport/base";
import { createToolport, type ToolportSnapshot } from "@toolport/core";
import { propertiesOf } from "../call-arguments.js";
import type {
  CommandContext,
  CommandSpec,
  Completes,
  OptionSpec,
  OptionSpecs,
  RunCommand,
} from "../command.js";
import { GLOBAL_OPTIONS, optionOf } from "../command-options.js";
import { oneLine } from "../plain-text.js";
import { listPrograms } from "./import.js";

export const completionCommand: CommandSpec = {
  name: "completion",
  summary: "Print the completion script for a shell",
  group: "program",
  positionals: [{ name: "shell", summary: "bash, zsh or fish", choices: ["bash", "zsh", "fish"] }],
  options: {},
  examples: [
    ["source <(toolport completion bash)", "in ~/.bashrc"],
    ["source <(toolport completion zsh)", "in ~/.zshrc, after compinit"],
    ["toolport completion fish | source", "in ~/.config/fish/config.fish"],
  ],
  load: async () => (await import("./completion.js")).runCompletion,
};

export const completeCommand: CommandSpec = {
  name: "__complete",
  summary: "Candidates for the last word of a command line",
  group: "program",
  isHidden: true,
  positionals: [],
  takesCommand: true,
  options: {},
  examples: [],
  load: async () => (await import("./completion.js")).runComplete,
};

export const runCompletion: RunCommand = async (context) => {
  const { words } = context;
  const name = words[0] as CompletedShell;
  const script = SHELL_SCRIPTS[name];
  if (context.form === "json") context.printJson({ shell: name, script });
  else context.print(script.trimEnd());
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

export const runComplete: RunCommand = async (context) => {
  const { passthrough, commands } = context;
  try {
    const candidates = await completeLine(passthrough, commands, createLookUp(context));
    if (context.form === "json") context.printJson({ candidates });
    else
      for (const { value, meaning } of candidates)
        context.print(meaning === "" ? value : `${value}\t${meaning}`);
  } catch {
    // Print nothing: the user is typing a command line.
  }
};

export interface Candidate {
  readonly value: string;
  /** A short description. */
  readonly meaning: string;
}

/** Candidates without a description. */
export const plainCandidates = (values: readonly string[]): Candidate[] =>
  values.map((value) => ({ value, meaning: "" }));

/** Looks up names in the configuration files and saved lists. Called at most once per line. */
export type LookUp = (kind: Completes, words: readonly string[]) => Promise<readonly Candidate[]>;

/** @param line all words after the program's name; the last one is incomplete and may be empty */
export async function completeLine(
  line: readonly string[],
  commands: readonly CommandSpec[],
  lookUp: LookUp,
): Promise<Candidate[]> {
  const current = line.at(-1) ?? "";
  const before = line.slice(0, -1);
  // The words after `--` belong to another program.
  if (before.includes("--")) return [];
  const visible = commands.filter(({ isHidden }) => isHidden !== true);
  const { command, words, openOption } = readBefore(before, visible);
  const specs = { ...GLOBAL_OPTIONS, ...command?.options };
  const candidates = async (): Promise<readonly Candidate[]> => {
    if (openOption !== undefined) return optionValues(openOption, specs[openOption]!, lookUp, words);
    const equals = /^--([^=]+)=/.exec(current);
    if (equals !== null) {
      const spec = specs[equals[1]!];
      const values = spec === undefined ? [] : await optionValues(equals[1]!, spec, lookUp, words);
      return values.map(({ value, meaning }) => ({ value: `${equals[0]}${value}`, meaning }));
    }
    if (current.startsWith("-")) {
      const named = command?.takesNamed === true ? await lookUp("argument", words) : [];
      const flags = named.map(({ value, meaning }) => ({ value: `--${value.replace(/=.*$/, "")}`, meaning }));
      return [...optionNames(specs, before), ...flags];
    }
    if (command === undefined) return commandNames(visible);
    return positionalValues(command, words, lookUp);
  };
  return (await candidates()).filter(({ value }) => value.startsWith(current) && isTypable(value));
}

/** Names come from untrusted files. Leave out values that a shell would interpret. */
const isTypable = (value: string): boolean => /^[\w@%+=:,./-]+$/.test(value) && value.length < 200;

function readBefore(before: readonly string[], commands: readonly CommandSpec[]) {
  let command: CommandSpec | undefined;
  let openOption: string | undefined;
  const words: string[] = [];
  for (const word of before) {
    if (openOption !== undefined) {
      openOption = undefined;
      continue;
    }
    const specs: OptionSpecs = { ...GLOBAL_OPTIONS, ...command?.options };
    const option = optionOf(word, specs);
    if (option !== undefined) openOption = option[1].type === "string" ? option[0] : undefined;
    else if (word.startsWith("-") && word !== "-") continue;
    else if (command !== undefined) words.push(word);
    else {
      command = commands.find(({ name }) => name === word);
      if (command === undefined) return { command, words: [word], openOption };
    }
  }
  return { command, words, openOption };
}

async function optionValues(
  name: string,
  { choices }: OptionSpec,
  lookUp: LookUp,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  if (choices !== undefined) return plainCandidates(choices);
  if (name === "from") return Object.keys(listPrograms()).map((value) => ({ value, meaning: "its files" }));
  return name === "server" ? lookUp("server", words) : [];
}

const optionNames = (specs: OptionSpecs, before: readonly string[]): Candidate[] =>
  Object.entries(specs)
    .filter(([name, { multiple }]) => multiple === true || !before.includes(`--${name}`))
    .map(([name, { summary }]) => ({ value: `--${name}`, meaning: summary }));

const commandNames = (commands: readonly CommandSpec[]): Candidate[] => [
  ...commands.map(({ name, summary }) => ({ value: name, meaning: summary })),
  { value: "help", meaning: "Show help" },
];

async function positionalValues(
  { positionals }: CommandSpec,
  words: readonly string[],
  lookUp: LookUp,
): Promise<readonly Candidate[]> {
  const last = positionals.at(-1);
  const spec = positionals[words.length] ?? (last?.rest === true ? last : undefined);
  if (spec === undefined) return [];
  if (spec.choices !== undefined) return plainCandidates(spec.choices);
  if (spec.completes === undefined) return [];
  const candidates = await lookUp(spec.completes, words);
  // Do not offer a value twice.
  return spec.rest === true ? candidates.filter(({ value }) => !words.includes(value)) : candidates;
}

/** Values of a property that are worth offering. */
const MAX_VALUES = 12;

/**
 * `city=` for each argument that is not given yet, or `unit=metric` for each of its values if there are few. No values if one of them cannot
 * be offered: the others would look like all of them, and a single one would be filled in.
 */
export function argumentCandidates(schema: unknown, given: readonly string[]): Candidate[] {
  const properties = isRecord(schema) ? propertiesOf(schema) : {};
  const used = new Set(given.map((word) => word.replace(/:?=.*$/s, "")));
  return Object.entries(properties).flatMap(([name, property]): Candidate[] => {
    if (used.has(name)) return [];
    const { type, enum: listed, description } = isRecord(property) ? property : {};
    const values: unknown = type === "boolean" ? [true, false] : listed;
    const meaning = typeof description === "string" ? oneLine(description, MAX_MEANING) : "";
    const areOffered =
      Array.isArray(values) &&
      values.length <= MAX_VALUES &&
      values.every((value) => isTypable(String(value)));
    if (!areOffered) return [{ value: `${name}=`, meaning }];
    return values.map((value) => ({ value: `${name}=${String(value)}`, meaning }));
  });
}

/** From the configuration files, and the saved lists of their servers. Connects nothing. */
export const createLookUp =
  (context: CommandContext): LookUp =>
  async (kind, words) => {
    const written = await context.readServers();
    const servers = [...written.servers].map(([value, { source }]) => ({ value, meaning: source.kind }));
    if (kind === "server") return servers;
    const { mcpServers } = (await context.loadServers(undefined, { mayAsk: false })).config;
    const { store } = await context.openStore();
    const toolport = createToolport({ mcpServers, store });
    context.onExit(() => toolport.close());
    // Waits until the saved lists are restored.
    await toolport.connect({ servers: [] });
    return candidatesOf(kind, words, { snapshot: toolport.snapshot(), servers });
  };

/** Candidates from the lists of the servers, as far as they are known. */
export function candidatesOf(
  kind: Completes,
  [first = "", ...given]: readonly string[],
  { snapshot, servers }: { snapshot: ToolportSnapshot; servers: readonly Candidate[] },
): readonly Candidate[] {
  const { tools, resources, prompts } = snapshot;
  const isOfFirst = ({ server }: { server: string }) => server === first;
  const nameOf = ({ server, sourceName }: ToolInfo) => `${server}.${sourceName}`;
  switch (kind) {
    case "server":
      return servers;
    case "tool": {
      const unknown = servers.filter(({ value }) => tools.every(({ server }) => server !== value));
      const rest = unknown.map(({ value, meaning }) => ({ value: `${value}.`, meaning }));
      return [...tools.map((tool) => ({ value: nameOf(tool), meaning: meaningOf(tool) })), ...rest];
    }
    case "argument": {
      const tool = tools.find((each) => nameOf(each) === first || each.name === first);
      return argumentCandidates(tool?.inputSchema, given);
    }
    case "resource":
      return resources.filter(isOfFirst).map((info) => ({ value: info.uri, meaning: meaningOf(info) }));
    case "prompt":
      return prompts.filter(isOfFirst).map((info) => ({ value: info.name, meaning: meaningOf(info) }));
  }
}

const MAX_MEANING = 60;

const meaningOf = ({ title, description }: { title?: string; description?: string }): string =>
  oneLine(title ?? description ?? "", MAX_MEANING);
