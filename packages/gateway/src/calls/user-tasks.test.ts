import { memoryStore } from "toolport";
import { expect, test, vi } from "vitest";
import type { GatewayUser } from "../users.js";
import { UserTasks } from "./user-tasks.js";

const user = { principal: "ada" } as GatewayUser;
const task = (taskId: string, id: string) => ({ server: "up", tool: "work", taskId, id });

test("a server that gives two tasks the same id ends the progress of the first one", () => {
  const tasks = new UserTasks(memoryStore(), () => {});
  const [first, second] = [vi.fn(), vi.fn()];
  tasks.add(user, task("same", "a"), first);
  tasks.add(user, task("same", "b"), second);
  expect(first).toHaveBeenCalledOnce();
  expect(second).not.toHaveBeenCalled();
  expect(tasks.find(user, task("same", ""))?.id).toBe("b");
  tasks.observe(user, task("same", "b"), "completed");
  tasks.observe(user, task("same", "b"), "completed");
  expect(second).toHaveBeenCalledOnce();
});

test("a record that is not sealed with the store's key is not listed", async () => {
  const store = memoryStore();
  const tasks = new UserTasks(store, () => {});
  await tasks.save(user, task("mine", "a"), 60_000);
  const [key] = await store.list("serve/tasks/");
  await store.put(`${key}-planted`, task("of another user", "b"));
  expect((await tasks.list(user)).map(({ taskId }) => taskId)).toEqual(["mine"]);
  await tasks.forget(user, task("mine", "a"));
  expect(await tasks.list(user)).toEqual([]);
});
