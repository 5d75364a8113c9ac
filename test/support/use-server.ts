/** Servers and set-ups that live as long as the tests of a `describe`, or as one test. */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

type Closable =
  | AsyncDisposable
  | Disposable
  | { close(): unknown }
  // Nothing to close: what the tests need is not installed, and they are skipped.
  | undefined;

/** Starts it before the first test of the surrounding `describe`, and closes it after the last one. */
export function useServer<Server extends Closable>(start: () => Server | Promise<Server>) {
  const { server, open, close } = createServerSlot<Server>();
  beforeAll(() => open(start));
  afterAll(close);
  return server;
}

/** Starts another one for each test, and closes it after the test. */
export function useServerEach<Server extends Closable>(start: () => Server | Promise<Server>) {
  const { server, open, close } = createServerSlot<Server>();
  beforeEach(() => open(start));
  afterEach(close);
  return server;
}

/** `server` passes everything on to the current one, so that tests use it by its name, like a constant. */
export function createServerSlot<Server extends Closable>() {
  let current: Server | undefined;
  const server = new Proxy({} as NonNullable<Server>, {
    get(_, name) {
      const value: unknown = Reflect.get(current as object, name);
      return typeof value === "function" ? value.bind(current) : value;
    },
    set: (_, name, value) => Reflect.set(current as object, name, value),
  });
  return {
    server,
    async open(start: () => Server | Promise<Server>) {
      current = await start();
    },
    async close() {
      const last = current;
      current = undefined;
      if (last === undefined) return;
      if (Symbol.asyncDispose in last) await last[Symbol.asyncDispose]();
      else if (Symbol.dispose in last) last[Symbol.dispose]();
      else await last.close();
    },
  };
}
