/**
 * Skills of one server. The SDK's reader verifies every file against the server's list.
 *
 * @see https://modelcontextprotocol.io/seps/2640-skills-extension
 */
import type * as SkillsModule from "@modelcontextprotocol/client/ext/skills";
import { CatalogError, ToolCallError, timerMs, toToolportError } from "@toolport/base";
import type { Session } from "./session.js";

export type SkillEntry = SkillsModule.Skill;
type SkillListing = SkillsModule.SkillListing;
type SkillFile = SkillsModule.SkillFile;

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
const NOT_FOUND: readonly number[] = [-32002, -32602];

export interface SkillLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** The skills that the server lists; `invalid` contains the entries that violate the specification. Empty without skills. */
export async function listSkills(session: Session, limits: SkillLimits): Promise<SkillListing> {
  // The SDK returns the same, but also writes a warning to the console.
  if (!hasSkills(session)) return { skills: [], invalid: [] };
  return useSkills(session, limits, (client, options) => client.list({}, options));
}

/** One skill by the URI of its `SKILL.md`, listed or not. */
export function getSkill(session: Session, uri: string, limits: SkillLimits): Promise<SkillEntry> {
  return useSkills(session, limits, async (client, options) => (await client.get(uri, options)).skill);
}

/** Reads and verifies one file of a skill; without a URI, its `SKILL.md`. */
export function readSkillFile(
  session: Session,
  { skill, uri }: { skill: SkillEntry; uri: string | undefined },
  limits: SkillLimits,
): Promise<SkillFile> {
  // Bypass the client's cache: it also stores results that depend on user input.
  return useSkills(session, limits, (client, options) =>
    client.read(skill, uri, { ...options, cacheMode: "bypass" }),
  );
}

const hasSkills = ({ capabilities }: Session): boolean =>
  capabilities.extensions?.[SKILLS_EXTENSION] !== undefined;

async function useSkills<Result>(
  session: Session,
  { timeoutMs, signal }: SkillLimits,
  run: (
    client: SkillsModule.SkillsClient,
    options: { timeout: number; maxTotalTimeout: number; signal?: AbortSignal },
  ) => Promise<Result>,
): Promise<Result> {
  const { server } = session;
  if (!hasSkills(session))
    throw new CatalogError({
      code: "NOT_OFFERED",
      server,
      what: "The server does not offer skills",
      next: "Use a server that offers skills",
    });
  const [{ SkillsClient, SkillVerificationError }, client] = await Promise.all([
    import("@modelcontextprotocol/client/ext/skills"),
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

function notFound(server: string, what: string, cause: unknown): CatalogError {
  return new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what,
    next: "Use a file that skills(server).list() names",
    cause,
  });
}

/** The content differs from the server's list: it must not be used. */
function unverified(server: string, error: SkillsModule.SkillVerificationError): Error {
  const { reason, uri, differences } = error;
  if (reason === "unlisted") return notFound(server, `${uri} is not a file of this skill`, error);
  return new ToolCallError({
    code: "PROTOCOL",
    server,
    what: `${uri} does not match the server's list (${reason})`,
    next: "Do not use this skill until you know why; list the skills again if the server has changed it",
    data: { reason, uri, differences },
    cause: error,
  });
}

function invalidEntry(server: string, cause: TypeError): ToolCallError {
  return new ToolCallError({
    code: "INVALID_ARGUMENTS",
    server,
    what: "The argument is not a skill from skills(server).list()",
    next: "Pass a skill from the list, its name, or the URI of its SKILL.md",
    outcome: "unsent",
    cause,
  });
}
