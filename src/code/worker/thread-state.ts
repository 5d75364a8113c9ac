/**
 * What a worker thread and its host share without messages: that the program must stop, and whether JavaScript runs in the thread.
 * The host ends a thread only while it is quiet: see `when-quiet.ts`.
 */

const STOP = 0;
const BUSY = 1;
/** Counts how often JavaScript began or stopped to run. */
const PULSE = 2;
/** Never changes: a parked thread waits for that. */
const PARKED = 3;

export class ThreadState {
  /** Shared memory. */
  readonly cells: Int32Array<SharedArrayBuffer>;

  constructor(cells: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(16))) {
    this.cells = cells;
  }

  /** Set by the host: the program must end. */
  get isStopRequested(): boolean {
    return Atomics.load(this.cells, STOP) === 1;
  }

  set isStopRequested(isRequested: boolean) {
    Atomics.store(this.cells, STOP, isRequested ? 1 : 0);
  }

  /** Called in the thread: JavaScript runs from here on. */
  wake(): void {
    Atomics.store(this.cells, BUSY, 1);
    Atomics.add(this.cells, PULSE, 1);
  }

  /** Called in the thread: it waits for messages, or runs the engine, which is WebAssembly, from here on. */
  rest(): void {
    Atomics.add(this.cells, PULSE, 1);
    Atomics.store(this.cells, BUSY, 0);
  }

  /** Called in the thread: sleeps until the host ends the thread. */
  park(): void {
    this.rest();
    Atomics.wait(this.cells, PARKED, 0);
  }

  /** A number that stays the same as long as no JavaScript runs. Undefined while JavaScript runs. */
  get restMark(): number | undefined {
    const mark = Atomics.load(this.cells, PULSE);
    return Atomics.load(this.cells, BUSY) === 1 ? undefined : mark;
  }
}
