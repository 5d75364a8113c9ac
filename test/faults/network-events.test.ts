/** Odd event streams, valid and invalid: all are parsed as the specification says. */
import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { openEvents, result, type Script, type SeenRequest } from "../fixtures/servers/http-scripted.js";
import { AS_WRITTEN, bound, faultCase } from "./fault-case.js";

const CUT_MS = 2_000;
const NEL = "\u0085";
const ODD = `a${NEL}b\u2028c\u2029d\u000be`;

const answer = ({ message }: SeenRequest, text: string) =>
  JSON.stringify(result(message?.id, { content: [{ type: "text", text }] }));

async function oneByOne(response: ServerResponse, bytes: Buffer): Promise<void> {
  response.socket?.setNoDelay(true);
  for (const byte of bytes) {
    response.write(Buffer.of(byte));
    // A separate chunk on the wire, not only in this process.
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

/** How a response is written as events. */
const FORMS: Record<string, (json: string) => string> = {
  "CR only": (json) => `: hello\revent: message\rid: 1\rdata: ${json}\r\r`,
  "CR LF": (json) => `: hello\r\nevent: message\r\ndata: ${json}\r\n\r\n`,
  "all line ends at once": (json) => `: a\r: b\n: c\r\ndata: ${json}\r\n\r`,
  "byte order mark": (json) => `\ufeffdata: ${json}\n\n`,
  "byte order mark before a comment": (json) => `\ufeff: hi\n\ndata: ${json}\n\n`,
  "U+0085 and other would-be line ends inside": (json) => `data: ${json}\n\n`,
  "data over several lines": (json) => `data: ${json.slice(0, 1)}\ndata: ${json.slice(1)}\n\n`,
  "no blank after the colon": (json) => `data:${json}\n\n`,
  "unknown fields, a field without a colon, other events": (json) =>
    `x: y\ndata\n\nevent: ping\ndata: {}\n\nretry: soon\ndata: ${json}\n\n`,
  "retry without a number, id with NUL": (json) => `retry: 1e12\nid: a\0b\ndata: ${json}\n\n`,
};

for (const [form, write] of Object.entries(FORMS)) {
  for (const pieces of ["whole", "one byte a piece"] as const) {
    faultCase("N11", `${form}, ${pieces}`, async (harness) => {
      const bad: Script = (request, response) => {
        openEvents(response);
        const bytes = Buffer.from(write(answer(request, ODD)));
        return pieces === "whole" ? response.end(bytes) : oneByOne(response, bytes);
      };
      const server = harness.keep(await startFaultServer({ bad }));
      const toolport = harness.open({ it: server.entry });
      await toolport.connect();
      const { text } = await harness.within(3 * CUT_MS, toolport.callTool("it__bad"));
      expect(text).toBe(ODD);
      expect(server.asked("bad")).toBe(1);
    });
  }
}

interface Dropped {
  /** The text in the stream before it ends. */
  readonly lines: string;
}

/** A server whose response stream ends after these lines; a resume delivers the rest. */
function dropping({ lines }: Dropped) {
  let asking: SeenRequest | undefined;
  const seen = { endedAt: 0, resumedAt: 0, resumes: [] as unknown[] };
  const bad: Script = (request, response) => {
    asking = request;
    openEvents(response);
    response.end(lines, () => {
      seen.endedAt = performance.now();
    });
  };
  const listen: Script = ({ headers }, response) => {
    const token = headers["last-event-id"];
    if (token === undefined) return response.writeHead(405).end();
    seen.resumedAt = performance.now();
    seen.resumes.push(token);
    openEvents(response);
    return response.end(`data: ${answer(asking as SeenRequest, "resumed")}\n\n`);
  };
  return { bad, listen, seen };
}

faultCase("N11", "retry: 0 waits at least a tenth of a second", async (harness) => {
  const { seen, ...scripts } = dropping({ lines: "id: 7\nretry: 0\ndata:\n\n" });
  const server = harness.keep(await startFaultServer(scripts));
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  expect((await harness.within(CUT_MS, toolport.callTool("it__bad"))).text).toBe("resumed");
  expect(seen.resumes).toEqual(["7"]);
  expect(seen.resumedAt - seen.endedAt).toBeGreaterThanOrEqual(90);
});

for (const value of ["1000000000000", "99999999999999999999999"]) {
  faultCase("N11", `retry: ${value} waits a minute, without overflow`, async (harness) => {
    const { seen, ...scripts } = dropping({ lines: `id: 7\nretry: ${value}\ndata:\n\n` });
    const server = harness.keep(await startFaultServer(scripts));
    const toolport = harness.open({ it: server.entry }, { timeoutMs: bound(1_000, 70_000) });
    await toolport.connect();
    if (AS_WRITTEN) {
      expect((await toolport.callTool("it__bad")).text).toBe("resumed");
      expect(seen.resumedAt - seen.endedAt).toBeGreaterThanOrEqual(59_900);
      return;
    }
    await harness.fails(toolport.callTool("it__bad"), {
      code: "TIMEOUT",
      server: "it",
      withinMs: 1_000 + CUT_MS,
    });
    expect(seen.resumes).toEqual([]);
  });
}

faultCase("N11", "an id with NUL is ignored: the id before it counts", async (harness) => {
  const { seen, ...scripts } = dropping({ lines: "id: 7\ndata:\n\nid: 8\0\nretry: 100\ndata:\n\n" });
  const server = harness.keep(await startFaultServer(scripts));
  const toolport = harness.open({ it: server.entry });
  await toolport.connect();
  expect((await harness.within(CUT_MS, toolport.callTool("it__bad"))).text).toBe("resumed");
  expect(seen.resumes).toEqual(["7"]);
});

for (const [what, id] of [
  ["NUL only", "a\0b"],
  ["no header value", "a\u0001b\u{1f600}"],
] as const) {
  faultCase("N11", `an id that is ${what}: the cut is reported at once`, async (harness) => {
    const { seen, ...scripts } = dropping({ lines: `id: ${id}\nretry: 100\ndata:\n\n` });
    const server = harness.keep(await startFaultServer(scripts));
    const toolport = harness.open({ it: server.entry });
    await toolport.connect();
    await harness.fails(toolport.callTool("it__bad"), { code: "STREAM_CUT", server: "it", withinMs: CUT_MS });
    expect(seen.resumes).toEqual([]);
    expect((await toolport.callTool("it__fine")).text).toBe("fine");
  });
}
