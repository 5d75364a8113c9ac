/** The instructions of servers, for use in a prompt. */

import { sanitiseText } from "@toolport/base";
import { scanInstructions } from "../catalog/safety/scan.js";
import type { ServerConnection, WaitOptions } from "../connection/server-connection.js";
import type { Session } from "../protocol/session.js";
import type { Port } from "./port.js";

/** Options of `instructions()`. */
export interface InstructionsOptions extends WaitOptions {
  /** Maximum length of the text, shared fairly between the servers. @default no limit */
  maxChars?: number;
  /** Only the instructions of these servers. @default all */
  servers?: readonly string[];
}

/** Marks a truncated text. */
const CUT = "…";
/** A shorter rest is left out. */
const LEAST = 16;

/** The last instructions of each server, kept while it is unreachable so that the prompt stays the same. */
const lastSaid = new WeakMap<ServerConnection, { readonly session: Session; readonly text: string }>();

export async function instructions(
  port: Port,
  { servers, maxChars = Number.POSITIVE_INFINITY, ...wait }: InstructionsOptions,
): Promise<string> {
  const connections = port.choose(servers);
  await port.ensureLists(connections, wait);
  // The lists may come from an export or a store, but instructions need a connection.
  await port.pool.connect(
    connections.filter(({ state }) => state.status === "idle"),
    wait,
  );
  if (wait.signal?.aborted) throw wait.signal.reason;
  const texts = await Promise.all(connections.map((connection) => saidBy(port, connection)));
  const said = texts.flatMap((text, index) =>
    text === "" ? [] : [{ heading: `## ${connections[index]!.name}\n\n`, text }],
  );
  const headings = new Set(said.map(({ heading }) => heading.trim()));
  const sections = said.map(({ heading, text }) => ({ heading, text: withoutHeadings(text, headings) }));
  return cutFairly(sections, maxChars).join("\n\n");
}

/** Sanitised and scanned, once for each session. */
async function saidBy({ parts }: Port, connection: ServerConnection): Promise<string> {
  const { session, name } = connection;
  const last = lastSaid.get(connection);
  if (session === undefined || last?.session === session) return last?.text ?? "";
  const { instructions: given } = session;
  const text = typeof given === "string" ? sanitiseText(given).text.trim() : "";
  const refusal = await scanInstructions(parts.settings.scan, { name }, text);
  if (refusal !== undefined) parts.warn(name, `The instructions of the server are left out: ${refusal}`);
  const said = { session, text: refusal === undefined ? text : "" };
  lastSaid.set(connection, said);
  return said.text;
}

/** Keeps a server from starting a section in the name of another one. */
const withoutHeadings = (text: string, headings: ReadonlySet<string>): string =>
  text
    .split("\n")
    .map((line) => (headings.has(line.trim()) ? `#${line.trim()}` : line))
    .join("\n");

interface Section {
  readonly heading: string;
  readonly text: string;
}

/** Short texts stay whole; long texts share the remaining length. */
function cutFairly(sections: readonly Section[], maxChars: number): string[] {
  let remaining = maxChars - 2 * Math.max(0, sections.length - 1);
  const kept = new Map<Section, string>();
  const shortestFirst = [...sections].sort((a, b) => lengthOf(a) - lengthOf(b));
  for (const [index, section] of shortestFirst.entries()) {
    const share = Math.floor(remaining / (sections.length - index));
    const whole = section.heading + section.text;
    const cut = whole.length <= share ? whole : cutTo(section, share);
    kept.set(section, cut);
    remaining -= cut.length;
  }
  return sections.flatMap((section) => kept.get(section) || []);
}

const lengthOf = ({ heading, text }: Section): number => heading.length + text.length;

function cutTo({ heading, text }: Section, share: number): string {
  const maxText = share - heading.length - CUT.length;
  if (maxText < LEAST) return "";
  // Do not split a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text[maxText - 1] ?? "") ? maxText - 1 : maxText;
  return heading + text.slice(0, end).trimEnd() + CUT;
}
