/** The users of a gateway: one port for each, limits on what a user may do at once, and the end of idle users. */
import { ConfigError, sleep, TokenBucket, unrefTimer } from "@toolport/base";
import { type Port, portOf, type Users } from "@toolport/core/internal";
import { Fault, INTERNAL_ERROR } from "./faults.js";
import type { GatewayOptions } from "./gateway-options.js";
import { Waiters } from "./waiters.js";

/** One user, or the only one. */
export interface GatewayUser {
  readonly principal: string | undefined;
  readonly port: Port;
}

/** A request of a user from its arrival on, before its body is read. */
export interface Arrival {
  readonly user: GatewayUser;
  /** Set if the user has too many requests: only an answer to a question may go on, because a request of the user waits for it. */
  readonly excess: Fault | undefined;
  /** Counts bytes of the body until the end. Throws if the bodies of the user's open requests have too many. */
  takeBytes(bytes: number): void;
  /** Of the body, so far. */
  readonly bodyBytes: number;
  /** The request answers a parked call, and continues in its place. */
  takeParkedPlace(): void;
  end(): void;
}

interface UserRecord extends GatewayUser {
  active: number;
  /** Requests above `concurrency` that may be answers. */
  answers: number;
  /** Calls that wait for their client, which are active, too. */
  parked: number;
  /** Of the bodies of all open requests: what is made of them takes memory until the end. */
  bodyBytes: number;
  /** When the next large body may be parsed. */
  nextBodyAt: number;
  streams: number;
  lastUsedAt: number;
  /** When the user was moved to the end of the order. */
  movedAt: number;
  readonly bucket: TokenBucket | undefined;
  /** Answers have a rate of their own, so that the calls that wait for them can end. Created with the first one above the limit. */
  answerBucket: TokenBucket | undefined;
  /** Limit what a user writes to the store. Each is created on first use. */
  readonly writes: { -readonly [Kind in keyof typeof WRITES]?: TokenBucket };
  /** Calls of programs that wait for the end of another request. Created with the first one. */
  waiting: Waiters | undefined;
}

/** The users of a Toolport. Throws for an object that `createToolport` did not return. */
export function usersOf(toolport: object): Users {
  const users = portOf(toolport)?.users;
  if (users !== undefined) return users;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "A gateway needs the object that createToolport() returned",
    next: "Pass that object itself, not one from as(user)",
  });
}

type LimitOption = "maxUsers" | "maxStreams" | "maxStreamsPerUser" | "userIdleMs" | "concurrency";

export interface UserLimits extends Readonly<Required<Pick<GatewayOptions, LimitOption>>> {
  /** Bytes of the bodies of all open requests of one user. */
  readonly bodyBytes: number;
  readonly rateLimit: GatewayOptions["rateLimit"] | undefined;
}

/** A body of this weight does not wait for its turn. */
const SMALL_BODY = 16 * 1024;
/** Bodies with all the bytes that a user may send at once take this time: they hold the event loop for about a fifth of it. */
const ALL_BODIES_MS = 2_000;
const SWEEP_MS = 15_000;
const MAX_RETRY_MS = 3_600_000;
/** The order of the users is exact to this time. */
const MOVE_MS = 1_000;
/** What a user may write to the store, at once and per second. */
const WRITES = {
  /** Notes for other replicas: a client cancels no more requests than it may have open. */
  note: { capacity: 64, perSecond: 8 },
  /** Marks of used states of approved calls: a person approves less. */
  mark: { capacity: 500, perSecond: 5 },
  /** Characters of results that are kept for requests that repeat a state: 2 Mi at once, and as much again in ten minutes. */
  keptChars: { capacity: 2_097_152, perSecond: 3_500 },
} as const;

export class GatewayUsers {
  /** In the order of their last use. */
  readonly #users = new Map<string | undefined, UserRecord>();
  readonly #timer: ReturnType<typeof setInterval>;
  #streams = 0;

  constructor(
    private readonly source: Pick<Users, "use" | "release">,
    private readonly limits: UserLimits,
    private readonly report: (error: unknown) => void,
  ) {
    const sweepMs = Math.min(SWEEP_MS, Math.max(50, limits.userIdleMs / 2));
    this.#timer = unrefTimer(setInterval(() => this.#sweep(), sweepMs));
  }

