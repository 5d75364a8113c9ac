/**
 * How rules read the URI of a resource. A URI has one normal form (RFC 3986, section 6.2.2): rules decide about it, and the server
 * gets it. A URI that servers read in more than one way is refused, unless the server itself lists exactly this text.
 */
import type { PolicyRequest } from "./policy.js";

export interface ResourceUri {
  /** The normal form. */
  readonly uri: string;
  /** What a server may read that decodes everything and drops what it does not use; the same as `uri` for most. */
  readonly decoded: string;
  /** Why servers may read it in more than one way. Undefined: they all read the same. */
  readonly problem?: string | undefined;
}

/** Schemes whose host is the name of a machine. */
const NETWORK = /^(?:https?|wss?|ftp)$/;

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const ENCODED = /%[0-9a-f]{2}/gi;
/** RFC 3986: these mean the same with and without encoding. */
const UNRESERVED = /[A-Za-z0-9\-._~]/;
const NOT_IN_PATH = /%[0-9a-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/giu;
const NOT_IN_QUERY = /%[0-9a-f]{2}|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?]/giu;
const MAX_ENCODINGS = 4;

interface UriParts {
  readonly scheme: string;
  /** Undefined: the URI has no `//`. */
  readonly authority: string | undefined;
  readonly path: string;
  readonly query: string | undefined;
  readonly fragment: string | undefined;
}

/** Half of a surrogate pair. */
const HALF = /\p{Cs}/gu;

export function readUri(text: string): ResourceUri {
  const wellFormed = text.replaceAll(HALF, "\ufffd");
  const parts = split(wellFormed);
  if (parts === undefined) {
    const uri = normalise(wellFormed, NOT_IN_QUERY);
    return { uri, decoded: uri, problem: "it has no scheme" };
  }
  return { uri: normalUri(parts), decoded: decodedUri(parts), problem: problemOf(text, parts) };
}

/** The same for a template: its expressions stay as they are. */
export function readTemplate(template: string): ResourceUri {
  let mark = "expression";
  while (template.toLowerCase().includes(mark)) mark += "x";
  const expressions: string[] = [];
  const hidden = template.replaceAll(/\{[^{}]*\}/g, (expression) => {
    expressions.push(expression);
    return `${mark}${expressions.length - 1}z`;
  });
  const shown = (text: string) =>
    text.replaceAll(new RegExp(`${mark}(\\d+)z`, "g"), (_, index) => expressions[Number(index)] ?? "");
  const { uri, decoded, problem } = readUri(hidden);
  return { uri: shown(uri), decoded: shown(decoded), problem };
}

/** The requests that a policy decides about: one for each way in which a server may read the URI. The strictest decision counts. */
export function readingsOf(request: PolicyRequest): readonly PolicyRequest[] {
  if (request.uri === undefined) return [request];
  const isTemplate =
    request.method === "resources/templates/list" || request.method === "completion/complete";
  const { uri, decoded } = isTemplate ? readTemplate(request.uri) : readUri(request.uri);
  const first = uri === request.uri ? request : { ...request, uri };
  return decoded === uri ? [first] : [first, { ...request, uri: decoded }];
}

/** A pattern as URIs are compared with it; undefined if nothing is known about its beginning. `*` and `?` stand for any text. */
export function readPattern(pattern: string): Pick<ResourceUri, "uri" | "decoded"> | undefined {
  if (/^[^:]*[*?]/.test(pattern) || !pattern.includes(":")) return undefined;
  let mark = "anything";
  while (pattern.includes(mark)) mark += "x";
  const { uri, decoded } = readTemplate(pattern.replaceAll("*", `${mark}0`).replaceAll("?", `${mark}1`));
  const shown = (text: string) => text.replaceAll(`${mark}0`, "*").replaceAll(`${mark}1`, "?");
  return { uri: shown(uri), decoded: shown(decoded) };
}

function split(text: string): UriParts | undefined {
  const found = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is.exec(text);
  if (found === null) return undefined;
  const [, scheme = "", authority, path = "", query, fragment] = found;
  return { scheme: scheme.toLowerCase(), authority, path, query, fragment };
}

