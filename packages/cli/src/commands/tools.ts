/** `toolport tools` and `find`: list, describe and search for tools. */
import { isRecord, type JsonSchema, type ToolInfo } from "@toolport/base";
import type { ToolCosts } from "@toolport/core";
import { propertiesOf, resolved } from "../call-arguments.js";
import type { CommandContext, CommandSpec, OpenedPort, RunCommand } from "../command.js";
import { flag, number, TYPED_OPTIONS } from "../command-options.js";
import { connectForList, requireTool, serversNamed } from "../connect-servers.js";
import { formatTable, wrapWords } from "../format-table.js";
import { about, cell, oneLine, plainJson, plainLine, plainText, plural } from "../plain-text.js";
import { shellWord } from "../shell-words.js";

export const toolsCommand: CommandSpec = {
  name: "tools",
  summary: "List tools, or describe one tool",
  group: "look",
  positionals: [
    {
      name: "server",
      summary: "Only this server (a name or a URL), or server.tool for one tool",
      completes: "tool",
      optional: true,
    },
  ],
  options: {
    cost: flag("Show about how many tokens each tool takes, largest first"),
    ...TYPED_OPTIONS,
  },
  takesTyped: "tool",
  examples: [
    ["toolport tools", "the tools of all servers"],
    ["toolport tools --cost", "what their definitions cost in every request to a model"],
    ["toolport tools weather.forecast", "one tool, with its arguments"],
    ["toolport tools https://example.com/mcp", "a server that is not configured"],
    ["toolport tools -- npx -y @modelcontextprotocol/server-everything", "the same for a command"],
  ],
  load: async () => (await import("./tools.js")).runTools,
};

export const findCommand: CommandSpec = {
  name: "find",
  summary: "Search for tools",
  group: "look",
  positionals: [{ name: "words", summary: "What the tool should do", rest: true }],
  options: { limit: number("<count>", "Maximum number of tools (10)", { min: 1 }) },
  examples: [["toolport find weather forecast", "the best matches come first"]],
  load: async () => (await import("./tools.js")).runFind,
};

export const runTools: RunCommand = async (context) => {
  const [word] = context.words;
  let server = word;
  const opened = await context.openPort({
    ...(word !== undefined && {
      servers: (names) => {
        const owners = serversNamed(word, names, context) ?? [word];
        [server] = owners;
        return owners;
      },
    }),
  });
  const withCost = context.flag("cost");
  if (word !== undefined && server !== word) {
    const tool = await requireTool(context, opened, { server, selector: word });
    return withCost ? printCosts([tool], opened, context, { only: tool }) : printTool(tool, context);
  }
  const { errors, exitCode } = await connectForList(context, opened, server);
  const tools = await opened.toolport.tools({
    all: true,
    signal: context.signal,
    ...(server !== undefined && { servers: [server] }),
  });
  if (withCost) await printCosts(tools, opened, context, { errors });
  else printTools(tools, context, { tools, errors }, "There are no tools");
  return exitCode;
};

const printTools = (
  tools: readonly ToolInfo[],
  context: CommandContext,
  document: object,
  none: string,
): void =>
  context.printList({
    document,
    names: tools.map((tool) => `${tool.server}.${tool.sourceName}`),
    titles: ["TOOL", "WHAT IT DOES"],
    rows: tools.map((tool) => [
      `${tool.server}.${signature(tool)}`,
      oneLine(tool.description ?? tool.title ?? "", 100),
    ]),
    none,
  });

