/** The skills of one server: lists them without reading files, and verifies the files that it reads. */

import { CatalogError, canParseUrl, didYouMean, suggest, ToolCallError } from "@toolport/base";
import type { Session } from "../protocol/session.js";
import type { SkillEntry, SkillLimits } from "../protocol/skills.js";
import type { Port } from "./port.js";
import type { AccessOptions } from "./server-access.js";

/** Loaded with the first skill. */
const skillCode = () => import("../protocol/skills.js");
type SkillCode = Awaited<ReturnType<typeof skillCode>>;

const METHOD_NOT_FOUND = -32601;
/** Maximum number of URIs in a message. */
const MAX_SHOWN = 5;

/** One file of a skill, as the server lists it. */
export interface SkillFileInfo {
  readonly uri: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** In bytes. */
  readonly size: number;
}

/** A skill as listed. */
export interface SkillInfo {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  /** URI of its `SKILL.md`. */
  readonly uri: string;
  /** The whole front matter of its `SKILL.md`. */
  readonly frontmatter: Readonly<Record<string, unknown>>;
  /** Its files; `"dynamic"`: generated when they are read, so size and digest cannot be verified. */
  readonly files: readonly SkillFileInfo[] | "dynamic";
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A file of a skill, verified against the list of the server. */
export interface SkillContent {
  readonly uri: string;
  readonly mimeType?: string;
  readonly bytes: Uint8Array;
  readonly text?: string;
  /** Size and digest were verified; `false` only for a skill whose files are `"dynamic"`. */
  readonly verified: boolean;
  /** For `SKILL.md`: the front matter, which is the same as in the list. */
  readonly frontmatter?: Readonly<Record<string, unknown>>;
  /** For `SKILL.md`: the text after the front matter. */
  readonly body?: string;
}

/** Returned by `toolport.skills(server)`. */
export interface Skills {
  /** Lists the skills without reading files. Invalid entries are left out, with a warning. */
  list(options?: AccessOptions): Promise<SkillInfo[]>;
  /**
   * Reads one file of a skill: its `SKILL.md`, or the named file. Throws if size, digest or front matter differ from the list;
   * do not use the skill then.
   *
   * @param skill from `list()`, or its name, the URI of its `SKILL.md`, or the path of its folder (`team/tides`). Throws if
   * several skills have the name; `suggestions` contains their URIs

   * @param uri URI of a file, or its path within the skill
   */
  read(skill: SkillInfo | string, uri?: string, options?: AccessOptions): Promise<SkillContent>;
}

/**
 * The skills of one server.
 *
 * @example
 * ```ts
 * const [skill] = await toolport.skills("docs").list();
 * const { body } = await toolport.skills("docs").read(skill!);
 * ```
 */
export function createSkills(port: Port, server: string): Skills {
  const { settings, warn } = port.parts;

  async function ask<Result>(
    access: AccessOptions,
    run: (session: Session, limits: SkillLimits, code: SkillCode) => Promise<Result>,
  ): Promise<Result> {
    port.assertOpen();
    await port.restored();
    const { context: _, ...wait } = access;
    const limits = { ...wait, timeoutMs: wait.timeoutMs ?? settings.timeoutMs };
    const connection = port.pool.require(server);
    const code = await skillCode();
    return port.read(connection, (session) => run(session, limits, code), limits);
  }

  async function list(access: AccessOptions): Promise<SkillInfo[]> {
    const { skills, invalid } = await ask(access, (session, limits, code) =>
      code.listSkills(session, limits),
    );
    for (const { index, uri, reason } of invalid)
      warn(server, `The skill ${uri ?? `number ${index + 1}`} is left out: ${reason}`);
    return skills.map((skill) => toInfo(server, skill));
  }

  async function find(skill: SkillInfo | string, access: AccessOptions): Promise<SkillEntry> {
    if (typeof skill !== "string") return toEntry(skill);
    if (canParseUrl(skill)) return findByAddress(skill, access);
    const known = await list(access);
    const byName = known.filter(({ name }) => name === skill);
    const matching = byName.length > 0 ? byName : known.filter(({ uri }) => pathOf(uri) === skill);
    if (matching.length > 1) throw ambiguous(server, skill, matching);
    if (matching[0] === undefined) throw missing(server, skill, known);
    return toEntry(matching[0]);
  }

  /** Not every skill is listed, and not every server supports skills that are not listed. */
  async function findByAddress(uri: string, access: AccessOptions): Promise<SkillEntry> {
    try {
      return await ask(access, (session, limits, code) => code.getSkill(session, uri, limits));
    } catch (error) {
      if (!(error instanceof ToolCallError) || error.rpcCode !== METHOD_NOT_FOUND) throw error;
      const known = await list(access);
      const listed = known.find((skill) => skill.uri === uri);
      if (listed === undefined) throw missing(server, uri, known);
      return toEntry(listed);
    }
  }

  return {
    list: (access = {}) => list(access),
    async read(skill, uri, access = {}) {
      const entry = await find(skill, access);
      const message = { uri: uri ?? entry.uri };
      return port.observe({ kind: "resource", server, ...message, message, context: access.context }, () =>
        ask(access, (session, limits, code) => code.readSkillFile(session, { skill: entry, uri }, limits)),
      );
    },
  };
}

function toInfo(server: string, { uri, frontmatter, resources, _meta }: SkillEntry): SkillInfo {
  const { name, description } = frontmatter;
  const files =
    resources === "dynamic" ? resources : resources.map(({ uri, digest, size }) => ({ uri, digest, size }));
  return { server, name, description, uri, frontmatter, files, ...(_meta !== undefined && { _meta }) };
}

const toEntry = ({ uri, frontmatter, files }: SkillInfo): SkillEntry =>
  ({ uri, frontmatter, resources: files }) as SkillEntry;

/** Path of the skill's folder, without the scheme: `team/tides` of `skill://team/tides/SKILL.md`. */
const pathOf = (uri: string): string => uri.replace(/^[a-z][a-z\d+.-]*:\/*/i, "").replace(/\/SKILL\.md$/, "");

function ambiguous(server: string, name: string, matching: readonly SkillInfo[]): CatalogError {
  const addresses = matching.map(({ uri }) => uri);
  return new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what: `${matching.length} skills are named ${JSON.stringify(name)}`,
    next: `Give the address of one: ${addresses.slice(0, MAX_SHOWN).join(" or ")}`,
    suggestions: addresses,
  });
}

function missing(server: string, name: string, known: readonly SkillInfo[]): CatalogError {
  const suggestions = suggest(
    name,
    known.map((skill) => skill.name),
  );
  return new CatalogError({
    code: "RESOURCE_NOT_FOUND",
    server,
    what: `There is no skill named ${JSON.stringify(name)}`,
    next: didYouMean(suggestions, "See skills(server).list() for the available skills"),
    suggestions,
  });
}
