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

const COMMENT = /^[ \t]*[#;].*\n?/gm;
const ENVIRONMENT = /^[ \t]*Environment[ \t]*=(.*)$/gm;
/** A word of a list, of pieces with and without quotes (systemd.syntax(7)). */
const WORD = /(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|[^\s"'\\])+/g;
const QUOTES = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(\\.)/g;
const ESCAPES = /\\(.)|%(.)/g;

interface Environment {
  variables: Record<string, string>;
  /** Whether it takes back what files before it set. */
  resets: boolean;
}

/**
 * The variables that a file of a unit sets (systemd.exec(5), Environment=).
 * @param specifiers what a character behind a percent sign stands for; others stay as they are
 */
export function parseEnvironment(text: string, specifiers: Record<string, string>): Environment {
  const expand = (all: string, escaped?: string, letter = "") => escaped ?? specifiers[letter] ?? all;
  const unquote = (word: string) => word.replace(QUOTES, "$1$2$3").replace(ESCAPES, expand);
  let variables: Record<string, string> = {};
  let resets = false;
  for (const [, list = ""] of text.replace(COMMENT, "").replace(/\\\n/g, " ").matchAll(ENVIRONMENT)) {
    if (list.trim() === "") [variables, resets] = [{}, true];
    for (const word of (list.match(WORD) ?? []).map(unquote)) {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(word) ?? [];
      if (name !== undefined && value !== undefined) variables[name] = value;
    }
  }
  return { variables, resets };
}
