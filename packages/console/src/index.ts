/** Entry point `toolport/console`: the console as part of a program. */
export { type ConsoleAnswers, createConsoleAnswers } from "./server-questions.js";
export { type ConsoleOptions, type RunningConsole, startConsole } from "./start-console.js";
