/** `toolport call`: calls a tool and prints the result. */
import { resolve } from "node:path";
import { AuthError, type JsonSchema, suggest, ToolCallError } from "@toolport/base";
import {
  type CallToolOptions,
  isSuspended,
  type ServerEntry,
  type Suspended,
  type ToolResult,
} from "@toolport/core";
import { parseCallExpression, readArguments, readObject } from "../call-arguments.js";
import { type CalledTool, finishCall } from "../call-result.js";
import type { CommandContext, CommandSpec, OpenedPort, RunCommand } from "../command.js";
import {
  ARGUMENTS,
  flag,
  PRINCIPAL_OPTION,
  SAVE_IMAGES,
  SUSPEND_OPTIONS,
  TYPED_OPTIONS,
  text,
} from "../command-options.js";
import { requireTool, serversNamed } from "../connect-servers.js";
import { CliError } from "../errors.js";
import { shellWord } from "../shell-words.js";
import {
  principalOf,
  readSuspend,
  requireState,
  type SuspendWish,
  showSuspended,
} from "../suspended-calls.js";

export const callCommand: CommandSpec = {
  name: "call",
  summary: "Call a tool",
  group: "use",
  positionals: [
    {
      name: "server.tool",
      summary: "The tool, its public name (server__tool), or a call: server.tool(key: value)",
      completes: "tool",
    },
    ARGUMENTS,
  ],
  options: {
    args: text("<json>", "The arguments as JSON, or - to read them from stdin"),
    ...SAVE_IMAGES,
    record: text("<file>", "Record the messages in this file, for replayServer of toolport/testing"),
    idempotent: flag("The call may run twice: send it again if its outcome is unknown"),
    ...SUSPEND_OPTIONS,
    ...PRINCIPAL_OPTION,
    ...TYPED_OPTIONS,
  },
  takesTyped: "tool",
  takesNamed: true,
  examples: [
    ["toolport call weather.forecast city=Oslo days:=3", "a string and a number"],
    ["toolport call weather.forecast --city Oslo --days 3", "the same"],
    [`toolport call 'weather.forecast(city: "Oslo", days: 3)'`, "the same"],
    ["toolport call https://example.com/mcp.search query=x", "a server that is not configured"],
    ['toolport call --stdio "npx -y pkg" search query=x', "the same for a command"],
    ['echo \'{"city":"Oslo"}\' | toolport call weather.forecast --args -', "arguments from another program"],
    ["toolport call charts.draw kind=pie --save-images .", "save the image"],
    ["toolport call travel.book to=Oslo --suspend --ttl 2d", "questions can be answered later"],
  ],
  load: async () => (await import("./call.js")).runCall,
};

export const runCall: RunCommand = async (context) => {
  const [first = "", ...words] = context.words;
  const expression = parseCallExpression(first);
  const { selector } = expression ?? { selector: first };
  const wish = readSuspend(context);
  if (wish !== undefined) requireState(await context.openStore(), context);
  const word = shellWord(first || "server.tool");
  const next = `toolport call ${word} --args '{"key":"value"}'`;
  const base = await readObject(context, "args", new CliError("--args requires a JSON object", next));
  const record = await recording(context);
  let server: string | undefined;
  const opened = await context.openPort({
    options: { ...wish?.options },
    isSpecial: wish !== undefined || record !== undefined,
    principal: principalOf(context),
    servers: (names) => {
      const owners = serversNamed(selector, names, context);
      [server] = owners ?? [];
      return owners;
    },
    changeEntry: (entry, name) => (name === server && record !== undefined ? record(entry) : entry),
  });
  const tool = await findTool(context, opened, { server, selector, wish });
  const args = readArguments(
    {
      words: [...(expression?.words ?? []), ...words],
      values: { ...base, ...expression?.values },
      positional: expression?.positional ?? [],
      named: context.named,
    },
    tool.inputSchema,
  );
  const outcome = await callTool(context, opened, { tool, args, wish }).catch((error: unknown) => {
    if (error instanceof ToolCallError && error.code === "INVALID_ARGUMENTS")
      context.info(misspeltArguments(args, tool.inputSchema), "yellow");
    throw error;
  });
  return isSuspended(outcome) ? showSuspended(outcome, context) : finishCall(outcome, tool, context);
};

/** Arguments that the tool does not have, if it has one with a similar name. Tools may accept others, so only a failed call shows them. */
function misspeltArguments(args: Readonly<Record<string, unknown>>, { properties }: JsonSchema): string[] {
  const names = Object.keys(properties ?? {}).filter((name) => !Object.hasOwn(args, name));
  return Object.keys(args).flatMap((name) => {
    const [close] = Object.hasOwn(properties ?? {}, name) ? [] : suggest(name, names, 1);
    return close === undefined ? [] : [`The tool has no argument ${name}. Did you mean ${close}?`];
  });
}

type FoundTool = CalledTool & { readonly inputSchema: JsonSchema };

/** With `--suspend`, a tool whose server needs a login is called by its name, so that the call can wait for the login. */
async function findTool(
  context: CommandContext,
  opened: OpenedPort,
  { server, selector, wish }: { server: string | undefined; selector: string; wish: SuspendWish | undefined },
): Promise<FoundTool> {
  try {
    return await requireTool(context, opened, { server, selector });
  } catch (error) {
    const isLogin = error instanceof AuthError && error.code === "AUTH_REQUIRED";
    if (wish === undefined || server === undefined || !isLogin) throw error;
    const sourceName = selector.slice(server.length).replace(/^(?:\.|__)/, "");
    return { server, sourceName, name: `${server}__${sourceName}`, inputSchema: {} };
  }
}

/** `--record`: records all messages in a file, which a test can replay without the server. */
async function recording(
  context: CommandContext,
): Promise<((entry: ServerEntry) => ServerEntry) | undefined> {
  const file = context.text("record");
  if (file === undefined) return undefined;
  const { recordServer } = await import("@toolport/testing");
  const path = resolve(context.cwd, file);
  const onError = (error: Error) => context.warn(`The recording stopped: ${error.message}`);
  return (entry) => recordServer(entry, path, { onError });
}

/** Calls the tool, and shows its progress. */
const callTool = (
  context: CommandContext,
  { toolport }: OpenedPort,
  { tool, args, wish }: { tool: CalledTool; args: Record<string, unknown>; wish: SuspendWish | undefined },
): Promise<ToolResult | Suspended> => {
  const title = `${tool.server}.${tool.sourceName}`;
  return context.progress<ToolResult | Suspended>(title, (update) => {
    const options: CallToolOptions = {
      ...context.callOptions,
      ...(context.flag("idempotent") && { idempotent: true }),
      onProgress: ({ progress: done, total, message }) => {
        const share = total === undefined ? String(done) : `${done}/${total}`;
        update([title, share, message].filter(Boolean).join(" "));
      },
    };
    return wish === undefined
      ? toolport.callTool(tool.name, args, options)
      : toolport.callTool(tool.name, args, { ...options, suspend: wish.suspend });
  });
};
