// How to call this program again, as a person would type it.
import { relative, resolve } from "node:path";
import { $ } from "bun";
import type { SettingName, Settled } from "../src/config.ts";
import { flagOf } from "./settings.ts";

/** The command line that runs `words` on the same data; `names` are the settings that matter to it. */
export function commandLine(words: string, { config, sources }: Settled, names: SettingName[]): string {
  const flags = names
    .filter((name) => sources[name] !== "default" && name !== "database_url")
    .map((name) => [flagOf(name), name === "data_dir" ? resolve(config.data_dir) : String(config[name])])
    .map(([flag, value = ""]) => ` ${flag} ${$.escape(value)}`);
  return `${programName()} ${words}${flags.join("")}`;
}

const isCompiled = () => Bun.main.startsWith("/$bunfs/");

/** What starts this program once more. */
export const programArguments = () => (isCompiled() ? [process.execPath] : [process.execPath, Bun.main]);

function programName(): string {
  if (isCompiled()) {
    return Bun.which("podkeep") === process.execPath ? "podkeep" : $.escape(process.execPath);
  }
  if (process.env["npm_lifecycle_event"]) {
    const agent = process.env["npm_config_user_agent"] ?? "";
    return agent.startsWith("bun/") ? "bun run podkeep" : "npm run -s podkeep --";
  }
  const bun = Bun.which("bun") ? "bun" : $.escape(process.execPath);
  return `${bun} ${$.escape(relative(process.cwd(), Bun.main))}`;
}
