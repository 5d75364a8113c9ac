/** The entry point `toolport/testing`: real MCP servers for tests, recording and replay, and an agent loop without a model. */
export {
  type AgentAnswer,
  type AgentCall,
  type AgentLoopOptions,
  type AgentModel,
  type AgentRun,
  type AgentState,
  type AgentStep,
  type AgentTurn,
  runAgentLoop,
} from "./agent-loop.js";
export { createTestServer, type TestServer } from "./create-test-server.js";
export { type RecordOptions, recordServer } from "./record-server.js";
export { type RecordedMessage, type Recording, type RpcMessage, readRecording } from "./recording.js";
export { type ReplayOptions, replayServer } from "./replay-server.js";
export { createScriptedModel, type ScriptRule } from "./scripted-model.js";
export type { TestHttpOptions, TestHttpServer } from "./serve-http.js";
export type { TestPortOptions, TestStreamServer } from "./serve-sse.js";
export type { TestStdioServer } from "./serve-stdio.js";
export type {
  RecordedCall,
  StandardToolSchema,
  TestCompletion,
  TestPrompt,
  TestResource,
  TestResourceAnswer,
  TestResourceTemplate,
  TestServerDefinition,
  TestServerEra,
  TestTool,
  TestToolAnswer,
  TestToolContext,
  TestToolSchema,
} from "./test-server-definition.js";
