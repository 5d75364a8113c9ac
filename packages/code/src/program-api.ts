/**
 * The names of the tools in programs, `tools.<server>.<tool>`, the way back to the tools, and their declarations for a model in as few
 * tokens as possible: TypeScript with one line a tool.
 */

import { cutText, type JsonSchema, pushTo, sanitiseText, type ToolInfo } from "@toolport/base";
import { createTypeWriter, memberName, NameSet, type TypeStyle, wordsOf } from "@toolport/schemas/internal";

/** A tool and its name in programs. */
interface ProgramTool {
  readonly tool: ToolInfo;
  readonly member: string;
}

/** The tools of one server in programs. */
interface ProgramServer {
  /** Configured name of the server. */
  readonly server: string;
  readonly member: string;
  readonly tools: readonly ProgramTool[];
}

/** The object `tools` of programs. */
export interface ProgramApi {
  readonly servers: readonly ProgramServer[];
  /** The members of `tools`: for each server, the names of its functions. */
  readonly members: Readonly<Record<string, readonly string[]>>;
  /** The tool behind `tools[server][tool]`; undefined if there is none. */
  toolOf(server: string, tool: string): ToolInfo | undefined;
  /** The tool with this public name; undefined if there is none. */
  toolNamed(name: string): ToolInfo | undefined;
}

/** Names that would make an object special in JavaScript: awaited, serialised or converted in another way. */
const SPECIAL = new Set(
  (
    "then toJSON toString toLocaleString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable " +
    "call apply bind arguments caller length name"
  ).split(" "),
);

/** Longer names are cut. */
const MAX_NAME = 64;

/**
 * Names all tools. The names depend on the set of tools only, not on their order: `get-sum` becomes `getSum`, and if two tools want the same
 * name, the one that already has it keeps it.
 *
 * @example
 * ```ts
 * const api = createProgramApi(await toolport.tools({ all: true }));
 * api.members; // { github: ["createIssue", "listIssues"] }
 * api.toolOf("github", "createIssue")?.name; // "github__create_issue"
 * ```
 */
export function createProgramApi(tools: readonly ToolInfo[]): ProgramApi {
  const byServer = new Map<string, ToolInfo[]>();
  for (const tool of tools) pushTo(byServer, tool.server, tool);
  const members = nameAll([...byServer.keys()], (server) => server);
  const servers = [...byServer].sort(inOrder(([server]) => server)).map(([server, own]): ProgramServer => {
    const names = nameAll(own, ({ sourceName }) => sourceName);
    const named = own.map((tool) => ({ tool, member: names.get(tool)! }));
    return { server, member: members.get(server)!, tools: named.sort(inOrder(({ member }) => member)) };
  });
  const index = new Map(
    servers.map(({ member, tools: own }) => [member, new Map(own.map((each) => [each.member, each.tool]))]),
  );
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    servers,
    members: Object.fromEntries(
      servers.map(({ member, tools: own }) => [member, own.map((each) => each.member)]),
    ),
    toolOf: (server, tool) => index.get(server)?.get(tool),
    toolNamed: (name) => byName.get(name),
  };
}

/** Unique names. Those that need no change come first, so that another tool cannot take them away. */
function nameAll<Item>(items: readonly Item[], textOf: (item: Item) => string): Map<Item, string> {
  const names = new NameSet();
  const wanted = items.map((item) => ({ item, text: textOf(item), name: nameOf(textOf(item)) }));
  const sorted = wanted.sort(inOrder(({ text, name }) => `${text === name ? 0 : 1}${text}`));
  return new Map(sorted.map(({ item, name }) => [item, names.take(name)]));
}

function nameOf(text: string): string {
  const name = memberName(text).slice(0, MAX_NAME);
  return SPECIAL.has(name) ? `${name}_` : name;
}

const inOrder =
  <Item>(textOf: (item: Item) => string) =>
  (a: Item, b: Item): number => {
    const [first, second] = [textOf(a), textOf(b)];
    return first < second ? -1 : first > second ? 1 : 0;
  };

