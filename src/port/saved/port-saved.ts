/** The saved state of a port, loaded only if the program has configured a store. */
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { PortCore, SavedRecords } from "../port-core.js";
import type { SavedState } from "./saved-state.js";

export class PortSaved implements SavedRecords {
  /** Settles when the state is restored; never rejects. */
  readonly restored: Promise<void>;
  isRestoring: boolean;
  /** Undefined if the code cannot be loaded: the port then works without saved state. */
  readonly state: Promise<SavedState | undefined>;

  /** @param watching settles when changes of other processes are noticed: what is read after that misses none */
  constructor(port: PortCore, parent: PortCore | undefined, watching: Promise<unknown> | undefined) {
    const { settings, warn } = port.parts;
    this.isRestoring = settings.restore !== false;
    this.state = Promise.all([import("./saved-state.js"), watching]).then(
      ([{ SavedState }]) => new SavedState(port, parent),
      (error: unknown) => {
        warn(undefined, `Saved state cannot be used: ${toToolportError(error).message}`);
        return undefined;
      },
    );
    this.restored = this.state.then(async (state) => {
      await state?.restored;
      this.isRestoring = false;
    });
  }
}
