// Writes the table of settings into the README from the schema in config.ts.
import { envNameOf, isSecret, Settings, settingNames } from "../src/config.ts";

const README = new URL("../README.md", import.meta.url).pathname;
const TABLE = /(<!-- settings: .* -->\n)[\s\S]*(<!-- end of settings -->)/;

const given: Record<string, string> = {
  data_dir: "`$STATE_DIRECTORY`, else `$XDG_DATA_HOME/podkeep`, else `~/.local/share/podkeep`",
};

function defaultOf(name: (typeof settingNames)[number]): string {
  const schema = Settings.shape[name];
  const value = "def" in schema && "defaultValue" in schema.def ? String(schema.def.defaultValue) : "";
  return given[name] ?? (value && `\`${value}\``);
}

/** The README with the table of settings as it should be. */
export function withSettings(readme: string): string {
  const rows = settingNames.map((name) => {
    const secret = isSecret(name) ? ` Or \`${envNameOf(name)}_FILE\`.` : "";
    return `| \`${envNameOf(name)}\` | ${defaultOf(name)} | ${Settings.shape[name].description}.${secret} |`;
  });
  const table = ["| variable | default | meaning |", "|---|---|---|", ...rows, ""].join("\n");
  return readme.replace(TABLE, (_, start: string, end: string) => start + table + end);
}

if (import.meta.main) await Bun.write(README, withSettings(await Bun.file(README).text()));
