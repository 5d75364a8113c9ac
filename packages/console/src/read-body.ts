/** Reads the JSON body of an action, limited in size, and checks its fields. */
import type { IncomingMessage } from "node:http";
import { type Fields, isRecord, parseJson } from "@toolport/base";

const MAX_BYTES = 1024 * 1024;

/** An invalid request, with its HTTP status. */
export class BadRequest extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** @throws BadRequest */
export async function readBody(request: IncomingMessage): Promise<Fields> {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") throw new BadRequest(415, "The body must be JSON");
  if (Number(request.headers["content-length"] ?? 0) > MAX_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  const body = parseJson(Buffer.concat(chunks).toString("utf8") || "{}");
  if (body === undefined) throw new BadRequest(400, "The body is not JSON");
  if (!isRecord(body)) throw new BadRequest(400, "The body is not an object");
  return body;
}

const tooLarge = () => new BadRequest(413, "The body is too large");

export function textOf(body: Fields, name: string): string {
  const value = body[name];
  if (typeof value !== "string") throw new BadRequest(400, `"${name}" is not a string`);
  return value;
}

export const optionalText = (body: Fields, name: string): string | undefined =>
  body[name] === undefined ? undefined : textOf(body, name);

/** An object; empty if it is missing. */
export function fieldsOf(body: Fields, name: string): Fields {
  const value = body[name] ?? {};
  if (!isRecord(value)) throw new BadRequest(400, `"${name}" is not an object`);
  return value;
}

/** An object whose values become strings. */
export const textsOf = (body: Fields, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(fieldsOf(body, name)).map(([key, value]) => [key, String(value)]));
