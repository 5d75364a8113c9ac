/** The contract of every store: records. */
import { failureOf, type StoreCase, same, that, until } from "./store-subject.js";

const SECRET = "canary-7f3a-secret";
const LONE_SURROGATE = "\ud800";

export const recordCases: readonly StoreCase[] = [
  {
    name: "get returns the last put value, with a growing version",
    async run({ store }) {
      same(await store.get("a"), undefined);
      const first = await store.put("a", { n: 1 });
      same(await store.get("a"), { value: { n: 1 }, version: first, sealed: false });
      const second = await store.put("a", { n: 2 });
      that(second! > first!, "the version grows");
      same(await store.get("a"), { value: { n: 2 }, version: second, sealed: false });
    },
  },
  {
    name: "says whether it may lose what it has acknowledged",
    async run({ store }) {
      const risk = await store.durabilityRisk!();
      const texts = risk === undefined ? [] : [risk.what, risk.next];
      that(!texts.some((text) => text === "" || text.endsWith(".")), "texts without a full stop");
    },
  },
  {
    name: "keeps every kind of JSON value, plain and secret",
    async run({ store }) {
      const values: unknown[] = [
        null,
        0,
        -1.5,
        "",
        "ä\u0000\u{1f600}",
        false,
        [],
        {},
        { deep: [{ x: null }] },
      ];
      // Values that look like the store's internal markers are returned, too.
      values.push({ $sealed: { kid: "x", iv: "", data: "" } }, { $plain: 1 }, { $plain: { $sealed: 1 } });
      for (const [index, value] of values.entries()) {
        for (const secret of [false, true]) {
          await store.put(`v/${index}`, value, { secret });
          const record = await store.get(`v/${index}`);
          same(record?.value, value);
          same(record?.sealed, secret, "sealed");
        }
      }
    },
  },
  {
    name: "keeps a value of a megabyte, plain and secret",
    async run({ store, another }) {
      const value = { text: "äbc0123456".repeat(95_000) };
      for (const secret of [false, true]) {
        await store.put("big", value, { secret });
        same((await (await another()).get("big"))?.value, value);
      }
    },
  },
  {
    name: "refuses values that are not JSON, and changes nothing",
    async run({ store }) {
      const version = await store.put("a", 1);
      same((await failureOf(store.put("a", undefined))).name, "TypeError");
      same((await failureOf(store.put("a", () => {}))).name, "TypeError");
      same((await failureOf(store.put("a", 1n))).name, "TypeError");
      same(await store.get("a"), { value: 1, version, sealed: false });
    },
  },
  {
    name: "refuses keys that databases cannot distinguish",
    async run({ store }) {
      for (const key of ["", "a\0b", `a${LONE_SURROGATE}`]) {
        same((await failureOf(store.put(key, 1))).name, "TypeError");
        same((await failureOf(store.get(key))).name, "TypeError");
      }
    },
  },
  {
    name: "neither writer nor reader shares an object with the store",
    async run({ store }) {
      const mine = { list: [1] };
      await store.put("a", mine);
      mine.list.push(2);
      const read = (await store.get("a"))?.value as typeof mine;
      same(read.list, [1]);
      read.list.push(3);
      same((await store.get("a"))?.value, { list: [1] });
    },
  },
  {
    name: "a conditional write succeeds only with the current version",
    async run({ store, another }) {
      const other = await another();
      const first = (await store.put("a", 1))!;
      const second = await other.put("a", 2, { ifVersion: first });
      that(second! > first, "the version grows");
      same(await store.put("a", 3, { ifVersion: first }), undefined);
      same((await store.get("a"))?.value, 2);
      same(await store.put("never", 1, { ifVersion: first }), undefined);
    },
  },
  {
    name: "version 0 writes only if the record does not exist",
    async run({ store }) {
      that((await store.put("a", 1, { ifVersion: 0 }))! > 0, "the first write is made");
      same(await store.put("a", 2, { ifVersion: 0 }), undefined);
      await store.delete("a");
      that((await store.put("a", 3, { ifVersion: 0 }))! > 0, "the write after the deletion is made");
    },
  },
  {
    name: "a deleted and recreated record has another version",
    async run({ store }) {
      const first = (await store.put("a", 1))!;
      await store.delete("a");
      const second = (await store.put("a", 1))!;
      that(second > first, "the version is greater than all before");
      same(await store.put("a", 2, { ifVersion: first }), undefined);
    },
  },
  {
    name: "one of a hundred writers with the same version succeeds",
    async run({ store, another }) {
      const other = await another();
      const version = (await store.put("a", -1))!;
      const writes = Array.from({ length: 100 }, (_, index) =>
        (index % 2 === 0 ? store : other).put("a", index, { ifVersion: version }),
      );
      const results = await Promise.all(writes);
      const winners = results.flatMap((won, index) => (won === undefined ? [] : [{ won, index }]));
      same(winners.length, 1, "the number of winners");
      same(await store.get("a"), { value: winners[0]!.index, version: winners[0]!.won, sealed: false });
    },
  },
  {
    name: "a hundred writers of one key leave one complete value",
    async run({ store, another }) {
      const other = await another();
      const value = (index: number) => ({ index, text: String(index).repeat(1_000) });
      await Promise.all(
        Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? store : other).put("a", value(index))),
      );
      const read = (await store.get("a"))?.value as { index: number };
      same(read, value(read.index));
    },
  },
  {
    name: "delete checks the version, too",
    async run({ store }) {
      const first = (await store.put("a", 1))!;
      const second = (await store.put("a", 2))!;
      same(await store.delete("a", { ifVersion: first }), false);
      same(await store.delete("a", { ifVersion: second }), true);
      same(await store.get("a"), undefined);
      same(await store.delete("a"), false);
      same(await store.delete("never"), false);
    },
  },
  {
    name: "a record expires after its time to live, in all handles",
    async run({ store, another }) {
      const other = await another();
      const before = Date.now();
      const version = (await store.put("a", 1, { ttlMs: 400 }))!;
      const isThere = (await other.get("a")) !== undefined;
      that(isThere || Date.now() - before >= 400, "it is there at first");
      await until(async () => (await other.get("a")) === undefined, "the record has expired");
      that(Date.now() - before >= 390, "it did not expire too early");
      same(await store.list(""), []);
      same(await store.get("a"), undefined);
      same(await store.delete("a", { ifVersion: version }), false);
      same(await store.delete("a"), false);
      same(await store.put("a", 2, { ifVersion: version }), undefined);
      that((await store.put("a", 2, { ifVersion: 0 }))! > version, "it can be created again");
      same((await other.get("a"))?.value, 2);
    },
  },
  {
    name: "a write without a time to live removes it, a write with one sets it",
    async run({ store }) {
      await store.put("a", 1, { ttlMs: 50 });
      await store.put("a", 2);
      await store.put("b", 1);
      await store.put("b", 2, { ttlMs: 50 });
      await until(async () => (await store.get("b")) === undefined, "the record has expired");
      same((await store.get("a"))?.value, 2);
      same(await store.list(""), ["a"]);
    },
  },
  {
    name: "keys are listed by prefix in byte order, and no character is special",
    async run({ store }) {
      const keys = [
        "a%",
        "a%b",
        "a*",
        "a.b",
        "a?",
        "a[b]",
        "a\\b",
        "a_",
        "a_b",
        "ab",
        "B",
        "b",
        "b/1",
        "b/10",
        "b/2",
        "bb/1",
      ];
      keys.push("é", "\uffee", "\u{1f600}", "\u{10ffff}", "\u{10ffff}x");
      for (const key of [...keys].reverse()) await store.put(key, key);
      const order = [...keys].sort((a, b) => compareBytes(a, b));
      same(await store.list(""), order);
      for (const prefix of [...keys, "a", "b/", "nothing", "\u{1f600}x", "a\\"]) {
        const expected = order.filter((key) => key.startsWith(prefix));
        same(await store.list(prefix), expected, `the list of ${prefix}`);
      }
      for (const key of keys) same((await store.get(key))?.value, key);
    },
  },
  {
    name: "secret values are not stored in plain text, their keys are",
    async run({ store, another, contents }) {
      await store.put("tokens/one", { access: SECRET, refresh: [SECRET] }, { secret: true });
      await store.put("plain/one", "readable-7f3a");
      same((await (await another()).get("tokens/one"))?.value, { access: SECRET, refresh: [SECRET] });
      same(await store.list("tokens/"), ["tokens/one"]);
      if (contents === undefined) return;
      const stored = await contents();
      that(stored.includes("readable-7f3a"), "plain values are found, so the search works");
      that(!stored.includes(SECRET), "the secret is not found");
    },
  },
  {
    name: "close may be called twice, and later calls fail with UNAVAILABLE",
    async run({ store }) {
      const lease = await store.lease("l", { ttlMs: 1_000 });
      await store.put("a", 1);
      const lastWrite = store.put("a", 2);
      await Promise.all([store.close(), store.close()]);
      that((await lastWrite)! > 0, "a write under way is finished");
      await store.close();
      const calls = [
        () => store.get("a"),
        () => store.put("a", 1),
        () => store.delete("a"),
        () => store.list(""),
        () => store.durabilityRisk!(),
        () => store.lease("m", { ttlMs: 1_000 }),
        () => lease!.renew(),
        async () => store.watch("", () => {}),
      ];
      for (const call of calls) {
        const { name, code } = await failureOf(call());
        same({ name, code }, { name: "StateError", code: "UNAVAILABLE" });
      }
      await lease!.release();
    },
  },
];

/** The order that the contract requires, computed in the simple way. */
function compareBytes(a: string, b: string): number {
  const [left, right] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
  const index = left.findIndex((byte, at) => byte !== right[at]);
  if (index < 0) return left.length - right.length;
  return (left[index] ?? -1) - (right[index] ?? -1);
}
