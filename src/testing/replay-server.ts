/** Plays a recording back as a server, in this process and without a network. */
import type { CustomServerEntry } from "../config/server-entry.js";
import { createLinkedTransports } from "../transports/memory/linked-transports.js";
import { type Recording, readRecording } from "./recording.js";
import { ReplayConnection } from "./replay-connection.js";
import { ScriptBook } from "./replay-scripts.js";

/** Options of {@link replayServer}. */
export interface ReplayOptions {
  /** 1 takes as long as the real server took, 2 half of that; 0 does not wait at all. @default 0 */
  speed?: number;
}

/**
 * An entry for `mcpServers` that answers as the recorded server did, in the protocol era it was recorded in.
 *
 * A request is known by its method and its parameters, in whatever order requests come. One that was recorded several times is
 * answered in that order, and then as the last time; every connection starts anew. What was not recorded is answered with a
 * JSON-RPC error that says so.
 *
 * @param recording the file, or what {@link readRecording} returned
 * @example
 * ```ts
 * await using toolport = createToolport({ mcpServers: { web: replayServer("weather.ndjson") } });
 * await toolport.callTool("web__forecast", { city: "Oslo" }); // as recorded
 * ```
 * @see {@link recordServer}
 */
export function replayServer(
  recording: string | URL | Recording,
  options: ReplayOptions = {},
): CustomServerEntry {
  const { speed = 0 } = options;
  let book: Promise<ScriptBook> | undefined;
  const open = async () =>
    new ScriptBook(isRecording(recording) ? recording : await readRecording(recording));
  return {
    transport: async () => {
      book ??= open();
      // A file that is not there yet may be there at the next attempt.
      const scripts = await book.catch((error: unknown) => {
        book = undefined;
        throw error;
      });
      const [client, server] = createLinkedTransports();
      new ReplayConnection(scripts, server, speed);
      await server.start();
      return client;
    },
  };
}

const isRecording = (value: string | URL | Recording): value is Recording =>
  typeof value === "object" && "messages" in value;
