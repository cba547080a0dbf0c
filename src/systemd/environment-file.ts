// Files of variables in the syntax of systemd's EnvironmentFile= (systemd.exec(5)).

/** One assignment: its name, and its value in pieces, quoted or not. A backslash joins lines. */
const ASSIGNMENT = /^[ \t]*(\w+)[ \t]*=[ \t]*((?:"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|[^\n"'\\])*)/gm;
const PIECE = /"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|((?:\\[\s\S]|[^"'\\])+)/g;

/** The variables of a file; what is not an assignment is ignored, as systemd does. */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(ASSIGNMENT)) variables[name] = unquote(value);
  return variables;
}

/** Variables in lines for shells, `export NAME=value`, which systemd ignores. */
export const findExported = (text: string): string[] =>
  [...text.matchAll(/^[ \t]*export[ \t]+(\w+)[ \t]*=/gm)].map(([, name = ""]) => name);

/** A value in an EnvironmentFile. */
export const quoteValue = (text: string) => `"${text.replace(/["\\$`]/g, "\\$&")}"`;

function unquote(value: string): string {
  return [...value.trim().matchAll(PIECE)]
    .map(([, double, single, plain = ""]) => {
      if (double !== undefined) return double.replace(/\\(?:\n|(["\\$`]))/g, "$1");
      return single ?? plain.replace(/\\(?:\n|([\s\S]))/g, "$1");
    })
    .join("");
}
