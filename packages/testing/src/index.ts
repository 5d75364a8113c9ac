/** The entry point `toolport/testing`: real MCP servers for tests, recording and replay, and an agent loop without a model. */
export {
  type AgentLoopOptions,
  type AgentModel,
  type AgentRun,
  createScriptedModel,
  runAgentLoop,
  type ScriptRule,
} from "./agent-loop.js";
export { createTestServer, type TestServer } from "./create-test-server.js";
export { type Recording, type RecordOptions, readRecording, recordServer } from "./record-server.js";
export { type ReplayOptions, replayServer } from "./replay-server.js";
export type { TestStdioServer, TestStreamServer } from "./serve-connection.js";
export type { TestHttpOptions, TestHttpServer } from "./serve-http.js";
export type {
  TestPrompt,
  TestResource,
  TestResourceTemplate,
  TestServerDefinition,
  TestTool,
  TestToolAnswer,
  TestToolContext,
} from "./test-server-definition.js";
