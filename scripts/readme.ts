// Tables in the documents: settings, from src/config/setting-list.ts, and the checks of `podkeep conformance`.
import { join } from "node:path";
import {
  defaultOf,
  descriptionOf,
  envNameOf,
  isSecret,
  type SettingName,
  settingNames,
} from "../src/config/setting-list.ts";

import { CHECKS } from "../src/conformance/suite.ts";

const TABLE = /(<!-- settings: .* -->\n)[\s\S]*(<!-- end of settings -->)/;

/** Documents with a table, and the settings in it. */
export const TABLES: Record<string, SettingName[]> = {
  "README.md": ["data_dir", "host", "port", "public_url", "trusted_proxies", "backup_schedule"],
  "docs/operators/settings.md": settingNames,
};

/** Defaults that depend on the machine. */
const VARYING: Partial<Record<SettingName, string>> = {
  data_dir: "`$STATE_DIRECTORY`, else `$XDG_DATA_HOME/podkeep`, else `~/.local/share/podkeep`",
};

function describeDefault(name: SettingName): string {
  const value = defaultOf(name);
  return VARYING[name] ?? (value ? `\`${value}\`` : "");
}

/** The document with these settings in its table. */
export function withSettings(document: string, names: SettingName[]): string {
  const rows = names.map((name) => {
    const secret = isSecret(name) ? ` Or \`${envNameOf(name)}_FILE\`.` : "";
    return `| \`${envNameOf(name)}\` | ${describeDefault(name)} | ${descriptionOf(name)}.${secret} |`;
  });
  const table = ["| variable | default | meaning |", "|---|---|---|", ...rows, ""].join("\n");
  return document.replace(TABLE, (_, start: string, end: string) => start + table + end);
}

/** The document with the table of checks. */
export const CHECKS_DOCUMENT = "docs/conformance.md";
const CHECK_TABLE = /(<!-- checks: .* -->\n)[\s\S]*(<!-- end of checks -->)/;

/** The document with all checks in its table. */
export function withChecks(document: string): string {
  const rows = CHECKS.map(({ id, level, says, source }) =>
    [`\`${id}\``, level, says, source].map((cell) => cell.replaceAll("|", "\\|")).join(" | "),
  );
  const table = ["| check | level | demand | source |", "|---|---|---|---|", ...rows.map((row) => `| ${row} |`), ""];
  return document.replace(CHECK_TABLE, (_, start: string, end: string) => start + table.join("\n") + end);
}

export const pathOf = (document: string) => join(import.meta.dir, "..", document);

if (import.meta.main) {
  for (const [document, names] of Object.entries(TABLES)) {
    await Bun.write(pathOf(document), withSettings(await Bun.file(pathOf(document)).text(), names));
  }
  await Bun.write(pathOf(CHECKS_DOCUMENT), withChecks(await Bun.file(pathOf(CHECKS_DOCUMENT)).text()));
}
