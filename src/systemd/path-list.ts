// Lists of paths, as systemd writes and reads them (systemd.syntax(7)).

export const escapePercent = (text: string) => text.replaceAll("%", "%%");

/** A path in quotes, as one word of a unit. */
export const quotePath = (path: string) => `"${escapePercent(path).replace(/["\\]/g, "\\$&")}"`;

/** A path as one word of a unit, in quotes only if it needs them. */
export const wordOf = (path: string) => (/[\s"'\\]/.test(path) ? quotePath(path) : escapePercent(path));

/** The paths in a list that `systemctl show` prints, without "-" and "+", which are not part of them (systemd.exec(5)). */
export function readPathList(list: string): string[] {
  const words = list.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? [];
  return words.map((word) =>
    (word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word).replace(/^[-+]+/, ""),
  );
}
