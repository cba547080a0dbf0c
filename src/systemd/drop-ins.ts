// Drop-ins of a unit, which `systemctl edit` writes: the variables that they set for the server.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The paths of a unit's drop-ins, the one that counts most first (systemd.unit(5)). */
export function listDropIns(unit: string): string[] {
  const folder = `${unit}.d`;
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".conf"));
  return names
    .sort()
    .reverse()
    .map((name) => join(folder, name));
}

const ENVIRONMENT = /^[ \t]*Environment[ \t]*=(.*)$/gm;
/** A word of a list, of pieces with and without quotes (systemd.syntax(7)). */
const WORD = /(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|[^\s"'\\])+/g;
const QUOTES = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(\\.)/g;
const ESCAPES = /\\(.)|%(%)/g;

/** The variables that a file of a unit sets (systemd.exec(5), Environment=). */
export function parseEnvironment(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [, list = ""] of text.replace(/\\\n/g, " ").matchAll(ENVIRONMENT)) {
    // An empty one takes those before back.
    if (list.trim() === "") for (const name of Object.keys(variables)) delete variables[name];
    for (const word of (list.match(WORD) ?? []).map(unquote)) {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(word) ?? [];
      if (name !== undefined && value !== undefined) variables[name] = value;
    }
  }
  return variables;
}

const unquote = (word: string) => word.replace(QUOTES, "$1$2$3").replace(ESCAPES, "$1$2");
