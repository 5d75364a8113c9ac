/** The errors that end a program, or one of its calls, at a limit. For the host and for the worker. */
import type { ProgramAnswer, ProgramEnd } from "./code-executor.js";

export type EndError = Extract<ProgramEnd, { error: unknown }>["error"];

const ended = (code: EndError["code"], message: string, name = "Error"): EndError => ({
  code,
  name,
  message,
});

export const memoryLimit = (): EndError =>
  ended("MEMORY_LIMIT", "The program needs more memory than it may use", "InternalError");

export const cpuLimit = (cpuMs: number): EndError =>
  ended("CPU_LIMIT", `The program computed for more than ${cpuMs} ms`);

export const stopped = (): EndError => ended("STOPPED", "The program was stopped");

export const crashed = (message: string): EndError => ended("CRASHED", message);

export const overloaded = (waiting: number): EndError =>
  ended("OVERLOADED", `More than ${waiting} programs wait for their turn`);

/** A program that waits for its calls keeps its thread from the programs of others. */
export const cannotLeave = (): EndError =>
  ended(
    "MEMORY_LIMIT",
    "The program holds too much data to wait for its calls while other programs wait for their turn",
  );

/** Answers come faster than the program can take them. */
export const tooManyAnswers = (): EndError =>
  ended("MEMORY_LIMIT", "The answers to calls that wait for the program have too much data together");

export const stuck = (): EndError =>
  ended("STUCK", "The program waits for a promise that nothing will resolve");

/** For a result of a call that the program cannot hold. */
export const tooLarge = (characters: number): ProgramAnswer => ({
  error: {
    name: "ToolError",
    code: "MEMORY_LIMIT",
    message: `The result of ${characters} characters does not fit into the memory of the program.`,
  },
});
