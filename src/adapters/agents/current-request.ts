/** The host of the request that is being answered: two requests at a time may have come to two hosts. */

interface AsyncContext<Value> {
  run<Result>(value: Value, callback: () => Result): Result;
  getStore(): Value | undefined;
}

interface HostProcess {
  getBuiltinModule?(name: string): { AsyncLocalStorage: new () => AsyncContext<string> } | undefined;
}

let context: AsyncContext<string> | undefined;
let isSought = false;

/** Node, Deno, Bun, and Workers with `nodejs_compat`. Asked for at run time: elsewhere there is no such module. */
function asyncContext(): AsyncContext<string> | undefined {
  if (isSought) return context;
  isSought = true;
  const host = (globalThis as { process?: HostProcess }).process;
  const hooks = host?.getBuiltinModule?.("node:async_hooks");
  if (hooks !== undefined) context = new hooks.AsyncLocalStorage();
  return context;
}

/** Runs something that was caused by a request to this origin. */
export function runForOrigin<Result>(origin: string, run: () => Result): Result {
  const known = asyncContext();
  return known === undefined ? run() : known.run(origin, run);
}

/** Undefined outside a request, and where the runtime cannot tell. */
export const currentOrigin = (): string | undefined => asyncContext()?.getStore();
