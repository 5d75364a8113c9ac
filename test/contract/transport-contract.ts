/** The contract suite of every `ServerTransport`. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { ToolportError } from "../../packages/base/src/errors/toolport-error.js";
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  type ServerTransport,
} from "../../packages/core/src/transports/server-transport.js";
import { takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { Dialogue } from "./dialogue.js";

const MIB = 1024 * 1024;

/** A transport that is not started yet, and its peer. */
export interface ContractSubject {
  readonly transport: ServerTransport;
  /** Kills the peer. */
  vanish(): void | Promise<void>;
  /** Releases everything that was created for this subject, the peer included. */
  cleanup(): Promise<void>;
}

/** How a transport differs from a connection between two processes. */
export interface ContractTraits {
  /** Every request has its own connection: a dead peer is noticed at the next request. @default false */
  readonly connectionless?: boolean;
  /** The peer runs in this process, so that memory cannot be measured separately. @default false */
  readonly inProcess?: boolean;
}

/** Runs the contract on one transport. */
export function describeTransport(
  name: string,
  make: (limits: { maxMessageBytes: number }) => Promise<ContractSubject>,
  traits: ContractTraits = {},
): void {
  describe(`the ${name} transport`, () => {
    const subjects: ContractSubject[] = [];
    afterEach(async () => {
      for (const subject of subjects.splice(0)) {
        await subject.transport.close();
        await subject.cleanup();
      }
    });

    async function subjectOf(): Promise<ContractSubject> {
      const subject = await make({ maxMessageBytes: DEFAULT_MAX_MESSAGE_BYTES });
      subjects.push(subject);
      return subject;
    }
    const dialogue = async () => new Dialogue((await subjectOf()).transport);
    const opened = async () => (await dialogue()).open();

    it("carries a request and its answer", async () => {
      const talk = await opened();
      expect(await talk.request("ping")).toEqual({});
      expect(talk.errors).toEqual([]);
    });

    it("keeps the order of messages before an answer", async () => {
      const talk = await opened();
      await talk.request("test/burst", { count: 200 });
      expect(talk.notifications.map((message) => "params" in message && message.params?.index)).toEqual(
        Array.from({ length: 200 }, (_, index) => index),
      );
    });

    it("carries 1,000 interleaved requests", async () => {
      const talk = await opened();
      const numbers = Array.from({ length: 1_000 }, (_, index) => index);
      const answers = await Promise.all(numbers.map((index) => talk.request("test/echo", { index })));
      expect(answers.map(({ index }) => index)).toEqual(numbers);
    });

    it("carries every character", async () => {
      const talk = await opened();
      const text =
        "\u0000\t\n\r\u0085\u2028\u2029 é ß 漢字 עברית 👩‍👩‍👧‍👦 \ufeff \u200b \ud800 data: id: \\n";
      expect(await talk.request("test/echo", { text })).toEqual({ text });
    });

    it("carries 1 MiB both ways", async () => {
      const talk = await opened();
      const text = "0123456789abcdeé".repeat(MIB / 16);
      expect((await talk.request("test/echo", { text })).text).toBe(text);
    });

    it("carries an answer just under the size limit", async () => {
      const talk = await opened();
      const bytes = DEFAULT_MAX_MESSAGE_BYTES - 1_024;
      expect(((await talk.request("test/text", { bytes })).text as string).length).toBe(bytes);
    });

    it("closes once, however often close() is called, and sends nothing afterwards", async () => {
      const talk = await opened();
      await Promise.all([talk.transport.close(), talk.transport.close()]);
      await talk.transport.close();
      expect(talk.closes).toBe(1);
      expect(talk.transport.closeError).toBeUndefined();
      const error = await talk.request("ping").catch((caught: unknown) => caught);
      expect(ToolportError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ outcome: "unsent" });
    });

    it("can be closed before and during its start", async () => {
      const idle = await dialogue();
      await idle.transport.close();
      expect(idle.closes).toBeLessThanOrEqual(1);

      const talk = await dialogue();
      const starting = talk.transport.start().catch((error: unknown) => error);
      await talk.transport.close();
      const outcome = await starting;
      if (outcome !== undefined) expect(ToolportError.isInstance(outcome)).toBe(true);
      expect(talk.closes).toBeLessThanOrEqual(1);
      await expect(talk.request("ping")).rejects.toMatchObject({ outcome: "unsent" });
    });

    it("notices that the peer died", async () => {
      const subject = await subjectOf();
      const talk = await new Dialogue(subject.transport).open();
      await subject.vanish();
      if (!traits.connectionless) {
        await talk.closed;
        expect(ToolportError.isInstance(talk.transport.closeError)).toBe(true);
        expect(talk.closes).toBe(1);
      }
      const error = await talk.request("ping").catch((caught: unknown) => caught);
      expect(ToolportError.isInstance(error)).toBe(true);
      expect((error as ToolportError).retryable).toBe(true);
    });

    it("does not buffer an answer of 64 MB", async () => {
      const talk = await opened();
      const peak = watchMemory();
      talk.request("test/text", { bytes: 64_000_000 }).catch(() => {});
      expect(await talk.tooLarge).toBe("MESSAGE_TOO_LARGE");
      const grown = peak.stop();
      if (!traits.inProcess) expect(grown / MIB).toBeLessThan(48);
      if (talk.closes === 0) expect(await talk.request("ping")).toEqual({});
    });

    it("leaves nothing behind", async () => {
      // The first transport of a kind may start something that stays for the life of the process.
      const warm = await opened();
      await warm.transport.close();
      await Promise.all(subjects.splice(0).map((subject) => subject.cleanup()));

      const before = takeLeakSnapshot();
      const talk = await opened();
      await talk.request("test/echo", { index: 1 });
      await talk.transport.close();
      await Promise.all(subjects.splice(0).map((subject) => subject.cleanup()));
      await waitForNoLeaks(before);
    });
  });
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Watches the growth of memory from now on. */
function watchMemory() {
  const used = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const start = used();
  // Garbage does not count: Node 24 and later collect it much later than earlier versions.
  const held = () => {
    if (used() - start > 24 * MIB) collectGarbage();
    return used();
  };
  let peak = start;
  const timer = setInterval(() => {
    peak = Math.max(peak, held());
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.max(peak, held()) - start;
    },
  };
}
