// How this program is started.
import { join } from "node:path";
import { containerEngine } from "./container.ts";
import { findHome } from "./home.ts";
import { ownPlace, type Place, SYSTEM_PLACE } from "./service.ts";

/** Whether this is the compiled executable. */
export const isCompiled = () => Bun.main.startsWith("/$bunfs/");

/** What to type for this program if a script of package.json started it; null if none did. */
export function scriptName(): string | null {
  if (isCompiled() || !process.env["npm_lifecycle_event"]) return null;
  const isBun = process.env["npm_config_user_agent"]?.startsWith("bun/");
  return isBun ? "bun run podkeep" : "npm run -s podkeep --";
}

/** How to type what messages call podkeep, if a script of package.json started this program; null if none did. */
export function adviseToType(): string | null {
  const script = scriptName();
  return script && `Here, type ${script} in place of podkeep.`;
}

/** The arguments that start this program. */
export const programArguments = () =>
  isCompiled() ? [process.execPath] : [process.execPath, join(import.meta.dir, "..", "..", "cli", "main.ts")];

/** The word that starts the process which reads a file (src/moving/file.ts), in place of a command. */
export const READ_FILE = "__read-file";

/** How the server was started, which decides where its settings are. "own service": of one account. */
export type Start = "service" | "own service" | "container" | "executable" | "source";

/** How this process was started. */
export function findStart(
  env: Record<string, string | undefined> = process.env,
  program = { compiled: isCompiled(), container: containerEngine() !== null },
): Start {
  // systemd gives the first to each service of podkeep, the second to the system's.
  if (env["NOTIFY_SOCKET"]) return env["STATE_DIRECTORY"] ? "service" : "own service";
  if (!program.compiled) return "source";
  return program.container ? "container" : "executable";
}

function adviseToRestart({ settings, control }: Place, setting: string): string {
  // A page may show this: it does not name the account.
  const path = settings.replace(`${findHome(process.env["HOME"])}/`, "~/");
  return `set ${setting} in ${path}, then run ${control} restart podkeep`;
}

const ADVICE: Record<Start, (setting: string) => string> = {
  service: (setting) => adviseToRestart(SYSTEM_PLACE, setting),
  "own service": (setting) => adviseToRestart(ownPlace(), setting),
  container: (setting) => `create the container again, with -e ${setting}`,
  executable: (setting) => `stop it, and start it with ${setting} podkeep serve`,
  source: (setting) => `stop it, and start it with ${setting} npm start`,
};

/** How to give the server a setting, `NAME=value`: a sentence without its full stop. */
export const adviseToSet = (setting: string, start: Start): string => ADVICE[start](setting);
