/** Which log messages a server is asked for: once up to 2025-11-25, with every request from 2026-07-28 on. */
import type { ServerCapabilities } from "@modelcontextprotocol/client";
import type { LogLevel } from "../model/log-levels.js";
import type { Lane } from "./lane.js";

const SET_LEVEL_MS = 10_000;

/** Key of the envelope under which modern servers are told. */
export const LOG_LEVEL_META_KEY = "io.modelcontextprotocol/logLevel";

/** Tells a legacy server which messages are wanted. If it cannot be told, the messages stay away, and nothing else. */
export function setLogLevel(lane: Lane, capabilities: ServerCapabilities | undefined, level: LogLevel): void {
  if (capabilities?.logging === undefined) return;
  const limits = { timeoutMs: SET_LEVEL_MS, maxTimeoutMs: SET_LEVEL_MS };
  lane.request("logging/setLevel", { level }, limits).catch(() => {});
}
