/** Reads the `endpoint` event of a legacy HTTP+SSE stream: where messages are to be sent. */

/** It is the first event of a stream; whoever has not sent it after this much will not. */
const GIVE_UP_CHARS = 64 * 1024;

/** A function to show the stream to; it calls back with the data of the first `endpoint` event. */
export function createEndpointReader(onEndpoint: (data: string) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let text = "";
  let done = false;
  return (bytes) => {
    if (done) return;
    text += decoder.decode(bytes, { stream: true });
    const data = findEndpoint(text);
    done = data !== undefined || text.length > GIVE_UP_CHARS;
    if (done) text = "";
    if (data !== undefined) onEndpoint(data);
  };
}

function findEndpoint(text: string): string | undefined {
  let event = "";
  let data: string | undefined;
  const lines = text.split(/\r\n|\n|\r/);
  // The last piece is not a whole line yet.
  for (const line of lines.slice(0, -1)) {
    if (line === "") {
      if (event === "endpoint" && data !== undefined) return data;
      event = "";
      data = undefined;
    } else if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data = line.slice(5).replace(/^ /, "");
  }
  return undefined;
}
