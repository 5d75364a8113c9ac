/** A named pipe: a file whose writer waits until the test reads. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";

export interface NamedPipe extends AsyncDisposable {
  /** Starts to read, once. The returned function resolves with the text when it contains `end`. */
  read(): (end: string) => Promise<string>;
}

/** Creates the pipe and opens its other end. */
export function createPipe(path: string): NamedPipe {
  execFileSync("mkfifo", [path]);
  // Also open for writing, so that neither end waits for the other.
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let socket: Socket | undefined;
  return {
    read() {
      const reader = new Socket({ fd: descriptor, readable: true, writable: false });
      socket = reader;
      let text = "";
      reader.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        reader.emit("more");
      });
      return async (end) => {
        while (!text.includes(end)) await new Promise((resolve) => reader.once("more", resolve));
        return text;
      };
    },
    async [Symbol.asyncDispose]() {
      if (socket === undefined) return closeSync(descriptor);
      const reader = socket;
      await new Promise<unknown>((resolve) => reader.once("close", resolve).destroy());
    },
  };
}
