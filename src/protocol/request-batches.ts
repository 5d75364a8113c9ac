/** Requests that a transport writes together: they fail together. */
import type { ToolportError } from "../errors/toolport-error.js";

export class RequestBatches {
  readonly #fail: (id: string, error: ToolportError) => void;
  #current: { readonly sent: Promise<void>; readonly ids: string[] } | undefined;

  constructor(fail: (id: string, error: ToolportError) => void) {
    this.#fail = fail;
  }

  /** @param sent the same promise for all requests that are written together */
  add(sent: Promise<void>, id: string): void {
    if (this.#current?.sent === sent) this.#current.ids.push(id);
    else this.#begin(sent, id);
  }

  #begin(sent: Promise<void>, id: string): void {
    const batch = { sent, ids: [id] };
    this.#current = batch;
    const done = (error?: ToolportError): void => {
      if (this.#current === batch) this.#current = undefined;
      if (error !== undefined) for (const each of batch.ids) this.#fail(each, error);
    };
    sent.then(() => done(), done);
  }
}