interface DeclarationOptions {
  /** Descriptions of tools and parameters. @default true */
  readonly comments?: boolean | undefined;
  /** Only these tools, with the names that they have among all. @default all */
  readonly only?: ReadonlySet<ToolInfo> | undefined;
}

const MAX_COMMENT = 160;
/** Characters of a description that are read at all. */
const MAX_READ = 4 * MAX_COMMENT;
/** The parameters of a tool with a larger schema, as JSON, are declared without their descriptions. */
const MAX_SCHEMA = 10_000;
/** Characters that the parameters of one object share for their descriptions; each gets `MIN_PARAMETER` at least. */
const MAX_PARAMETERS = 800;
const MIN_PARAMETER = 60;

/** Characters of the type of a result. */
const MAX_OUTPUT = 300;
const OUTPUT_DEPTHS = [24, 5, 4, 3, 2, 1];

/** Types that a declaration must not replace. */
const GLOBAL_TYPES = (
  "Promise Record Array Object String Number Boolean Function Symbol BigInt Date RegExp Error Map Set WeakMap WeakSet Iterator " +
  "Generator ArrayBuffer DataView Proxy Intl JSON Math Atomics Event Node Element Document Request Response Headers URL Blob File " +
  "Partial Required Readonly Pick Omit Exclude Extract Parameters Awaited"
).split(" ");

/**
 * One `declare const tools`, grouped by server.
 *
 * @example
 * ```ts
 * declareTools(createProgramApi(tools));
 * // declare const tools: {
 * // github: {
 * // // Creates an issue.
 * // createIssue(args:{ repo:string, title:string, body?:string }):Promise<unknown>;
 * // };
 * // };
 * ```
 */
export function declareTools(api: Pick<ProgramApi, "servers">, options: DeclarationOptions = {}): string {
  const { comments = true, only } = options;
  const names = new NameSet(GLOBAL_TYPES);
  const types: string[] = [];
  const groups = api.servers.flatMap(({ member, tools }: ProgramServer) => {
    const own = only === undefined ? tools : tools.filter(({ tool }) => only.has(tool));
    if (own.length === 0) return [];
    const shownComments = new Set<string>();
    const lines = own.flatMap((each) => {
      const declared = declareTool(each, { names, comments: comments ? shownComments : undefined });
      types.push(...declared.types);
      const text = comments ? commentText(each.tool.description ?? each.tool.title) : "";
      return [...(text === "" ? [] : [`// ${text}`]), declared.line];
    });
    return [`${member}:{`, ...lines, "};"];
  });
  return [...types, "declare const tools:{", ...groups, "};"].join("\n");
}

function declareTool(
  { tool, member }: ProgramTool,
  { names, comments }: { names: NameSet; comments: Set<string> | undefined },
): { types: readonly string[]; line: string } {
  const { inputSchema, outputSchema } = tool;
  const isLong = JSON.stringify(inputSchema).length > MAX_SCHEMA;
  const style = createStyle(
    isLong || comments === undefined ? undefined : { shown: comments, around: member },
  );
  const input = createTypeWriter(inputSchema, { name: "", names, style });
  const args = parameter(inputSchema, input.write(inputSchema));
  if (outputSchema === undefined)
    return { types: input.declarations, line: `${member}(${args}):Promise<unknown>;` };
  const output = writeOutput(outputSchema, names);
  return {
    types: [...input.declarations, ...output.types],
    line: `${member}(${args}):Promise<${output.type}>;`,
  };
}

/** The type of a result, as deep as its share of the context allows. Requests without code mode contain no output schemas at all. */
function writeOutput(schema: JsonSchema, names: NameSet): { type: string; types: readonly string[] } {
  const write = (maxDepth: number, taken: NameSet) => {
    const writer = createTypeWriter(schema, { name: "", names: taken, style: OUTPUT_STYLE, maxDepth });
    return { type: writer.write(schema), types: writer.declarations };
  };
  const isShort = (depth: number): boolean => {
    const { type, types } = write(depth, new NameSet(GLOBAL_TYPES));
    return type.length + types.join("").length <= MAX_OUTPUT;
  };
  // Names must be taken once only, so the depth is chosen first.
  return write(OUTPUT_DEPTHS.find(isShort) ?? 0, names);
}