function normalUri({ scheme, authority, path, query, fragment }: UriParts): string {
  const normalPath = withoutDots(normalise(path, NOT_IN_PATH), authority !== undefined);
  return join({
    scheme,
    authority: normalAuthority(scheme, authority, path),
    path: scheme === "file" ? withDrive(normalPath) : normalPath,
    query: query && normalise(query, NOT_IN_QUERY),
    fragment: fragment && normalise(fragment, NOT_IN_QUERY),
  });
}

function normalAuthority(scheme: string, authority: string | undefined, path: string): string | undefined {
  // `file:/home` and `file:///home` are the same (RFC 8089).
  if (authority === undefined) return scheme === "file" && path.startsWith("/") ? "" : undefined;
  if (scheme === "file") return authority.toLowerCase() === "localhost" ? "" : authority.toLowerCase();
  if (!NETWORK.test(scheme)) return normalise(authority, NOT_IN_PATH);
  return canonicalHost(scheme, authority) ?? authority.toLowerCase();
}

/** Host and port without the port that is the default. Undefined if there are several ways to write the host. */
function canonicalHost(scheme: string, authority: string): string | undefined {
  const lower = authority.toLowerCase();
  try {
    const { host } = new URL(`${scheme}://${lower}/`);
    const isSame =
      lower === host || (lower.startsWith(`${host}:`) && /^:0*\d*$/.test(lower.slice(host.length)));
    return isSame && host !== "" && !/\.(?::|$)/.test(host) ? host : undefined;
  } catch {
    return undefined;
  }
}

/** As a server reads it that decodes everything, treats `\` as `/`, and drops the rest. */
function decodedUri({ scheme, authority, path, query }: UriParts): string {
  const isFile = scheme === "file";
  const host = authority === undefined ? undefined : decode(authority).toLowerCase().replace(/^.*@/s, "");
  const plain = decode(path)
    .replaceAll("\\", "/")
    .replaceAll(/\/{2,}/g, "/");
  const plainPath = withoutDots(encode(plain, NOT_IN_PATH), authority !== undefined);
  const normalHost =
    host !== undefined && NETWORK.test(scheme)
      ? (canonicalHost(scheme, host.replace(/\.(?=:|$)/, "")) ?? host)
      : host && encode(host, NOT_IN_PATH);
  return join({
    scheme,
    // `note:/x` has the path of `note:///x`.
    authority:
      isFile && authority !== undefined ? "" : (normalHost ?? (path.startsWith("/") ? "" : undefined)),
    path: isFile ? withDrive(plainPath) : plainPath,
    query: isFile || query === undefined ? undefined : encode(decode(query), NOT_IN_QUERY),
    fragment: undefined,
  });
}

const join = ({ scheme, authority, path, query, fragment }: UriParts): string =>
  `${scheme}:${authority === undefined ? "" : `//${authority}`}${path}${query === undefined ? "" : `?${query}`}${fragment === undefined ? "" : `#${fragment}`}`;

/** Encodes what has to be encoded, and decodes what must not be. */
const normalise = (text: string, escaped: RegExp): string =>
  text.replaceAll(escaped, (part) => {
    if (part.length !== 3 || !part.startsWith("%")) return encodeURIComponent(part);
    const character = String.fromCharCode(Number.parseInt(part.slice(1), 16));
    return UNRESERVED.test(character) ? character : part.toUpperCase();
  });

/** Encodes a text that contains no encodings. */
const encode = (text: string, escaped: RegExp): string => normalise(text.replaceAll("%", "%25"), escaped);

/** Decodes until nothing is encoded, however often it was. */
export function decode(text: string): string {
  let decoded = text;
  for (let round = 0; round < MAX_ENCODINGS && decoded.includes("%"); round++) {
    const before = decoded;
    try {
      decoded = decodeURIComponent(before.replaceAll(/%(?![0-9a-f]{2})/gi, "%25"));
    } catch {
      // Bytes that are no UTF-8.
      decoded = before.replaceAll(ENCODED, (part) => String.fromCharCode(Number.parseInt(part.slice(1), 16)));
    }
    if (decoded === before) break;
  }
  return decoded.normalize("NFC");
}

