/** What other packages of this repository need of `testing`, and programs do not. */
export { openTestServer } from "./create-test-server.js";
export { listenOnLoopback } from "./serve-connection.js";
