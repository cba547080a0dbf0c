// Writes the table of settings into the README from the schema in config.ts.
import { defaultOf, envNameOf, isSecret, type SettingName, Settings, settingNames } from "../src/config/settings.ts";

const README = new URL("../README.md", import.meta.url).pathname;
const TABLE = /(<!-- settings: .* -->\n)[\s\S]*(<!-- end of settings -->)/;

/** Defaults that depend on the machine. */
const VARYING: Partial<Record<SettingName, string>> = {
  data_dir: "`$STATE_DIRECTORY`, else `$XDG_DATA_HOME/podkeep`, else `~/.local/share/podkeep`",
};

function describeDefault(name: SettingName): string {
  const value = defaultOf(name);
  return VARYING[name] ?? (value ? `\`${value}\`` : "");
}

/** The README with the table of settings as it should be. */
export function withSettings(readme: string): string {
  const rows = settingNames.map((name) => {
    const secret = isSecret(name) ? ` Or \`${envNameOf(name)}_FILE\`.` : "";
    return `| \`${envNameOf(name)}\` | ${describeDefault(name)} | ${Settings.shape[name].description}.${secret} |`;
  });
  const table = ["| variable | default | meaning |", "|---|---|---|", ...rows, ""].join("\n");
  return readme.replace(TABLE, (_, start: string, end: string) => start + table + end);
}

if (import.meta.main) await Bun.write(README, withSettings(await Bun.file(README).text()));
