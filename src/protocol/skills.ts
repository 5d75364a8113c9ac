/**
 * Skills of one server, by the SDK's own reader, which checks every file against what the server's list says of it.
 *
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
import type * as SkillsModule from "@modelcontextprotocol/client/ext/skills";
import { CatalogError } from "../errors/catalog-error.js";
import { toToolportError } from "../errors/to-toolport-error.js";
import { ToolCallError } from "../errors/tool-call-error.js";
import { timerMs } from "../util/timers.js";
import type { Session } from "./session.js";

export type SkillEntry = SkillsModule.Skill;
export type SkillListing = SkillsModule.SkillListing;
export type SkillFile = SkillsModule.SkillFile;

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
const NOT_FOUND: readonly number[] = [-32002, -32602];

export interface SkillLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

let loading: Promise<typeof SkillsModule> | undefined;

function loadSkills(): Promise<typeof SkillsModule> {
  loading ??= import("@modelcontextprotocol/client/ext/skills").catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

/** What the server lists; entries that break the rules stand apart, in `invalid`. A server without skills has none. */
export async function listSkills(session: Session, limits: SkillLimits): Promise<SkillListing> {
  // The SDK would say the same, and write it to the console.
  if (!hasSkills(session)) return { skills: [], invalid: [] };
  return ask(session, limits, (client, options) => client.list({}, options));
}

/** One skill by the address of its `SKILL.md`, listed or not. */
export function getSkill(session: Session, uri: string, limits: SkillLimits): Promise<SkillEntry> {
  return ask(session, limits, async (client, options) => (await client.get(uri, options)).skill);
}

/** Reads one file of a skill, `SKILL.md` if no other is named, and checks it before it gives it back. */
export function readSkillFile(
  session: Session,
  { skill, uri }: { skill: SkillEntry; uri: string | undefined },
  limits: SkillLimits,
): Promise<SkillFile> {
  // Never from the client's own cache: it also keeps what a user had a say in.
  return ask(session, limits, (client, options) =>
    client.read(skill, uri, { ...options, cacheMode: "bypass" }),
  );
}

const hasSkills = ({ capabilities }: Session): boolean =>
  capabilities.extensions?.[SKILLS_EXTENSION] !== undefined;

async function ask<Result>(
  session: Session,
  { timeoutMs, signal }: SkillLimits,
  run: (
    client: SkillsModule.SkillsClient,
    options: { timeout: number; maxTotalTimeout: number; signal?: AbortSignal },
  ) => Promise<Result>,
): Promise<Result> {
  const { server } = session;
  if (!hasSkills(session)) throw notOffered(server);
  const [{ SkillsClient, SkillVerificationError }, client] = await Promise.all([
    loadSkills(),
    session.client(),
  ]);
  const limit = timerMs(timeoutMs);
  try {
    return await run(new SkillsClient(client, { skipInvalid: true }), {
      timeout: limit,
      maxTotalTimeout: limit,
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof SkillVerificationError) throw unverified(server, error);
    if (error instanceof TypeError) throw invalidEntry(server, error);
    const failure = toToolportError(error, { server });
    throw failure instanceof ToolCallError && NOT_FOUND.includes(failure.rpcCode ?? 0)
      ? notFound(server, failure.what, failure)
      : failure;
  }
}

function notOffered(server: string): CatalogError {
  return new CatalogError({
    code: "NOT_OFFERED",
    server,
    what: "The server has no skills",
    next: "Ask a server that offers them",
  });
}

function notFound(server: string, what: string, cause: unknown): CatalogError {
  return new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what,
    next: "Look at the files that skills(server).list() names",
    cause,
  });
}

/** What the server says is not what its list says: nothing of it may be used. */
function unverified(server: string, error: SkillsModule.SkillVerificationError): Error {
  const { reason, uri, differences } = error;
  if (reason === "unlisted") return notFound(server, `${uri} is no file of this skill`, error);
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    what: `${uri} is not what the server's list says of it (${reason})`,
    next: "Do not use this skill before you know why; list the skills again if the server has changed it",
    data: { reason, uri, differences },
    cause: error,
  });
}

function invalidEntry(server: string, cause: TypeError): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server,
    what: "This is not a skill as skills(server).list() gives them",
    next: "Give one of those, its name, or the address of its SKILL.md",
    outcome: "unsent",
    cause,
  });
}
