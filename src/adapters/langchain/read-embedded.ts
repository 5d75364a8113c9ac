/** Reads a resource that a tool's answer only names, from the server that named it and from nowhere else. */
import type { ContentBlock } from "../../execution/tool-result.js";
import type { Toolport } from "../../toolport.js";
import { utf8Length } from "../../util/utf8-length.js";

interface EmbeddedResource {
  readonly server: string;
  readonly uri: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly context: unknown;
}

/** Its contents as embedded resources; undefined if they cannot be read or are over the cap. Rejects only on abort. */
export async function readEmbedded(
  toolport: Toolport,
  { server, uri, maxBytes, signal, context }: EmbeddedResource,
): Promise<ContentBlock[] | undefined> {
  try {
    const contents = await toolport.readResource(server, uri, { ...(signal && { signal }), context });
    const bytes = contents.reduce((sum, { text, blob }) => sum + sizeOf(text, blob), 0);
    return bytes > maxBytes ? undefined : contents.map((resource) => ({ type: "resource", resource }));
  } catch {
    // The tool has answered; a resource that is missing costs only itself.
    signal?.throwIfAborted();
    return undefined;
  }
}

const sizeOf = (text: string | undefined, blob: string | undefined): number =>
  (text === undefined ? 0 : utf8Length(text)) + Math.floor(((blob?.length ?? 0) * 3) / 4);
