/** The normal form of a path that is an argument of a tool. */
import { decode, readUri, windowsAlias } from "./resource-uri.js";

/**
 * The normal form, and others that some servers read: those that decode (`%73ecret`), and those on Windows, which drops dots and spaces
 * at the end of a name, and `::$DATA`.
 *
 * @returns nothing if it is not known what servers read
 */
export function readingsOfPath(text: string): readonly string[] {
  const path = readPath(text);
  const decoded = path?.includes("%") ? readPath(decode(path)) : path;
  if (path === undefined || decoded === undefined) return [];
  // A path with a drive has only names that Windows leaves as they are.
  return decoded === "." || /^[A-Z]:/.test(decoded) ? [path, decoded] : [path, decoded, onWindows(decoded)];
}

const onWindows = (path: string): string =>
  path
    .split("/")
    .map((name) => name.replace(/:(?:[^:]*:\$\w*)?$/, "").replace(/(?<![. ])[. ]+$/, ""))
    .join("/");

/**
 * With `/` between names, without `.`, `..`, `//` and a `/` at the end; a drive of Windows is an upper-case letter. A path below the
 * working directory of the server stays relative. Links of the file system are not followed.
 *
 * @returns undefined if servers may read it in more than one way
 */
export function readPath(text: string): string | undefined {
  if (/^file:/i.test(text)) return readFileUri(text);
  if (/\p{Cc}|\p{Cs}/u.test(text) || text.trim() !== text || text.normalize("NFC") !== text) return undefined;
  // Decoded by some servers only.
  if (/%(?:2e|2f|5c|25|00)/i.test(text)) return undefined;
  // A home folder, a variable, another kind of address, a share or device of Windows.
  if (/^(?:~|\$|%[^/\\]*%|[a-z][a-z0-9+.-]+:|[\\/]{2})/i.test(text)) return undefined;
  const drive = /^[a-z]:/i.exec(text)?.[0];
  const path = text.slice(drive?.length ?? 0);
  if (drive === undefined) {
    // A backslash is a part of a name on some systems, and between names on others.
    if (path.includes("\\") && path.includes("/")) return undefined;
    return resolved(path.replaceAll("\\", "/"));
  }
  const onDrive = path.replaceAll("\\", "/");
  if (!onDrive.startsWith("/") || windowsAlias(onDrive)) return undefined;
  return `${drive.toUpperCase()}${resolved(onDrive)}`;
}

/** Also for an address that a server would take for a path, and a path for an address. */
function readFileUri(uri: string): string | undefined {
  const { decoded, problem } = readUri(uri);
  if (problem !== undefined) return undefined;
  const path = decodeURIComponent(decoded.slice("file://".length));
  return readPath(path.replace(/^\/(?=[A-Z]:)/, ""));
}

/** Undefined if it may lead out of the working directory. */
function resolved(path: string): string | undefined {
  const isAbsolute = path.startsWith("/");
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.pop() === undefined && !isAbsolute) return undefined;
  }
  return isAbsolute ? `/${names.join("/")}` : names.join("/") || ".";
}

/** Why no path has this normal form; undefined if one may have it. `*` and `?` stand for any text. */
export function problemOfPathPattern(pattern: string, ignoreCase = false): string | undefined {
  const start = /^[*?]/.test(pattern) ? "/" : "";
  const sample = start + pattern.replaceAll(/[*?]/g, "x");
  const readings = readingsOfPath(sample);
  const isSame = (read: string) =>
    read === sample || (ignoreCase && read.toLowerCase() === sample.toLowerCase());
  if (readings.length > 0 && readings.every(isSame)) return undefined;
  return "matches no path: paths are compared with / between names, decoded, without . and .., //, ~ and a / at the end";
}
