// Files of variables in the syntax of systemd's EnvironmentFile= (systemd.exec(5)).

// A quote that is not closed goes on to the end of the file.
const DOUBLE = /"(?:\\[\s\S]|[^"\\])*(?:"|(?![\s\S]))/;
const SINGLE = /'[^']*(?:'|(?![\s\S]))/;
/** The part without quotes, to the end of the line. Quotes within it are plain characters; a backslash joins lines. */
const PLAIN = /(?:\\[\s\S]|[^\n\r"'\\])(?:\\[\s\S]|[^\n\r\\])*/;
/** One assignment: its name, and its value, which begins with the pieces in quotes. */
const ASSIGNMENT = new RegExp(
  String.raw`^[ \t]*(\w+)[ \t]*=[ \t]*((?:(?:${DOUBLE.source}|${SINGLE.source})[ \t]*)*(?:${PLAIN.source})?)`,
  "gm",
);
const PIECE = /[ \t]*(?:"((?:\\[\s\S]|[^"\\])*)"?|'([^']*)'?|([\s\S]+))/g;

/** The variables of a file; what is not an assignment is ignored, as systemd does. */
export function parseEnvironmentFile(text: string): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(ASSIGNMENT)) variables[name] = unquote(value);
  return variables;
}

/** What systemd ignores though an assignment is meant, and what to do: lines for shells, and a line after a byte order mark. */
export const findIgnored = (text: string): string[] =>
  [...text.matchAll(/^(?:(\uFEFF[ \t]*(?:export[ \t]+)?)|[ \t]*export[ \t]+)(\w+)[ \t]*=/gm)].map(([, mark, name]) =>
    mark
      ? `"${name}=…" after a byte order mark; save the file as UTF-8 without BOM`
      : `"export ${name}=…"; remove the word export`,
  );

/** Sets variables in the text of a file, at their place or at its end, and leaves all else. */
export function setVariables(text: string, variables: Record<string, string>): string {
  const left = new Set(Object.keys(variables));
  const changed = text.replace(ASSIGNMENT, (assignment, name: string, value: string) => {
    const wanted = variables[name];
    if (wanted === undefined) return assignment;
    left.delete(name);
    return assignment.slice(0, assignment.length - value.length) + quoteValue(wanted);
  });
  const added = [...left].map((name) => `${name}=${quoteValue(variables[name] ?? "")}\n`).join("");
  return added && changed && !changed.endsWith("\n") ? `${changed}\n${added}` : changed + added;
}

/** A value in an EnvironmentFile. */
export const quoteValue = (text: string) => `"${text.replace(/["\\$`]/g, "\\$&")}"`;

function unquote(value: string): string {
  return [...value.matchAll(PIECE)]
    .map(([, double, single, plain = ""]) => {
      if (double !== undefined) return double.replace(/\\(?:\n|(["\\$`]))/g, "$1");
      return single ?? plain.replace(/\\(?:[\n\r]|([\s\S]))|[ \t]+$/g, "$1");
    })
    .join("");
}
