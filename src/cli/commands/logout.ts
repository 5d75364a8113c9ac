/** `toolport logout`: revokes and forgets the tokens of a server. */
import type { CommandModule } from "../command.js";
import { EXIT } from "../exit-codes.js";

export const run: CommandModule["run"] = async (invocation, shell) => {
  const [server = ""] = invocation.words;
  const { toolport, leftOut } = await shell.openPort({ servers: [server] });
  const error = leftOut.get(server);
  if (error !== undefined) throw error;
  await toolport.logOut(server);
  if (shell.form === "json") shell.printJson({ server, loggedOut: true });
  else shell.tell(`Logged out of ${server}: its tokens are forgotten here`, "green");
  return EXIT.ok;
};
