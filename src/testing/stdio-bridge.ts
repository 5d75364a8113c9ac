/** The program that connects the pipes of a client with a socket of the test process. */

/**
 * Passed to `node -e`, so that it works from source and from the package. It exits when the client closes stdin or the test
 * process closes the socket.
 */
export const STDIO_BRIDGE = `
const socket = require("node:net").connect(process.argv[1]);
socket.on("error", (error) => { process.exitCode = 1; console.error("test server: " + (error.code || error.message)); });
socket.on("close", () => process.stdin.destroy());
process.stdout.on("error", () => socket.destroy());
process.stdin.pipe(socket);
socket.pipe(process.stdout);
`;