  /**
   * Begins a request of a user. Throws if the user has too many, unless the request may be an answer: of these there may be as many
   * again.
   *
   * @param mayAnswer `"if parked"`: if a call of the user waits for its client
   */
  arrive(principal: string | undefined, mayAnswer: boolean | "if parked"): Arrival {
    const user = this.#of(principal);
    const excess = this.#excessOf(user);
    if (excess === undefined) user.active += 1;
    else {
      const isRefused = mayAnswer === "if parked" ? user.parked === 0 : !mayAnswer;
      if (isRefused || user.answers >= this.limits.concurrency) throw excess;
      user.answerBucket ??= this.#createBucket();
      if (excess.isRate && user.answerBucket?.take(1) === false) throw excess;
      user.answers += 1;
    }
    let hasPlace = excess === undefined;
    let isOpen = true;
    const arrival = {
      user,
      excess,
      bodyBytes: 0,
      takeBytes: (count: number) => {
        if (!isOpen) return;
        arrival.bodyBytes += count;
        user.bodyBytes += count;
        if (user.bodyBytes > this.limits.bodyBytes)
          throw tooMany(
            `The bodies of the open requests of one user are larger than ${this.limits.bodyBytes} bytes`,
          );
      },
      takeParkedPlace() {
        if (hasPlace) return;
        hasPlace = true;
        user.answers -= 1;
        user.active += 1;
      },
      end: () => {
        if (!isOpen) return;
        isOpen = false;
        user.bodyBytes -= arrival.bodyBytes;
        if (hasPlace) this.#leave(user);
        else user.answers -= 1;
      },
    };
    return arrival;
  }

  /** Large bodies of a user, and large arguments of its programs, hold the event loop a part of the time only: others are served in between. */
  turn(of: GatewayUser, weight: number, signal?: AbortSignal): Promise<void> | undefined {
    if (weight <= SMALL_BODY) return undefined;
    const user = of as UserRecord;
    const now = performance.now();
    const waitMs = user.nextBodyAt - now;
    user.nextBodyAt = Math.max(now, user.nextBodyAt) + (weight / this.limits.bodyBytes) * ALL_BODIES_MS;
    return waitMs > 0 ? sleep(waitMs, signal) : undefined;
  }

  /** Counts more messages of a request that has arrived. */
  charge({ user }: Arrival, messages: number): void {
    const { bucket } = user as UserRecord;
    bucket?.take(Math.min(bucket.tokens, messages));
  }

  /** The user, if there is a port for it. */
  peek(principal: string | undefined): GatewayUser | undefined {
    return this.#users.get(principal);
  }

  /** Whether the user may write so much more to the store. */
  mayWrite(principal: string | undefined, kind: keyof typeof WRITES, amount = 1): boolean {
    const { writes } = this.#of(principal);
    writes[kind] ??= new TokenBucket(WRITES[kind]);
    return writes[kind].take(amount);
  }

