/** The contract of every store: leases. */
import { type StoreCase, same, that, until } from "./store-subject.js";

export const leaseCases: readonly StoreCase[] = [
  {
    name: "a lease has one holder",
    async run({ store, another }) {
      const other = await another();
      const lease = await store.lease("l", { ttlMs: 10_000 });
      same(lease?.name, "l");
      that(lease!.fence > 0, "a fence is positive");
      same(await store.lease("l", { ttlMs: 10_000 }), undefined);
      same(await other.lease("l", { ttlMs: 10_000 }), undefined);
      that((await other.lease("m", { ttlMs: 10_000 })) !== undefined, "another name is free");
    },
  },
  {
    name: "one of fifty concurrent callers gets the lease",
    async run({ store, another }) {
      const other = await another();
      const asked = Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? store : other).lease("l", { ttlMs: 10_000 }),
      );
      const granted = (await Promise.all(asked)).filter((lease) => lease !== undefined);
      same(granted.length, 1, "the number of leases granted");
    },
  },
  {
    name: "a released lease can be taken at once, with a greater fence",
    async run({ store, another }) {
      const other = await another();
      const first = (await store.lease("l", { ttlMs: 10_000 }))!;
      await first.release();
      const second = await other.lease("l", { ttlMs: 10_000 });
      that(second!.fence > first.fence, "the fence grows");
      // Both are too late: the first caller no longer holds the lease.
      await first.release();
      same(await first.renew(), false);
      same(await store.lease("l", { ttlMs: 10_000 }), undefined);
    },
  },
  {
    name: "a lease expires, and the next one has a greater fence",
    async run({ store, another }) {
      const other = await another();
      const before = Date.now();
      const first = (await store.lease("l", { ttlMs: 300 }))!;
      const second = await until(() => other.lease("l", { ttlMs: 10_000 }), "the lease is free");
      that(Date.now() - before >= 290, "it was held as long as it was granted");
      that(second.fence > first.fence, "the fence grows");
      same(await first.renew(), false);
      await first.release();
      same(await store.lease("l", { ttlMs: 10_000 }), undefined);
    },
  },
  {
    name: "a renewed lease stays valid",
    async run({ store, another }) {
      const other = await another();
      const lease = (await store.lease("l", { ttlMs: 500 }))!;
      const start = Date.now();
      while (Date.now() - start < 1_000) {
        same(await lease.renew(), true);
        const renewedAt = Date.now();
        const taken = await other.lease("l", { ttlMs: 10_000 });
        that(taken === undefined || Date.now() - renewedAt >= 500, "no other caller gets it meanwhile");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
  },
  {
    name: "an expired lease can be renewed while it is free",
    async run({ store, another }) {
      const other = await another();
      const lease = (await store.lease("l", { ttlMs: 1 }))!;
      const witness = (await store.lease("w", { ttlMs: 1 }))!;
      await until(() => other.lease("w", { ttlMs: 10_000 }), "time has passed");
      same(await lease.renew(), true);
      same(await witness.renew(), false);
    },
  },
  {
    name: "a write under a lease is refused after another caller got the lease",
    async run({ store, another }) {
      const other = await another();
      const first = (await store.lease("l", { ttlMs: 100 }))!;
      that((await store.put("a", 1, { lease: first }))! > 0, "the holder writes");
      const second = await until(() => other.lease("l", { ttlMs: 10_000 }), "the lease is free");
      same(await store.put("a", "late", { lease: first }), undefined);
      same((await store.get("a"))?.value, 1);
      that((await other.put("a", 2, { lease: second }))! > 0, "the new holder writes");
      // The fence outlives the release: the old holder is still refused.
      await second.release();
      same(await store.put("a", "later", { lease: first }), undefined);
      that((await other.put("a", 3, { lease: second }))! > 0, "the lease is free, so the write still works");
      same((await store.get("a"))?.value, 3);
      same(await store.put("a", 4, { lease: { name: "never granted", fence: 1 } }), undefined);
    },
  },
  {
    name: "a write under an expired lease works while the lease is free",
    async run({ store, another }) {
      const other = await another();
      const lease = (await store.lease("l", { ttlMs: 1 }))!;
      await store.lease("w", { ttlMs: 1 });
      await until(() => other.lease("w", { ttlMs: 10_000 }), "time has passed");
      that((await store.put("a", 1, { lease }))! > 0, "the write is made");
    },
  },
  {
    name: "a write checks both lease and version",
    async run({ store }) {
      const lease = (await store.lease("l", { ttlMs: 10_000 }))!;
      const version = (await store.put("a", 1, { ifVersion: 0, lease }))!;
      same(await store.put("a", 2, { ifVersion: version + 1, lease }), undefined);
      same(
        await store.put("a", 2, { ifVersion: version, lease: { name: "l", fence: lease.fence - 1 } }),
        undefined,
      );
      that((await store.put("a", 2, { ifVersion: version, lease, secret: true }))! > version, "both hold");
    },
  },
];
