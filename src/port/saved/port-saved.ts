/** The saved state of a port, loaded only if the program has configured a store. */
import type { ExportedServer } from "../../catalog/exported-catalog.js";
import type { ListKey } from "../../catalog/server-lists.js";
import type { ServerConfig } from "../../config/server-config.js";
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

  /** The lists of a server were read. */
  keepLists(server: string, lists: () => Partial<ExportedServer>, publicKeys: readonly ListKey[]): void {
    void this.state.then((state) => state?.keepLists(server, lists, publicKeys));
  }

  /** Restores the saved lists of these servers, unless newer ones are known. */
  async restoreLists(configs: readonly ServerConfig[]): Promise<void> {
    await (await this.state)?.restoreLists(configs);
  }

  /** A user has logged in, here or in another process. */
  tokensChanged(): void {
    void this.state.then((state) => state?.tokensChanged());
  }

  /** The record of a server was written or deleted. */
  serverChanged(key: string): void {
    void this.state.then((state) => state?.serverChanged(key));
  }
}