/** RFC 3986, section 5.2.4. A path without a first slash is a text of its own, unless it follows a host. */
function withoutDots(path: string, hasAuthority: boolean): string {
  if (!path.startsWith("/")) return hasAuthority && path === "" ? "" : path;
  if (!/\/\.\.?(?:\/|$)/.test(path)) return path;
  const segments = path.slice(1).split("/");
  const left: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const isDots = segment === "." || segment === "..";
    if (segment === "..") left.pop();
    if (!isDots) left.push(segment);
    else if (index === segments.length - 1) left.push("");
  }
  return `/${left.join("/")}`;
}

/** A drive of Windows is an upper-case letter with a colon. */
const withDrive = (path: string): string =>
  path.replace(/^\/([a-z])(?::|%3A)(?=\/|$)/i, (_, letter: string) => `/${letter.toUpperCase()}:`);

function problemOf(text: string, parts: UriParts): string | undefined {
  const { scheme, authority, path, query = "", fragment } = parts;
  if (text.search(HALF) >= 0) return "it contains half a character";
  if (text.trim() !== text) return "it begins or ends with a space";
  if (text.includes("\\")) return "it contains a backslash";
  if (fragment !== undefined) return "it has a fragment (#)";
  return (
    problemOfEncoding(`${authority ?? ""}/${path}`, true) ??
    problemOfEncoding(query, false) ??
    problemOfHost(scheme, authority) ??
    problemOfPath(parts)
  );
}

function problemOfEncoding(text: string, isPath: boolean): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(text)) return "it contains % without two hexadecimal digits";
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    return "its encoded bytes are not UTF-8";
  }
  if (CONTROL.test(decoded)) return "it contains a control character";
  if (decoded.normalize("NFC") !== decoded) return "its characters are not in Unicode's composed form (NFC)";
  if (!isPath) return undefined;
  if (/%(?:2f|5c)/i.test(text)) return "it contains an encoded slash";
  if (/%25[0-9a-f]{2}/i.test(text)) return "it is encoded twice";
  const hasDots = text
    .split("/")
    .some((segment) => /[%;]/.test(segment) && /^(?:\.|%2e){1,2}(?:$|;)/i.test(segment));
  return hasDots ? "it contains an encoded . or .., or one with parameters (;)" : undefined;
}

function problemOfHost(scheme: string, authority: string | undefined): string | undefined {
  if (authority === undefined || authority === "") return NETWORK.test(scheme) ? "it has no host" : undefined;
  if (authority.includes("@") || /%40/i.test(authority)) return "it names a user before the host";
  if (scheme === "file")
    return authority.toLowerCase() === "localhost"
      ? undefined
      : "it names a host, which is no part of a path";
  if (NETWORK.test(scheme) && canonicalHost(scheme, authority) === undefined)
    return "its host can be written in another way";
  return undefined;
}

function problemOfPath({ scheme, authority, path, query }: UriParts): string | undefined {
  const isRooted = path.startsWith("/");
  if (authority === undefined && !isRooted) {
    if (scheme === "file") return "its path is relative";
    return /(?:^|\/)\.\.?(?:\/|$)/.test(normalise(path, NOT_IN_PATH))
      ? "it contains . or .. without a path"
      : undefined;
  }
  if (authority === undefined && withoutDots(path, false).startsWith("//")) return "its path begins with //";
  return scheme === "file" ? problemOfFile(path, query) : undefined;
}

function problemOfFile(path: string, query: string | undefined): string | undefined {
  if (query !== undefined) return "it has a query (?), which is no part of a path";
  if (path.includes("//")) return "its path contains //";
  const normal = withDrive(withoutDots(normalise(path, NOT_IN_PATH), true));
  if (normal.length > 1 && normal.endsWith("/")) return "its path ends with /";
  if (/^\/[a-z](?:\||%7C)/i.test(normal)) return "its drive is written with |";
  const onDrive = /^\/[A-Z]:(.*)$/s.exec(normal)?.[1];
  return onDrive !== undefined && windowsAlias(decode(onDrive)) ? WINDOWS_ALIAS : undefined;
}

const WINDOWS_ALIAS = "Windows reads it as another name";

/** Windows drops dots and spaces at the end of a name, and has short names and streams. The path has no drive. */
export const windowsAlias = (path: string): boolean =>
  /[. ](?:\/|$)|:|~\d/.test(path.replaceAll(/(^|\/)\.\.?(?=\/|$)/g, "$1"));
