/** Interleaves calls of two users of one port, to detect results for the wrong user. */
import type { Toolport } from "toolport";

export const USERS = ["ada", "grace"] as const;

/** Calls the tool that returns the current user, sixteen calls at a time. Returns the number of results for the other user. */
export async function interleaveUsers(toolport: Toolport, tool: string, calls: number): Promise<number> {
  let made = 0;
  let crossed = 0;
  const work = async () => {
    while (made < calls) {
      const user = USERS[made++ % USERS.length] as string;
      const { text } = await toolport.as(user).callTool(tool);
      if (text !== user) crossed += 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return crossed;
}
