import { expect, test, vi } from "vitest";
import type { GatewayUser } from "../users.js";
import { OpenTasks } from "./open-tasks.js";

const user = {} as GatewayUser;

test("a server that gives two tasks the same id ends the progress of the first one", () => {
  const tasks = new OpenTasks();
  const target = { server: "up", taskId: "same" };
  const [first, second] = [vi.fn(), vi.fn()];
  tasks.begin(user, target, { id: "a", stop: first });
  tasks.begin(user, target, { id: "b", stop: second });
  expect(first).toHaveBeenCalledOnce();
  expect(second).not.toHaveBeenCalled();
  expect(tasks.idOf(user, target)).toBe("b");
  tasks.observe(user, target, "completed");
  expect(second).toHaveBeenCalledOnce();
});
