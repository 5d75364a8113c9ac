/** A server of the demo: a test server that needs no package beside toolport. */
import { openTestServer } from "../testing/create-test-server.js";
import type { TestServer, TestServerDefinition } from "../testing/index.js";

export const createDemoServer = (definition: TestServerDefinition): TestServer =>
  openTestServer(definition, () => import("./server-sdk.js"));
