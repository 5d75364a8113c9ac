/**
 * A few lines that stand for NestJS, so that this example needs no package. With Nest, delete this file: `Injectable`, `Module`,
 * `Scope.REQUEST` and `enableShutdownHooks()` of @nestjs/common do the same.
 */
// @ts-check
"use strict";

/**
 * @typedef {{ onModuleInit?(): Promise<void>, onModuleDestroy?(): Promise<void> }} Hooks
 * @typedef {{ inject?: string[], scope?: "request", create: (...parts: any[]) => Hooks | object }} Provider
 * @typedef {{ providers: Record<string, Provider> }} Module
 */

/** Creates the providers of a module and runs their hooks.
 * @param {Module} module */
async function createApplication({ providers }) {
  /** @type {Map<string, any>} */
  const singletons = new Map();

  /**
   * @param {string} name
   * @param {Map<string, any>} known what exists already, for this request or for all
   * @returns {any}
   */
  function resolve(name, known) {
    if (known.has(name)) return known.get(name);
    const provider = providers[name];
    if (provider === undefined) throw new Error(`No provider is called ${name}`);
    const parts = (provider.inject ?? []).map((part) => resolve(part, known));
    const instance = provider.create(...parts);
    known.set(name, instance);
    return instance;
  }

  for (const [name, { scope }] of Object.entries(providers))
    if (scope !== "request") resolve(name, singletons);
  for (const instance of singletons.values()) await instance.onModuleInit?.();

  return {
    /** A provider for one request. Providers of this scope are created anew for each.
     * @param {string} name
     * @param {object} request */
    get: (name, request) => resolve(name, new Map([...singletons, ["request", request]])),
    /** Runs the hooks in reverse order: what was created last is closed first. */
    async close() {
      for (const instance of [...singletons.values()].reverse()) await instance.onModuleDestroy?.();
    },
  };
}

module.exports = { createApplication };
