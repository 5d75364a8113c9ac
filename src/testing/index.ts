/** The entry point `toolport/testing`: real MCP servers for tests, recording and replay, and an agent loop without a model. */
export * from "./agent-loop.js";
export { createTestServer, type TestServer } from "./create-test-server.js";
export {
  type RecordedMessage,
  type Recording,
  type RecordOptions,
  type RpcMessage,
  readRecording,
  recordServer,
} from "./record-server.js";
export { type ReplayOptions, replayServer } from "./replay-server.js";
export type { TestPortOptions, TestStdioServer, TestStreamServer } from "./serve-connection.js";
export type { TestHttpOptions, TestHttpServer } from "./serve-http.js";
export type * from "./test-server-definition.js";