function parameter(schema: JsonSchema, type: string): string {
  const { required, properties } = schema;
  const isPlain = !["allOf", "anyOf", "oneOf", "$ref"].some((key) => key in schema);
  if (isPlain && Object.keys(properties ?? {}).length === 0 && !schema["additionalProperties"]) return "";
  const isOptional = isPlain && !(Array.isArray(required) && required.length > 0);
  return `args${isOptional ? "?" : ""}:${type === "unknown" || type === "never" ? "object" : type}`;
}

const OUTPUT_STYLE: TypeStyle = { ...createStyle(), anyObject: "Record<string, unknown>" };

/** Which descriptions of parameters are left out, because they say nothing new. */
interface CommentRules {
  /** Parameters of the same server that were described already, with their text. */
  readonly shown: Set<string>;
  /** Name of the tool. A description that only repeats the words of names is left out. */
  readonly around: string;
}

/** Without blanks where they cost tokens. @param rules undefined: no comments */
function createStyle(rules?: CommentRules): TypeStyle {
  return {
    anyObject: "object",
    or: "|",
    declare: (name, type) => `type ${name}=${type};`,
    object(members, isOpen) {
      const described = members.filter(({ description }) => typeof description === "string").length;
      const maxLength = Math.max(
        MIN_PARAMETER,
        Math.min(MAX_COMMENT, Math.floor(MAX_PARAMETERS / described)),
      );
      const parts = members.map(({ name, isOptional, type, description }) => {
        const text = rules === undefined ? "" : parameterComment(name, description, { ...rules, maxLength });
        return `${name}${isOptional ? "?" : ""}:${type}${text === "" ? "" : ` /* ${text} */`}`;
      });
      return `{ ${[...parts, ...(isOpen ? ["[key:string]:unknown"] : [])].join(", ")} }`;
    },
  };
}

/** The description of a parameter, without what its name, its type and earlier tools say. */
function parameterComment(
  name: string,
  description: unknown,
  { shown, around, maxLength }: CommentRules & { readonly maxLength: number },
): string {
  if (typeof description !== "string") return "";
  const whole = commentText(description, MAX_READ)
    .replace(OPTIONAL, "")
    .replace(ARTICLE, "")
    .replace(/\.$/, "");
  const isKnown = shown.has(`${name} ${whole}`);
  shown.add(`${name} ${whole}`);
  return isKnown || repeats(whole, [...wordsOf(name), ...wordsOf(around)]) ? "" : cutText(whole, maxLength);
}

/** The question mark behind the name says it. */
const OPTIONAL = /^\(?(?:optional|required)\b\)?[\s.:,-]*|[\s,]*\((?:optional|required)\)\.?$/gi;
const ARTICLE = /^(?:the|an?) /i;
/** Words that add nothing to the name of a parameter. */
const FILLERS = new Set("a an the of to for in on by is as be this that with from and".split(" "));
const stem = (word: string): string =>
  word
    .toLowerCase()
    .replace(/s$/, "")
    .replace(/^identifier$/, "id");

/** True if a text consists of these words and fillers: `The ID of the base` for `baseId`. */
function repeats(text: string, words: readonly string[]): boolean {
  const stems = new Set(words.map(stem));
  return (
    !/[^\x20-\x7e]|\d/.test(text) &&
    wordsOf(text).every((word) => FILLERS.has(word.toLowerCase()) || stems.has(stem(word)))
  );
}

/** One line that cannot end the comment around it. Servers write these texts. */
function commentText(text: unknown, length: number = MAX_COMMENT): string {
  if (typeof text !== "string") return "";
  const line = sanitiseText(text.slice(0, MAX_READ)).text.replace(/\s+/g, " ").trim();
  return cutText(line, length).replaceAll("*/", "*\\/");
}
