/** The URIs of resources of many servers, so that each URI leads to one server. */

import { readUri } from "../policy/resource-uri.js";

/** A resource of one server, or a template, by the URI that the server uses. */
export interface ResourceTarget {
  readonly server: string;
  readonly uri: string;
}

/** A resource that a policy decides about. */
export interface DecidedTarget extends ResourceTarget {
  /** Why the server must not get it: its URI can be read in more than one way, and no list contains it. */
  readonly problem?: string | undefined;
}

const NOT_LISTED = "its server lists no such template";

const SCHEME = "toolport:";

/**
 * A URI stays as it is while one server owns it. If two list the same, the first configured one keeps it; the other one gets
 * `toolport://<server>/<encoded URI>`, which is understood for every resource.
 */
export class ResourceNames {
  readonly #owners = new Map<string, string>();
  readonly #templateOwners = new Map<string, string>();

  constructor(
    /** All servers, in their configured order. */
    private readonly servers: readonly string[],
    private readonly resources: readonly ResourceTarget[],
    private readonly templates: readonly ResourceTarget[],
  ) {
    for (const { server, uri } of resources) if (!this.#owners.has(uri)) this.#owners.set(uri, server);
    for (const { server, uri } of templates)
      if (!this.#templateOwners.has(uri)) this.#templateOwners.set(uri, server);
  }

  /** The target as its server gets it when a policy decides: as the server lists it, else in normal form. */
  toDecided(target: ResourceTarget): DecidedTarget {
    if (this.#isListed(target)) return target;
    const { uri, problem } = readUri(target.uri);
    return { server: target.server, uri, problem };
  }

  /** Like {@link find}, with a policy. */
  findDecided(uri: string): DecidedTarget | undefined {
    const found = this.find(uri);
    if (found !== undefined && (found.uri !== uri || this.#isListed(found))) return this.toDecided(found);
    const { uri: normal, problem } = readUri(uri);
    // Another server may own the normal form.
    if (normal !== uri && problem === undefined) return this.findDecided(normal);
    return found && { ...found, problem };
  }

  /** Like {@link resolveTemplate}, with a policy. A template that no server lists counts as a URI. */
  resolveDecidedTemplate(template: string): DecidedTarget | undefined {
    const target = this.resolveTemplate(template);
    if (this.templates.some(({ server, uri }) => server === target?.server && uri === target.uri))
      return target;
    const decided = this.findDecided(template);
    const problem = decided?.problem ?? (/[{}]/.test(template) ? NOT_LISTED : undefined);
    return decided && { ...decided, problem };
  }

  /** The URI that clients see. */
  toPublic(server: string, uri: string): string {
    if (uri.startsWith(`${SCHEME}//`)) return wrap(server, uri);
    return this.find(uri)?.server === server ? uri : wrap(server, uri);
  }

  /** The template that clients see. */
  templateToPublic(server: string, template: string): string {
    const owner = this.#templateOwners.get(template);
    // Braces stay, so that clients can still expand the template.
    return owner === undefined || owner === server
      ? template
      : wrap(server, template).replaceAll("%7B", "{").replaceAll("%7D", "}");
  }

  /** The server of a template, and the template as that server lists it. */
  resolveTemplate(template: string): ResourceTarget | undefined {
    const wrapped = unwrap(template.replaceAll("{", "%7B").replaceAll("}", "%7D"), this.servers);
    if (wrapped !== undefined) return wrapped;
    const server = this.#templateOwners.get(template) ?? this.#only();
    return server === undefined ? undefined : { server, uri: template };
  }

  /** The server that a URI of a client leads to. */
  find(uri: string): ResourceTarget | undefined {
    const wrapped = unwrap(uri, this.servers);
    if (wrapped !== undefined) return wrapped;
    const owner = this.#owners.get(uri) ?? this.#only() ?? this.#byTemplate(uri);
    return owner === undefined ? undefined : { server: owner, uri };
  }

  #isListed({ server, uri }: ResourceTarget): boolean {
    // The first server that lists it is its owner, and another one may list it too.
    if (!this.#owners.has(uri) || this.#owners.get(uri) === server) return this.#owners.has(uri);
    return this.resources.some((listed) => listed.server === server && listed.uri === uri);
  }

  #only(): string | undefined {
    return this.servers.length === 1 ? this.servers[0] : undefined;
  }

  /** Undefined if the templates of several servers fit. */
  #byTemplate(uri: string): string | undefined {
    const fitting = new Set<string>();
    for (const template of this.templates)
      if (matchesTemplate(template.uri, uri)) fitting.add(template.server);
    const [server] = fitting;
    return fitting.size === 1 ? server : undefined;
  }
}

const wrap = (server: string, uri: string): string =>
  `${SCHEME}//${encodeURIComponent(server)}/${encodeURIComponent(uri)}`;

function unwrap(uri: string, servers: readonly string[]): ResourceTarget | undefined {
  if (!uri.startsWith(`${SCHEME}//`)) return undefined;
  // An expanded template may contain further slashes.
  const [server = "", ...encoded] = uri.slice(SCHEME.length + 2).split("/");
  try {
    const target = { server: decodeURIComponent(server), uri: decodeURIComponent(encoded.join("/")) };
    return servers.includes(target.server) ? target : undefined;
  } catch {
    return undefined;
  }
}

const MAX_LENGTH = 10_000;

/** A simple expression fits any text without a slash; those with an operator fit any text. */
function matchesTemplate(template: string, uri: string): boolean {
  if (template.length > MAX_LENGTH || uri.length > MAX_LENGTH) return false;
  const parts = template.split(/\{([^{}]*)\}/);
  // Without an expression, only the same text fits.
  if (parts.length === 1) return template === uri;
  const [start = ""] = parts;
  if (!uri.startsWith(start)) return false;
  let position = start.length;
  for (let index = 1; index < parts.length; index += 2) {
    const expression = parts[index]!;
    const literal = parts[index + 1]!;
    const isLast = index + 2 >= parts.length;
    const end = isLast ? uri.length - literal.length : nextIndex(uri, literal, position);
    if (end < position || !uri.startsWith(literal, end)) return false;
    if (isSimple(expression) && uri.slice(position, end).includes("/")) return false;
    position = end + literal.length;
  }
  return position === uri.length;
}

/** The next place of the literal; an empty one directly after the previous expression fits nothing more. */
const nextIndex = (uri: string, literal: string, from: number): number =>
  literal === "" ? from : uri.indexOf(literal, from);

const isSimple = (expression: string): boolean => /^[A-Za-z0-9_%]/.test(expression);
