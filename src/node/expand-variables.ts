/** Puts variables into the texts of a configuration file, in every form that programs write them. */

/** The environment to look variables up in. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What stands for a variable, or why there is nothing. */
export type VariableValue =
  | { readonly value: string; readonly secret?: boolean }
  | { readonly problem: string };

/** Where the values come from. */
export interface VariableSource {
  readonly env: Environment;
  /** Words such as `workspaceFolder`. @default none */
  readonly words?: Readonly<Record<string, string>>;
  /** `$NAME` is a variable. @default false */
  readonly bare?: boolean;
  /** The content of a file, for `${file:path}`. @default not understood */
  readonly readFile?: (path: string) => Promise<VariableValue>;
  /** The answer of the user, for `${input:id}`. @default not understood */
  readonly askInput?: (id: string) => Promise<VariableValue>;
}

export interface Expansion {
  readonly text: string;
  /** What is wrong, without the text itself; empty if all is well. */
  readonly problems: readonly string[];
  /** A password went into it. */
  readonly secret: boolean;
}

const NAME = "[A-Za-z_][A-Za-z0-9_]*";

/** `${…}`, escaped by a second dollar sign; `{env:…}` and `{file:…}`; `$env:NAME`. */
const FORMS = `\\$(?<second>\\$?)\\{(?<braced>[^}]*)\\}|\\{(?<plain>(?:env|file):[^}]*)\\}|\\$env:(?<shell>${NAME})`;
const REFERENCE = new RegExp(FORMS, "g");
const REFERENCE_OR_BARE = new RegExp(`${FORMS}|\\$(?<bare>${NAME})`, "g");
const INSIDE = new RegExp(`^(?:env:)?(?<name>${NAME})(?::-(?<fallback>.*))?$`, "s");

/** Whether a text holds anything that looks like a variable. */
export const hasVariables = (text: string): boolean => text.search(REFERENCE) >= 0;

/** What one reference in a text asks for. */
export type Reference =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "input"; readonly id: string }
  | { readonly kind: "variable"; readonly name: string; readonly fallback: string | undefined };

/** What a text refers to. Pure: nothing is looked up. */
export function referencesIn(text: string, { bare = false }: { bare?: boolean } = {}): Reference[] {
  return [...text.matchAll(bare ? REFERENCE_OR_BARE : REFERENCE)].flatMap((match) => {
    const found = readReference(match);
    return typeof found === "object" ? [found] : [];
  });
}

/** The text with the default of each variable in its place, for a look at what it may become. */
export const withDefaults = (text: string): string =>
  text.replace(new RegExp(FORMS, "g"), (whole, ...rest: unknown[]) => {
    const { second, braced = "" } = rest.at(-1) as { second?: string; braced?: string };
    return (second === "$" ? undefined : INSIDE.exec(braced)?.groups?.["fallback"]) ?? whole;
  });

/** Puts braces around bare variables, which is how every file of ours understands them. */
export const withBraces = (text: string): string =>
  text.replace(REFERENCE_OR_BARE, (whole, ...rest: unknown[]) => {
    const { bare } = rest.at(-1) as { bare?: string };
    return bare === undefined ? whole : `\${${bare}}`;
  });

/**
 * Replaces the variables in one text, in one pass: what a variable holds is never looked into.
 *
 * @example
 * ```ts
 * await expandVariables("Bearer ${TOKEN}", { env: { TOKEN: "abc" } }); // { text: "Bearer abc", problems: [], … }
 * await expandVariables("${PORT:-8080}", { env: {} }); // { text: "8080", … }
 * await expandVariables("$${HOME}", { env: {} }); // { text: "${HOME}", … }
 * ```
 */
export async function expandVariables(text: string, source: VariableSource): Promise<Expansion> {
  const problems: string[] = [];
  let secret = false;
  let expanded = "";
  let end = 0;
  for (const match of text.matchAll(source.bare === true ? REFERENCE_OR_BARE : REFERENCE)) {
    const found = await lookUp(match, source);
    expanded += text.slice(end, match.index);
    end = match.index + match[0].length;
    expanded += "problem" in found ? match[0] : found.value;
    if ("problem" in found) problems.push(found.problem);
    else secret ||= found.secret === true;
  }
  return { text: expanded + text.slice(end), problems, secret };
}

/** What a match stands for; a text if it is none of the known forms. */
function readReference(match: RegExpExecArray): Reference | string {
  const { second, braced, plain, shell, bare } = match.groups ?? {};
  const inside = braced ?? plain ?? shell ?? bare ?? "";
  if (second === "$") return inside;
  const special = /^(file|input):(.*)$/s.exec(inside);
  if (special?.[1] === "file") return { kind: "file", path: special[2]! };
  if (special?.[1] === "input") return { kind: "input", id: special[2]! };
  const { name, fallback } = INSIDE.exec(inside)?.groups ?? {};
  return name === undefined ? inside : { kind: "variable", name, fallback };
}

async function lookUp(match: RegExpExecArray, source: VariableSource): Promise<VariableValue> {
  const [whole] = match;
  const { second, braced } = match.groups ?? {};
  if (second === "$") return { value: whole.slice(1) };
  if (braced !== undefined && Object.hasOwn(source.words ?? {}, braced))
    return { value: source.words![braced]! };
  const reference = readReference(match);
  if (typeof reference !== "string") {
    const { kind } = reference;
    if (kind === "variable") return fromEnvironment(reference.name, reference.fallback, source.env);
    if (kind === "file" && source.readFile) return source.readFile(reference.path);
    if (kind === "input" && source.askInput) return source.askInput(reference.id);
  }
  // Sent as plain text it would fail far from here, so what looks like a variable is reported.
  if (typeof reference !== "string" || /^[A-Za-z]+:/.test(reference)) {
    return { problem: `holds ${shown(whole)}, which is not understood; write \${NAME} or \${NAME:-default}` };
  }
  return { value: whole };
}

/** Only what is written in the file, and not too much of it. */
const shown = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

function fromEnvironment(name: string, fallback: string | undefined, env: Environment): VariableValue {
  const value = env[name];
  // As in a shell, `:-` also stands in for an empty variable.
  if (typeof value === "string" && (value !== "" || fallback === undefined)) return { value };
  if (fallback !== undefined) return { value: fallback };
  return { problem: `needs the variable ${name}, which is not set; set it, or write \${${name}:-default}` };
}
