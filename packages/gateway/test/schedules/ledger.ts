/** What happened in one schedule, and which of it must not happen. */
import { type Policy, type PolicyDocument, readPolicy } from "toolport/serve";

/** Marks of users. Everything that belongs to a user contains its mark, and nothing else does. */
export const MARKS = ["mark-alpha", "mark-bravo", "mark-charlie"] as const;

/** The rules that a schedule switches between. */
export const DOCUMENTS: readonly PolicyDocument[] = [
  { default: "allow", rules: [{ effect: "approve", tool: "guarded" }] },
  { default: "allow", rules: [{ effect: "deny", tool: "guarded" }] },
  {
    default: "allow",
    rules: [
      { effect: "deny", tool: ["act", "job"], user: MARKS[0] },
      { effect: "approve", tool: ["guarded", "ask"] },
    ],
  },
  { default: "deny", rules: [{ effect: "allow", tool: ["ask", "act"], server: ["old", "jobs"] }] },
  { default: "allow", rules: [] },
];

/** One execution of a tool at its server. */
export interface Run {
  readonly server: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A request that was sent and whose response has not been read to its end. */
interface OpenSend {
  readonly id: string;
  /** The number of policies before it. */
  readonly epoch: number;
}

let policies: readonly Policy[] = [];

/** Once, before the clock stands still. */
export async function compilePolicies(): Promise<void> {
  policies = await Promise.all(DOCUMENTS.map((document) => readPolicy(document)));
}

export class Ledger {
  /** Everything that must not happen, in words. */
  readonly violations: string[] = [];
  /** What the schedule has shown, so that a property cannot hold because nothing happens. */
  readonly seen: Map<string, number>;
  readonly #effects = new Map<string, number>();
  readonly #open = new Set<OpenSend>();
  /** Approved calls, and the number of policies before that. */
  readonly #accepted = new Map<string, number>();
  readonly #cancels = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  /** Indexes of the policies so far. */
  readonly #history: number[] = [0];

  constructor(seen: Map<string, number>) {
    this.seen = seen;
  }

  count(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  /** The policy of a gateway: always that of the last reload. */
  policy(): Policy {
    const stops = new Set<() => void>();
    return {
      decide: (request) => this.#current().decide(request),
      decideAll: (requests) => this.#current().decideAll(requests),
      onChange: (listener) => {
        this.#listeners.add(listener);
        const stop = () => void this.#listeners.delete(listener);
        stops.add(stop);
        return stop;
      },
      close() {
        for (const stop of stops) stop();
      },
    };
  }

  /** Listeners for reloads that are left. */
  get policyListeners(): number {
    return this.#listeners.size;
  }

  reload(index: number): void {
    this.#history.push(index);
    for (const listener of [...this.#listeners]) listener();
  }

  /** A call leaves its client. Returns what ends it. */
  sent(id: string): () => void {
    const send: OpenSend = { id, epoch: this.#history.length - 1 };
    this.#open.add(send);
    return () => this.#open.delete(send);
  }

  /** A person has approved the call. */
  accepted(id: string): void {
    this.#accepted.set(id, this.#history.length - 1);
  }

  /** A server begins to execute a call. */
  ran({ server, tool, args }: Run): void {
    const id = String(args["id"]);
    const sends = [...this.#open].filter((send) => send.id === id);
    if (sends.length === 0)
      return void this.violations.push(`${id} runs at ${server}/${tool} although no client waits for it`);
    const acceptedAt = this.#accepted.get(id);
    // The policy decides again after an approval.
    const since = Math.max(acceptedAt ?? 0, Math.min(...sends.map(({ epoch }) => epoch)));
    const principal = String(args["mark"]);
    const effects = this.#history.slice(since).map((index) => {
      const decision = policies[index]!.decide({ principal, method: "tools/call", server, tool, args });
      return "effect" in decision ? decision.effect : "allow";
    });
    if (effects.some((effect) => effect === "allow" || (effect === "approve" && acceptedAt !== undefined)))
      return;
    const why = effects.includes("approve") ? "without an approval" : "although the policy denies it";
    this.violations.push(`${id} runs at ${server}/${tool} ${why}`);
  }

  /** A call has had its effect. */
  effect(id: string): void {
    const times = (this.#effects.get(id) ?? 0) + 1;
    this.#effects.set(id, times);
    this.count("effects");
    if (times > 1) this.violations.push(`${id} had its effect ${times} times`);
  }

  /** A user asks to cancel a task. Returns what ends the request. */
  cancels(mark: string): () => void {
    this.#cancels.set(mark, (this.#cancels.get(mark) ?? 0) + 1);
    return () => this.#cancels.set(mark, this.#cancels.get(mark)! - 1);
  }

  /** A server cancels the task of a user. */
  cancelled(mark: string): void {
    this.count("cancelled tasks");
    if ((this.#cancels.get(mark) ?? 0) === 0)
      this.violations.push(`A task of ${mark} was cancelled by another user`);
  }

  /** A client of `mark` has received a text. */
  received(mark: string, text: string): void {
    for (const other of MARKS)
      if (other !== mark && text.includes(other))
        this.violations.push(`A client of ${mark} received ${excerpt(text, other)}`);
  }

  #current(): Policy {
    return policies[this.#history.at(-1)!]!;
  }
}

function excerpt(text: string, found: string): string {
  const at = text.indexOf(found);
  return `…${text.slice(Math.max(0, at - 200), at + found.length + 100)}…`;
}
