/** A server of the demo: a test server that needs no package beside toolport. */
import { openTestServer } from "../../testing/create-test-server.js";
import type { TestServer, TestServerDefinition } from "../../testing/index.js";

export const createDemoServer = (definition: TestServerDefinition): TestServer =>
  openTestServer(definition, () => import("./server-sdk.js"));

/** Resolves with all results. If one fails, calls `close` after all have settled, and throws the first error. */
export async function allOrNone<Started extends readonly unknown[]>(
  starting: { readonly [Index in keyof Started]: Promise<Started[Index]> },
  close: () => Promise<unknown>,
): Promise<Started> {
  const settled = await Promise.allSettled(starting);
  const failed = settled.find((each) => each.status === "rejected");
  if (failed === undefined) return Promise.all(starting) as Promise<unknown> as Promise<Started>;
  await close();
  throw failed.reason;
}
