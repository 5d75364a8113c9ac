/** Writes a TypeScript file with the types of tools, and a function that calls them by these types. */
import type { ToolInfo } from "../../model/tool-info.js";
import { comment } from "./comment.js";
import { literal, memberName, NameSet, propertyName, typeName } from "./identifiers.js";
import { createTypeWriter, indent } from "./schema-to-type.js";

interface TypedTool {
  readonly tool: ToolInfo;
  readonly member: string;
  readonly input: string;
  readonly output: string;
  /** Every argument may be left out, and so may all of them. */
  readonly isOptional: boolean;
  readonly declarations: readonly string[];
}

const HEAD = "/** Typed tools, written by `toolport types`. Run it again instead of changing this file. */";

/** Names that the file itself uses. */
const OWN_NAMES = [
  "CallToolOptions",
  "Toolport",
  "ToolResult",
  "Tools",
  "Promise",
  "Record",
  "Array",
  "Pick",
];

/**
 * The text of the file.
 *
 * @example
 * ```ts
 * import { createTools } from "./tools.js";
 *
 * const { weather } = createTools(toolport);
 * const { structuredContent } = await weather.forecast({ city: "Oslo" });
 * ```
 */
export function generateClient(tools: readonly ToolInfo[]): string {
  const names = new NameSet(OWN_NAMES);
  const servers = [...new Set(tools.map(({ server }) => server))].sort();
  const members = new NameSet();
  const groups = servers.map((server) => {
    const own = new NameSet();
    return {
      server,
      member: members.take(memberName(server)),
      tools: tools
        .filter((tool) => tool.server === server)
        .sort((a, b) => (a.sourceName < b.sourceName ? -1 : 1))
        .map((tool) => typeTool(tool, names, own)),
    };
  });
  const declarations = groups.flatMap(({ tools: typed }) => typed.flatMap((tool) => tool.declarations));
  const interfaces = groups.map(({ server, member, tools: typed }) =>
    [
      `/** Tools of ${literal(server).replaceAll("*/", "*\\/")}. */`,
      `readonly ${propertyName(member)}: {`,
      indent(typed.map(methodType).join("\n")),
      "};",
    ].join("\n"),
  );
  const bodies = groups.map(({ member, tools: typed }) =>
    [`${propertyName(member)}: {`, indent(typed.map(methodBody).join("\n")), "},"].join("\n"),
  );
  return [
    HEAD,
    `import type { ${groups.length === 0 ? "Toolport" : "CallToolOptions, Toolport, ToolResult"} } from "toolport";\n`,
    ...declarations.map((text) => `${text}\n`),
    `/** All tools, by server. */\nexport interface Tools {\n${indent(interfaces.join("\n"))}\n}\n`,
    "/** Calls tools by their types. Every call is one of the port's: retries, fallback and checks included. */",
    `export function createTools(${groups.length === 0 ? "_toolport" : "toolport"}: Pick<Toolport, "callTool">): Tools {`,
    `  return {\n${indent(indent(bodies.join("\n")))}\n  };\n}\n`,
  ].join("\n");
}

function typeTool(tool: ToolInfo, names: NameSet, members: NameSet): TypedTool {
  const { server, sourceName, inputSchema, outputSchema } = tool;
  const stem = typeName(server, sourceName);
  const input = names.take(`${stem}Input`);
  const inputs = createTypeWriter(inputSchema, input, names);
  const inputType = inputs.write(inputSchema);
  const declarations = [
    `export type ${input} = ${isObjectType(inputType) ? inputType : "Record<string, unknown>"};`,
  ];
  let output = "unknown";
  let outputs: readonly string[] = [];
  if (outputSchema !== undefined) {
    output = names.take(`${stem}Output`);
    const writer = createTypeWriter(outputSchema, output, names);
    declarations.push(`export type ${output} = ${writer.write(outputSchema)};`);
    outputs = writer.declarations;
  }
  const { required } = inputSchema;
  return {
    tool,
    member: members.take(memberName(sourceName)),
    input,
    output,
    isOptional:
      !(Array.isArray(required) && required.length > 0) &&
      !["allOf", "anyOf", "oneOf", "$ref"].some((key) => key in inputSchema),
    declarations: [...inputs.declarations, ...outputs, ...declarations],
  };
}

/** Arguments are an object, whatever the schema forgets to say. */
const isObjectType = (type: string): boolean => type !== "unknown" && type !== "never";

function methodType({ tool, member, input, output, isOptional }: TypedTool): string {
  const args = `args${isOptional ? "?" : ""}: ${input}`;
  return [
    ...comment(tool.description ?? tool.title),
    `${propertyName(member)}(${args}, options?: CallToolOptions): Promise<ToolResult<${output}>>;`,
  ].join("\n");
}

const methodBody = ({ tool, member }: TypedTool): string =>
  `${propertyName(member)}: (args, options) => toolport.callTool(${literal(tool.name)}, { ...args }, options),`;
