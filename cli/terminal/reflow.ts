// Markdown wrapped to the width of a terminal.

const ITEM = /^\s*(?:[-*]|\d+\.) /;

/** Wraps paragraphs and list items, and turns tables that are too wide into lists. Code stays as it is. */
export function reflow(markdown: string, width: number): string {
  const lines: string[] = [];
  let text = "";
  let hang = 0;
  const flush = () => {
    if (text) lines.push(...wrap(text, width, hang));
    text = "";
    hang = 0;
  };
  for (const block of markdown.split(/^( *```[\s\S]*?^ *```\n|(?:\|.*\n)+)/m)) {
    if (/^ *```/.test(block)) lines.push(block.trimEnd());
    else if (block.startsWith("|")) lines.push(...fitTable(block.trimEnd().split("\n"), width));
    else {
      for (const line of block.replace(/\n$/, "").split("\n")) {
        const item = ITEM.exec(line)?.[0];
        if (item || line.trim() === "" || line.startsWith("#")) flush();
        if (item) hang = item.length;
        if (line.trim() === "" || line.startsWith("#")) lines.push(line);
        else text += text ? ` ${line.trim()}` : line;
      }
      flush();
    }
  }
  return lines.join("\n").trim();
}

/** @param hang spaces before every line but the first */
function wrap(text: string, width: number, hang: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/(?<=\S) +/)) {
    if (line && Bun.stringWidth(`${line} ${word}`) > width) {
      lines.push(line);
      line = " ".repeat(hang) + word;
    } else line += line ? ` ${word}` : word;
  }
  return [...lines, line];
}

function fitTable(rows: string[], width: number): string[] {
  if (rows.every((row) => Bun.stringWidth(row) <= width)) return rows;
  const [, , ...body] = rows.map((row) => row.split("|").slice(1, -1));
  return body.flatMap((cells) => {
    const [name = "", ...others] = cells.map((cell) => cell.trim());
    return wrap(`- ${name}: ${others.filter(Boolean).join("; ")}`, width, 2);
  });
}