/** Prints what the definitions of the tools cost in every request to a model, largest first. */
async function printCosts(
  tools: readonly ToolInfo[],
  opened: OpenedPort,
  context: CommandContext,
  { errors = [], only }: { errors?: readonly unknown[]; only?: ToolInfo },
): Promise<undefined> {
  const servers = [...new Set(tools.map(({ server }) => server))];
  const costs = await opened.toolport.cost({ servers, signal: context.signal });
  const listed = only === undefined ? costs.tools : costs.tools.filter(({ name }) => name === only.name);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  /** Toolport's own tools have no other name. */
  const label = ({ name, server }: ToolCosts["tools"][number]) =>
    `${server}.${byName.get(name)?.sourceName ?? name}`;
  const totalCosts = only === undefined ? costs : { estimated: costs.estimated };
  context.printList({
    document: { ...totalCosts, tools: listed, errors },
    names: listed.map(label),
    titles: ["TOOL", { title: "TOKENS", align: "right" }, "AT START", "WHAT IT DOES"],
    rows: listed.map((tool) => [
      oneLine(label(tool), 60),
      about(tool.tokens),
      tool.deferred ? "deferred" : "shown",
      oneLine(byName.get(tool.name)?.description ?? "", 60),
    ]),
    none: "There are no tools",
  });
  if (context.form === "text" && only === undefined && listed.length > 0) context.print(`\n${totals(costs)}`);
}

const totals = ({ tools, tokens, shown }: ToolCosts): string =>
  `${plural(tools.length, "tool")}, ${about(tokens)} tokens (estimated)${shown === tokens ? "" : `. A model gets ${about(shown)} at the start`}`;

function printTool(tool: ToolInfo, context: CommandContext): undefined {
  if (context.form === "json") context.printJson({ tools: [tool], errors: [] });
  else if (context.form === "raw") context.print(JSON.stringify(tool.inputSchema, undefined, 2));
  else context.printPainted(describeTool(tool, context));
}

export const runFind: RunCommand = async (context) => {
  const query = context.words.join(" ");
  const limit = context.number("limit") ?? 10;
  const opened = await context.openPort();
  const { errors, exitCode } = await connectForList(context, opened, undefined);
  const tools = await opened.toolport.searchTools(query, { limit, signal: context.signal });
  printTools(tools, context, { query, tools, errors }, "No tool matches. List all tools: toolport tools");
  return exitCode;
};

const MAX_SIGNATURE = 60;
const MIN_LIST = 12;

/** `forecast(city, days?)` */
export function signature({ sourceName, inputSchema }: ToolInfo): string {
  const words = argumentsOf(inputSchema).map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  const list = words.join(", ");
  // The arguments may be cut, but not the name: users copy it.
  return `${plainLine(sourceName)}(${oneLine(list, Math.max(MIN_LIST, MAX_SIGNATURE - sourceName.length))})`;
}

/** Escaped and coloured lines. */
export function describeTool(
  tool: ToolInfo,
  { paint, typed, columns }: Pick<CommandContext, "paint" | "typed" | "columns">,
): string[] {
  const { server, sourceName, name, title, description, inputSchema, outputSchema, annotations } = tool;
  const fields = argumentsOf(inputSchema);
  const hints = Object.entries(annotations ?? {}).filter(([key, value]) => key !== "title" && value === true);
  const example = `toolport call ${exampleOf(server, sourceName, fields)}`;
  return [
    paint("bold", cell(`${server}.${sourceName}`)),
    ...(title === undefined ? [] : [cell(title)]),
    ...(description === undefined ? [] : ["", ...paragraphs(description, columns)]),
    "",
    ...(fields.length === 0 ? ["No arguments."] : fieldTable("ARGUMENT", allFields(inputSchema), columns)),
    ...(outputSchema === undefined ? [] : ["", ...returned(outputSchema, columns)]),
    ...(hints.length === 0 ? [] : ["", `Annotations: ${cell(hints.map(([key]) => key).join(", "))}`]),
    "",
    paint("dim", `Public name: ${cell(name)}`),
    paint("dim", `Call it:     ${plainLine(typed?.commandFor(example) ?? example)}`),
  ];
}

