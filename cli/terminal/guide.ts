// Guides laid out for a terminal.
import { basename } from "node:path";

/** Columns that text fills at most, however wide the terminal is. */
const WIDEST = 100;
/** Links to documents, and within one. */
const LINK = /\[([^\]]+)\]\((?!https?:)([^)#\s]*)(?:#[^)\s]*)?\)/g;

export interface Layout {
  columns: number;
  colors: boolean;
  /** The command that prints a document, if one does. */
  commandFor(document: string): string | undefined;
}

/** Renders Markdown: text and tables wrapped, code as it is. A link is followed by the command or the URL it leads to. */
export function layGuide(markdown: string, { columns, colors, commandFor }: Layout): string {
  const text = markdown.replace(LINK, (_, label: string, path: string) => {
    const command = commandFor(basename(path));
    return command ? `${label} (\`${command}\`)` : label;
  });
  const laid = Bun.markdown.ansi(text, { columns: Math.min(columns, WIDEST), colors, hyperlinks: false });
  return indentCode(laid.replaceAll(...NO_BACKGROUND).replaceAll(...CYAN));
}

/** Bun's colours of code, a dark box on light terminals, and the terminal's own in their place. */
const NO_BACKGROUND = ["\u001b[48;5;236m", ""] as const;
const CYAN = ["\u001b[38;5;215m", "\u001b[36m"] as const;

/** Replaces the frames that Bun draws around code, so that commands can be copied. */
function indentCode(text: string): string {
  const lines: string[] = [];
  let indent: number | null = null;
  for (const line of text.split("\n")) {
    const plain = Bun.stripANSI(line);
    const [, spaces, start] = /^( *)(?:(┌─|\+-)(?: \w+)? *|(?:└─|\+-))$/.exec(plain) ?? [];
    if (indent === null && start) indent = spaces?.length ?? 0;
    else if (indent === null) lines.push(line);
    else if (spaces !== undefined) {
      indent = null;
      lines.push("");
    } else lines.push(`${" ".repeat(indent + 4)}${plain.slice(indent + 2)}`.trimEnd());
  }
  return lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
