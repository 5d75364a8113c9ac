/** Asks one question at a terminal. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
  /** Ctrl-C while a question is open: in raw mode the terminal sends no signal. */
  readonly onInterrupt: () => void;
}

/**
 * Resolves with the answer, or with undefined if the input ends (Ctrl-D). A secret is not echoed.
 * Callers ask one question at a time: two open readline interfaces would both read and echo every key.
 *
 * @throws the signal's reason if it is aborted
 */
export function askOnTerminal(
  question: string,
  { input, output, signal, onInterrupt }: Terminal,
  { isSecret = false }: { isSecret?: boolean } = {},
): Promise<string | undefined> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    let isMuted = false;
    const echo = new Writable({
      write(chunk, _encoding, done) {
        if (!isMuted) output.write(chunk);
        done();
      },
    });
    const lines = createInterface({ input, output: echo, terminal: true, historySize: 0 });
    const close = () => lines.close();
    let answer: string | undefined;
    signal.addEventListener("abort", close, { once: true });
    lines.on("SIGINT", onInterrupt);
    // `close` fires in every case, after readline has released the input.
    lines.once("close", () => {
      signal.removeEventListener("abort", close);
      if (isSecret || answer === undefined) output.write("\n");
      if (answer === undefined && signal.aborted) reject(signal.reason);
      else resolve(answer);
    });
    lines.question(question, (text) => {
      answer = text;
      close();
    });
    isMuted = isSecret;
  });
}
