/** The door `toolport/testing`: real MCP servers for the tests of users. */
export { createTestServer, type TestServer } from "./create-test-server.js";
export type { TestHttpOptions, TestHttpServer } from "./serve-http.js";
export type { TestPortOptions, TestStreamServer } from "./serve-sse.js";
export type { TestStdioServer } from "./serve-stdio.js";
export type {
  RecordedCall,
  StandardToolSchema,
  TestPrompt,
  TestResource,
  TestServerDefinition,
  TestServerEra,
  TestTool,
  TestToolAnswer,
  TestToolContext,
  TestToolSchema,
} from "./test-server-definition.js";