  #place(user: UserRecord): () => void {
    user.active += 1;
    return () => this.#leave(user);
  }

  #leave(user: UserRecord): void {
    user.active -= 1;
    user.waiting?.wake();
  }

  /** Every request counts for the rate, also one that is refused. */
  #excessOf(user: UserRecord): Excess | undefined {
    const { concurrency } = this.limits;
    if (user.bucket?.take(1) === false) {
      const seconds = Math.ceil(Math.min(user.bucket.waitMs(1), MAX_RETRY_MS) / 1_000);
      return new Excess("Too many requests of one user", true, seconds);
    }
    if (user.active < concurrency) return undefined;
    return new Excess(`More than ${concurrency} requests of one user at the same time`);
  }

  #createBucket(): TokenBucket | undefined {
    const { rateLimit } = this.limits;
    if (rateLimit === undefined) return undefined;
    const { perSecond, burst = Math.max(1, perSecond) } = rateLimit;
    return new TokenBucket({ capacity: burst, perSecond });
  }

  /** Takes one request from the rate of the user. Returns 0, or the time to wait for one. */
  takeRate(user: GatewayUser): number {
    const { bucket } = user as UserRecord;
    return bucket === undefined || bucket.take(1) ? 0 : Math.max(1, bucket.waitMs(1));
  }

  /** Counts one more request of the user. Returns a function that ends it; undefined if the user has too many. */
  tryPlace(user: GatewayUser): (() => void) | undefined {
    const record = user as UserRecord;
    return record.active < this.limits.concurrency ? this.#place(record) : undefined;
  }

  /** Resolves when a request of the user has ended; rejects on abort. */
  freed(user: GatewayUser, signal: AbortSignal): Promise<void> {
    const record = user as UserRecord;
    record.waiting ??= new Waiters();
    return record.waiting.wait(signal);
  }

  /** Lets the calls go on that wait for the end of another request. Those that find no place wait again. */
  wake(user: GatewayUser): void {
    (user as UserRecord).waiting?.wake();
  }

  /** Counts as a request, whatever the limit: a response that the user does not read, or a call that goes on. Returns a function that ends it. */
  occupy(principal: string | undefined): () => void {
    const user = this.#users.get(principal);
    return user === undefined ? () => {} : this.#place(user);
  }

  /** A call that waits for its client counts as an open request, and so does its body, without a limit. Returns a function that ends it. */
  park(user: GatewayUser, bodyBytes: number): () => void {
    const record = user as UserRecord;
    const leave = this.#place(record);
    record.parked += 1;
    record.bodyBytes += bodyBytes;
    return () => {
      record.parked -= 1;
      record.bodyBytes -= bodyBytes;
      leave();
    };
  }

  /** A request that only holds a stream does not count, until the returned function is called. */
  pause(user: GatewayUser): () => void {
    const record = user as UserRecord;
    this.#leave(record);
    return () => {
      record.active += 1;
    };
  }

  /** Counts an open stream, which keeps its user. Throws if there are too many. */
  openStream(user: GatewayUser): () => void {
    const { maxStreams, maxStreamsPerUser } = this.limits;
    const record = user as UserRecord;
    if (this.#streams >= maxStreams) throw tooMany("Too many open streams");
    if (record.streams >= maxStreamsPerUser)
      throw tooMany(`More than ${maxStreamsPerUser} open streams of one user`);
    record.streams += 1;
    this.#streams += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      record.streams -= 1;
      this.#streams -= 1;
      record.lastUsedAt = performance.now();
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #of(principal: string | undefined): UserRecord {
    const user = this.#users.get(principal);
    if (user === undefined) return this.#create(principal);
    user.lastUsedAt = performance.now();
    // Moves the user to the end of the order, not with every request: deleted places of a map live until a full collection.
    if (user.lastUsedAt - user.movedAt > MOVE_MS) {
      user.movedAt = user.lastUsedAt;
      this.#users.delete(principal);
      this.#users.set(principal, user);
    }
    return user;
  }

  #create(principal: string | undefined): UserRecord {
    if (this.#users.size >= this.limits.maxUsers && !this.#dropOldest()) throw tooMany("Too many users");
    const now = performance.now();
    const user: UserRecord = {
      principal,
      // Most users need few lists, and few clients listen.
      port: this.source.use(principal, "needed"),
      active: 0,
      answers: 0,
      parked: 0,
      bodyBytes: 0,
      nextBodyAt: 0,
      streams: 0,
      lastUsedAt: now,
      movedAt: now,
      writes: {},
      waiting: undefined,
      bucket: this.#createBucket(),
      answerBucket: undefined,
    };
    this.#users.set(principal, user);
    return user;
  }

  #dropOldest(): boolean {
    let oldest: UserRecord | undefined;
    for (const user of this.#users.values()) {
      // The users after this one were used later.
      if (oldest !== undefined && user.movedAt > oldest.lastUsedAt) break;
      if (isIdle(user) && (oldest === undefined || user.lastUsedAt < oldest.lastUsedAt)) oldest = user;
    }
    if (oldest !== undefined) this.#drop(oldest);
    return oldest !== undefined;
  }

  #sweep(): void {
    const limit = performance.now() - this.limits.userIdleMs;
    for (const user of [...this.#users.values()]) {
      if (user.lastUsedAt > limit) return;
      if (isIdle(user)) this.#drop(user);
    }
  }

  #drop({ principal }: UserRecord): void {
    this.#users.delete(principal);
    // The port of the only user belongs to the program.
    if (principal !== undefined) this.source.release(principal).catch(this.report);
  }
}

const isIdle = ({ active, answers, streams }: UserRecord): boolean =>
  active === 0 && answers === 0 && streams === 0;

/** The user has too many requests: at once, or, with `isRate`, in this time. */
class Excess extends Fault {
  constructor(
    message: string,
    readonly isRate = false,
    seconds = 1,
  ) {
    super(INTERNAL_ERROR, message, { status: 429, headers: { "retry-after": String(seconds) } });
  }
}

const tooMany = (message: string): Fault => new Excess(message);