/** Indented lines, wrapped at words. Lines that are indented already, such as code, are not wrapped. */
const paragraphs = (text: string, columns: number | undefined): string[] =>
  plainText(text)
    .trim()
    .split("\n")
    .flatMap((line) => (columns === undefined || /^\s/.test(line) ? [line] : wrapWords(line, columns - 2)))
    .map((line) => `  ${line}`);

type ArgumentInfo = ReturnType<typeof argumentsOf>[number];

function argumentsOf(schema: JsonSchema) {
  const required: unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(propertiesOf(schema)).map(([name, inner]) => {
    const own = resolved(inner, schema);
    return {
      name,
      isRequired: required.includes(name),
      type: typeName(own),
      description: typeof own["description"] === "string" ? own["description"] : "",
    };
  });
}

const MAX_DEPTH = 4;
const MAX_ROWS = 100;

/** The fields of a schema, each followed by the fields of its objects: `user.name`, `items[].id`. */
function allFields(root: JsonSchema): ArgumentInfo[] {
  const rows: ArgumentInfo[] = [];
  const add = (schema: JsonSchema, prefix: string, depth: number) => {
    const inner = propertiesOf(schema);
    const own = argumentsOf({ ...root, ...schema, properties: inner, required: schema["required"] });
    for (const info of own) {
      if (rows.length >= MAX_ROWS) return;
      const name = `${prefix}${info.name}`;
      rows.push({ ...info, name });
      const fields = fieldsOf(inner[info.name], root);
      if (fields !== undefined && depth < MAX_DEPTH) add(fields.schema, `${name}${fields.mark}`, depth + 1);
    }
  };
  add(root, "", 0);
  return rows;
}

/** The object schema of a property or of its items, also where null is allowed. */
function fieldsOf(schema: unknown, root: JsonSchema): { schema: JsonSchema; mark: string } | undefined {
  const own = resolved(schema, root);
  if (isRecord(own["properties"])) return { schema: own, mark: "." };
  if (own["items"] !== undefined) {
    const items = resolved(own["items"], root);
    return isRecord(items["properties"]) ? { schema: items, mark: "[]." } : undefined;
  }
  const branches = [own["anyOf"], own["oneOf"]].find(Array.isArray) as unknown[] | undefined;
  return branches?.map((branch) => fieldsOf(branch, {})).find((fields) => fields !== undefined);
}

function typeName(schema: Record<string, unknown>): string {
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => JSON.stringify(value)).join(" | ");
  if (Object.hasOwn(schema, "const")) return JSON.stringify(schema["const"]);
  const branches = [schema["anyOf"], schema["oneOf"]].find(Array.isArray) as unknown[] | undefined;
  if (branches !== undefined)
    return [...new Set(branches.map((branch) => typeName(isRecord(branch) ? branch : {})))].join(" | ");
  const { type, items } = schema;
  if (type === "array") return `${isRecord(items) ? typeName(items) : "any"}[]`;
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}

/** The structured content of a result. */
function returned(schema: JsonSchema, width: number | undefined): string[] {
  const fields = allFields(schema);
  return fields.length === 0 ? ["Returns", `  ${plainJson(schema)}`] : fieldTable("RETURNS", fields, width);
}

function fieldTable(first: string, fields: readonly ArgumentInfo[], width: number | undefined): string[] {
  const rows = fields.map(({ name, isRequired, type, description }) => [
    cell(name),
    oneLine(type, 40),
    isRequired ? "yes" : "",
    oneLine(description, 100),
  ]);
  const columns = [first, "TYPE", "REQUIRED", "MEANING"].map((title) => ({ title }));
  return formatTable(columns, rows, width);
}

function exampleOf(server: string, tool: string, fields: readonly ArgumentInfo[]): string {
  const words = fields
    .filter(({ isRequired }) => isRequired)
    .map(({ name, type }) => `${shellWord(name)}${/\[\]$|object|any/.test(type) ? ":" : ""}=…`);
  return [shellWord(`${server}.${tool}`), ...words].join(" ");
}
