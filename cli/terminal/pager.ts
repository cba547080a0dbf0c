// Long texts on a terminal.
import { print } from "./output.ts";

/** Exit code of a shell that does not find a program. */
const NOT_FOUND = 127;

/** Prints a text on a terminal; one that is longer goes through $PAGER, else through less if there is one. */
export async function page(text: string): Promise<void> {
  const pager = process.env["PAGER"] ?? (Bun.which("less") ? "less" : "");
  if (!pager || text.split("\n").length < process.stdout.rows) return print(text);
  // Ctrl-C is for the pager.
  process.on("SIGINT", () => {});
  // As git does: colours, no need to quit a short text, which stays on the screen. The text is UTF-8 in every locale.
  const env = { LESS: "FRX", LESSCHARSET: "utf-8", ...process.env };
  const child = Bun.spawn(["sh", "-c", pager], {
    env,
    stdin: new Blob([`${text}\n`]),
    stdout: "inherit",
    stderr: "inherit",
  });
  if ((await child.exited) === NOT_FOUND) await print(text);
}
