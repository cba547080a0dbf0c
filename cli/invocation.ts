// The command line of this program, as a person types it.
import { relative, resolve } from "node:path";
import { isCompiled } from "../src/config/program.ts";
import { flagOf, type SettingName } from "../src/config/setting-list.ts";
import type { Config, LoadedSettings } from "../src/config/settings.ts";
import { quote } from "../src/config/shell.ts";

/** The command line that runs `words` with the same values of the settings `names`. */
export function commandLine(words: string, { config, sources }: LoadedSettings, names: SettingName[]): string {
  const flags = names
    .filter((name) => sources[name] !== "default")
    // With PostgreSQL the data directory is not used.
    .filter((name) => name !== "data_dir" || "file" in config.location)
    .map((name) => ` ${flagOf(name)} ${quote(textOf(name, config))}`);
  return `${programName()} ${words}${flags.join("")}`;
}

function textOf(name: SettingName, config: Config): string {
  if (name === "data_dir") return resolve(config.data_dir);
  if (name !== "database_url" || "file" in config.location) return String(config[name]);
  // The log must not contain the password.
  const url = new URL(config.location.url);
  if (url.password) url.password = "PASSWORD";
  return url.href;
}

function programName(): string {
  if (isCompiled()) {
    return Bun.which("podkeep") === process.execPath ? "podkeep" : quote(process.execPath);
  }
  if (process.env["npm_lifecycle_event"]) {
    const agent = process.env["npm_config_user_agent"] ?? "";
    return agent.startsWith("bun/") ? "bun run podkeep" : "npm run -s podkeep --";
  }
  const bun = Bun.which("bun") ? "bun" : quote(process.execPath);
  return `${bun} ${quote(relative(process.cwd(), Bun.main))}`;
}
