/** The door `toolport/console`: the console for a program of one's own. */
export { type ConsoleOptions, type RunningConsole, startConsole } from "./start-console.js";
