/** A server that cannot start, as many do: it complains on stderr and ends with exit code 1. */
console.error("broken-server: reading settings");
console.error("broken-server: the variable DEMO_TOKEN is not set, giving up");
process.exitCode = 1;
