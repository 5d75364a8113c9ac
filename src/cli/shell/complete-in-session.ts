/** Completes a line of a shell from what the servers of the session offer. */
import { argumentCandidates, completeLine, type LookUp } from "../completion/complete-line.js";
import { serversIn } from "../connect-servers.js";
import { serversOf } from "../select-tool.js";
import { splitWords } from "../split-words.js";
import { type ShellSession, toCommand } from "./shell-session.js";

const CONNECT_TIMEOUT_MS = 5_000;

/** Returns the candidates for the last word of the line, and that word. A server whose name and dot were typed is connected. */
export async function completeInSession(
  session: ShellSession,
  line: string,
): Promise<[candidates: string[], replaced: string]> {
  const at = line.search(/\S*$/);
  const current = line.slice(at);
  const before = splitWords(line.slice(0, at));
  const words = toCommand([...before, current], session.commands);
  await connectNamed(session, words);
  const candidates = await completeLine(words, session.commands, lookUpIn(session));
  // A line may begin with a tool instead of a command.
  const isFirst = words.length === 1;
  const tools = isFirst ? await lookUpIn(session)("tool", []) : [];
  const values = [...candidates, ...tools]
    .map(({ value }) => value)
    .filter((value) => value.startsWith(current));
  const [only, ...others] = new Set(values);
  if (only === undefined || others.length > 0) return [only === undefined ? [] : [only, ...others], current];
  return [[/[.=]$/.test(only) ? only : `${only} `], current];
}

async function connectNamed(session: ShellSession, words: readonly string[]): Promise<void> {
  const { toolport, leftOut } = session.port;
  const [server] = words.flatMap((word) => serversOf(word)(serversIn(session.port)) ?? []);
  if (server === undefined || leftOut.has(server)) return;
  const state = toolport.snapshot().servers[server]?.state;
  if (state === "idle" || state === undefined)
    await toolport.connect({ servers: [server], timeoutMs: CONNECT_TIMEOUT_MS }).catch(() => {});
}

const lookUpIn =
  (session: ShellSession): LookUp =>
  async (kind, words) => {
    const { toolport } = session.port;
    const { tools, resources, prompts } = toolport.snapshot();
    const servers = serversIn(session.port);
    const [first] = words;
    switch (kind) {
      case "server":
        return servers.map((value) => ({ value, meaning: "" }));
      case "tool": {
        const known = tools.map(({ server, sourceName }) => `${server}.${sourceName}`);
        const unknown = servers.filter((server) => tools.every((tool) => tool.server !== server));
        return [...known, ...unknown.map((server) => `${server}.`)].map((value) => ({ value, meaning: "" }));
      }
      case "argument": {
        const tool = tools.find(
          ({ server, sourceName, name }) => `${server}.${sourceName}` === first || name === first,
        );
        return argumentCandidates(tool?.inputSchema, words.slice(1));
      }
      case "resource":
        return resources
          .filter(({ server }) => server === first)
          .map(({ uri }) => ({ value: uri, meaning: "" }));
      case "prompt":
        return prompts
          .filter(({ server }) => server === first)
          .map(({ name }) => ({ value: name, meaning: "" }));
      default:
        return [];
    }
  };
