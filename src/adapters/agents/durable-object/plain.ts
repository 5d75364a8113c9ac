/** The base class of an agent outside workerd: it only keeps what the constructor of a Durable Object is given. */
export class DurableObjectBase {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx?: unknown, env?: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}
