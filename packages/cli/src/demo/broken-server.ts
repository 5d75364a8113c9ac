/** A server that fails to start: it writes to stderr and exits with code 1. */
console.error("broken-server: reading settings");
console.error("broken-server: the variable DEMO_TOKEN is not set, giving up");
process.exitCode = 1;
