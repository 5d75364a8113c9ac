/** The faults of the comparison: id of the probe, rows of the catalogue, title and function. */
import { probes as auth } from "./probes-auth.mjs";
import * as catalog from "./probes-catalog.mjs";
import * as processes from "./probes-process.mjs";
import * as wire from "./probes-wire.mjs";

const fault = (id, rows, title, run, more = {}) => ({ id, rows, title, run, ...more });
/** Needs a client for several servers. */
const MANY = { needsMany: true };

export const FAULTS = [
  fault(
    "7.1",
    "P01",
    "stdio server killed during a call: the call fails within 1 s",
    processes.killedMidCall,
  ),
  fault("7.1b", "P01", "… and the next call with the same tool works", processes.callAfterKill),
  fault("7.2", "N01", "HTTP server loses its sessions (404): the next call works", wire.forgottenSession),
  fault("7.4b", "P07", "host killed, server ignores the end of its input: no orphan", processes.hostKilled),
  fault("7.5", "P05", "close(), server ignores end of input and SIGTERM: gone", processes.stubbornClose),
  fault("7.5b", "P06", "close(), server behind `sh -c`: whole tree gone", processes.wrapperClose),
  fault(
    "7.6",
    "R10",
    "no response to the handshake: ends within a configurable limit",
    processes.silentStart,
  ),
  fault("7.7", "C02", "64 MB result over stdio: memory bounded, next call works", wire.bigStdio),
  fault("7.7b", "C02", "64 MB result over HTTP: memory bounded, next call works", wire.bigHttp),
  fault("7.7c", "N12", "300 MB of one event without an end: cut, next call works", wire.endlessEvent),
  fault("7.8b", "X02", "one tool's schema 10,000 deep: the others work", catalog.deepSchema),
  fault("7.8c", "X04", 'one tool with `pattern: "(["`: the others work', catalog.badPattern),
  fault("7.8d", "X08", "one tool named 42: the others work", catalog.numberAsName),
  fault("7.8e", "X05", "pattern that never ends on a result: event loop free", catalog.slowPattern, {
    whenCut: "event loop held",
  }),
  fault("7.8f", "X08", "tool and property called `__proto__`: the others work", catalog.protoNames),
  fault(
    "7.9b",
    "A08, S1",
    "login page at `file:` or `ms-msdt:`: not passed to an opener",
    auth.fileLoginPage,
  ),
  fault("7.10", "A09, S10", "metadata at another private host: not fetched", auth.metadataElsewhere),
  fault("7.10c", "A07, S5", "authorization server without PKCE: rejected", auth.withoutPkce),
  fault(
    "7.10e",
    "A06, S8",
    "server names a new authorization server: gets no secret",
    auth.otherAuthorizationServer,
  ),
  fault(
    "7.10g",
    "A05, S14",
    "every token rejected: a few token requests, then an error",
    auth.everyTokenRefused,
  ),
  fault("7.11", "N09", "307 to another origin: body not sent there", wire.foreignRedirect),
  fault("7.12", "Y03, S21", "abort of a call: the server is notified", wire.abortReported),
  fault("7.13", "R07", "same cursor with every page: the list ends", catalog.sameCursor),
  fault("7.14", "Y02", "5 lists at once: 1 process", processes.fiveAtOnce, MANY),
  fault("7.15", "R10", "one of two servers broken: the other works", catalog.oneOfTwo, MANY),
  fault("7.16", "P12", '`stderr: "pipe"`, 5 MB written there: starts', processes.floodedStderr),
  fault("7.17", "N03", "response stream dropped: the call fails within 5 s", wire.droppedStream),
  fault("7.18", "N07", "503 with `Retry-After: 1`: waits, then succeeds", wire.retryAfter),
  fault("7.19", "P02", "server exits at once: the error contains exit code or stderr", processes.earlyExit),
  fault("7.20", "S30", "same tool on two servers: two names", catalog.sameNames, MANY),
  fault("7.21", "Y01", "close twice, close during a call, call after close: all settle", catalog.closings),
];
