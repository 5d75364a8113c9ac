/** Questions to whoever sits at the terminal. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly signal: AbortSignal;
  /** Ctrl-C while a question is open: the terminal then sends no signal by itself. */
  readonly onInterrupt: () => void;
}

/** The answer, or undefined if the input ended instead (Ctrl-D). What is secret is not shown while it is typed. */
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
    const onAbort = () => {
      lines.close();
      reject(signal.reason);
    };
    const end = (answer: string | undefined) => {
      signal.removeEventListener("abort", onAbort);
      lines.removeAllListeners("close");
      lines.close();
      if (isSecret || answer === undefined) output.write("\n");
      resolve(answer);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    lines.on("SIGINT", onInterrupt);
    lines.on("close", () => end(undefined));
    lines.question(question, end);
    isMuted = isSecret;
  });
}
